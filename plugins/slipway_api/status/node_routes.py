"""Nodes of a site as a table, nodes of an action, and everything that happened to one node."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from site_engine.trees.nodes import action_nodes, node_history, site_nodes
from site_store import NodeQuery
from site_store.node_table.node_query import FILTERED_BY, SORTED_BY
from slipway_api.actions.lookup import ActionId, find_action
from slipway_api.documents.differences import NodeDifference, node_differences
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import SitePath, Store, blocking_router, etag_headers
from strategy_lib.did_you_mean import Hints
from strategy_lib.parsing.bounded_json import read_json

router = blocking_router("status")

_LONGEST_PAGE = 1000
_LONGEST_TEXT = 1000


class NodeStanding(BaseModel):
    """How a node stands: what is wanted against what is done, and what its provisioner said last."""

    node: str = Field(examples=["node-1"])
    status: str = Field(examples=["success"])
    message: str = Field(examples=[""])
    groups: list[str] = Field(examples=[["control"]])
    rack: str | None = Field(examples=["r1"])
    wanted_revision: int | None = Field(examples=[3])
    wanted_version: int | None = Field(examples=[4], description="Grows when it is wanted otherwise, or again.")
    done_version: int | None = Field(examples=[4], description="The wanted version that it was done in.")
    touched: int | None = Field(examples=[None], description="The wanted version at which a person asked for it again.")
    touched_by: str | None = Field(examples=[None], description="Who asked for it again.")
    done_revision: int | None = Field(examples=[3])
    as_wanted: bool = Field(examples=[True])
    serves: str = Field(
        examples=["wanted"],
        description="What it serves meanwhile: `nothing`, an `older` revision, or the `wanted` one.",
    )
    done_at: Moment | None
    provisioner_status: str | None = Field(examples=["Deployed"])
    power: str | None = Field(examples=["on"])
    listed_at: Moment | None
    error: str | None = Field(examples=[None])
    error_revision: int | None = Field(examples=[None])
    error_action: str | None = Field(examples=[None])
    error_version: int | None = Field(examples=[None], description="The wanted version that the error is about.")
    fixed: str | None = Field(examples=[None])
    doubt: str | None = Field(examples=[None])
    op: int | None = Field(examples=[17])
    owner: str | None = Field(examples=["provisioner:slipway_provisioner"])
    version: int = Field(examples=[4], description="Of this record: the `ETag` of the node.")
    failures: int = Field(examples=[0], description="In how many actions in a row it failed.")
    next_try: Moment | None = Field(examples=[None], description="Until then repair leaves a failed node alone.")
    first_updated: Moment | None
    last_updated: Moment | None


class NodePage(BaseModel):
    """A page of a site's nodes."""

    token: str = Field(examples=["17-2-3"])
    read_at: Moment
    total: int = Field(examples=[1], description="How many there are in all; counted up to 1000, then 1001.")
    after: str | None = Field(examples=[None], description="Where the next page begins; null: there is none.")
    nodes: list[NodeStanding]


class ActionNodePage(BaseModel):
    """A page of an action's nodes, as they stand under its groups and phases."""

    token: str = Field(examples=["17-2-3"])
    read_at: Moment
    after: str | None = Field(examples=[None], description="Where the next page begins; null: there is none.")
    nodes: list[dict[str, Any]] = Field(
        examples=[[{"group": "control", "phase": "deploy", "name": "node-1", "status": "success"}]],
        description="Entries of the tree, each with its group and phase.",
    )


class PastError(BaseModel):
    """An error of one operation on a node."""

    op: int = Field(examples=[17])
    code: str = Field(examples=["provisioner"])
    text: str = Field(examples=["Node node-1 failed deployment"])
    phase: str = Field(examples=["deploy"])
    try_: int | None = Field(alias="try", examples=[1], description="Which try of the phase it was within its action.")
    action: str = Field(examples=[EXAMPLE_ID])
    provisioner_task: str | None = Field(examples=["11111111-2222-3333-4444-555555555555"])
    wanted_version: int = Field(examples=[3])
    time: Moment
    standing: str = Field(examples=["shown"], description="`shown`, `superseded` or `history`.")
    report: str = Field(examples=["failed"], description="`failed`, `reported` or `cleared`.")
    acknowledged_by: str | None = Field(examples=[None])
    acknowledged_at: Moment | None = Field(examples=[None])


class NextTry(BaseModel):
    """Whether anything tries a failed node again by itself: `next_try` alone says only from when on it might."""

    by: str | None = Field(examples=["repair"], description="What tries it once it is due; null: nothing does.")
    is_due: bool = Field(examples=[False], description="Whether `next_try` is over.")
    why_not: str | None = Field(examples=[None], description="Why nothing tries it.")


class NodeHistory(BaseModel):
    """Everything that is known of a node."""

    site: str = Field(examples=["default"])
    name: str = Field(examples=["node-1"])
    read_at: Moment
    node: NodeStanding | None
    retry: NextTry | None = Field(description="Of a node that has failed.")
    actions: list[dict[str, Any]] = Field(
        examples=[[{"id": EXAMPLE_ID, "kind": "deploy_site", "phases": [{"phase": "deploy", "status": "success"}]}]],
        description="Newest first, each with its phases and events. Of a phase, `tries` is the number of its "
        "newest try, and `failed_tries` are those before: each with `try`, `at`, `op` and `error`.",
    )
    reported: list[dict[str, Any]] = Field(
        examples=[[{"action": None, "parent": "compute/node-1", "name": "fans", "status": "error", "message": "…"}]],
        description="What reporters say of it: for its site (`action` is null) and in these actions.",
    )
    errors: list[PastError] = Field(description="Its errors, newest first, also those of older versions and actions.")
    before: str | None = Field(examples=[None], description="For the next page; null: there is none.")
    differences: list[NodeDifference] | None = Field(
        default_factory=list,
        description="The documents that make the node and differ between what is done and what is wanted; null unless "
        "`differences` was asked for.",
    )


def _text(what: str) -> Any:
    return Query(max_length=_LONGEST_TEXT, description=what)


After = Annotated[str | None, _text("`after` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many at most.")]
Sort = Annotated[
    str,
    Query(
        max_length=_LONGEST_TEXT,
        description=f"By which column: {', '.join(SORTED_BY)}; with a minus before it, from its end.",
        examples=["-last_updated"],
    ),
]
Where = Annotated[
    list[str] | None,
    Query(description="`column=text`: only where a column has it, such as `power=on` or `error=pxe`.", max_length=10),
]


@dataclass(frozen=True, slots=True)
class NodeList:
    """Which nodes are listed, and how."""

    group: Annotated[str | None, _text("Only nodes of this group; also `no group` and `to be removed`.")] = None
    rack: Annotated[str | None, _text("Only nodes in this rack.")] = None
    status: Annotated[str | None, _text("Only nodes of which this status is shown.")] = None
    q: Annotated[str | None, _text("Only nodes whose name contains it.")] = None
    where: Where = None
    sort: Sort = "node"
    limit: Limit = 100
    after: After = None


@router.get(
    "/sites/{site}/nodes",
    dependencies=[access.may_read],
    summary="The nodes of a site",
    responses=answers(NodePage),
)
def get_site_nodes(site: SitePath, store: Store, asked: Annotated[NodeList, Depends()]) -> Response:
    """Return a page of the nodes of a site: filtered, sorted, from where the page before ended."""
    columns: dict[str, str] = {}
    for text in asked.where or ():
        column, sign, value = text.partition("=")
        if not sign or column not in FILTERED_BY:
            raise ApiError(400, f"{text[:80]!r} is no filter: write column=text, of {', '.join(FILTERED_BY)}")
        if columns.get(column, value) != value:
            raise ApiError(400, f"{column} is asked for twice, with different values: ask for one of them")
        columns[column] = value
    query = NodeQuery(
        group=asked.group,
        rack=asked.rack,
        standing=asked.status,
        text=asked.q,
        columns=columns,
        sort=asked.sort.removeprefix("-"),
        descending=asked.sort.startswith("-"),
        limit=asked.limit,
        after=asked.after,
    )
    return Response(msgspec.json.encode(site_nodes(store, site, query)), media_type="application/json")


@router.get(
    "/sites/{site}/nodes/{node}",
    dependencies=[access.may_read],
    summary="Everything that happened to a node",
    responses=answers(NodeHistory),
)
def get_node(
    site: SitePath,
    node: Annotated[str, Path(max_length=_LONGEST_TEXT, description="Its name.", examples=["node-1"])],
    store: Store,
    limit: Annotated[int, Query(ge=1, le=200, description="How many actions at most.")] = 50,
    before: Annotated[str | None, _text("`before` of the page before.")] = None,
    differences: Annotated[
        bool, Query(description="Also compare what is done with what is wanted; it may take seconds.")
    ] = False,
) -> Response:
    """Return how a node stands, and each phase of each action on it, newest first. `ETag` is its record's version."""
    found = node_history(store, site, node, limit, before)
    if found is None:
        near = Hints(cutoff=0.6).of(node, [one.name for one in store.nodes.of_site(site)])
        raise ApiError(404, f"site {site} has no node {node[:80]!r}, and never had{near}", "Node not found")
    found["differences"] = node_differences(store, site, found["node"]) if differences else None
    headers = {} if found["node"] is None else etag_headers(found["node"]["version"])
    return Response(msgspec.json.encode(found), media_type="application/json", headers=headers)


@router.get(
    "/actions/{action_id}/nodes",
    dependencies=[access.may_read],
    summary="The nodes of an action",
    responses=answers(ActionNodePage),
)
def get_action_nodes(
    action_id: ActionId,
    store: Store,
    caller: access.CallerDep,
    group: Annotated[str | None, _text("Only nodes of this group.")] = None,
    phase: Annotated[str | None, _text("Only this phase, such as `deploy`.")] = None,
    troubled: Annotated[bool, Query(description="Only what failed, is lost or was not submitted.")] = False,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Return a page of the nodes of an action, under each group and phase, by name."""
    action = find_action(store, caller, action_id)
    found = action_nodes(
        store, action.id, group=group, phase=phase, troubled=troubled, limit=limit, after=_place_of(after)
    )
    if found["after"] is not None:
        # One word: names may have any character in them.
        found["after"] = base64.urlsafe_b64encode(json.dumps(found["after"]).encode()).decode().rstrip("=")
    return Response(msgspec.json.encode(found), media_type="application/json")


def _place_of(page: str | None) -> list[str] | None:
    if page is None:
        return None
    try:
        place = read_json(base64.urlsafe_b64decode(page + "=" * (-len(page) % 4)))
    except ValueError:
        place = None
    if not isinstance(place, list) or len(place) != 3 or not all(isinstance(part, str) for part in place):
        raise ApiError(400, f"{page[:80]!r} is from no page of this list: leave it out to begin anew", "Bad Request")
    return place
