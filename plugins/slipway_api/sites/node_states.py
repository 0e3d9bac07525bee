"""The three states of a node, and what an administrator sets for nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, Field

from site_engine.wishes import named_nodes, not_published, set_states
from site_store import AskedState, SiteStore
from site_store.nodes.nodes import common_version, words_for
from site_store.nodes.user_states import UserStateChange
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import in_thread
from slipway_api.http.dependencies import IfMatch, SitePath, Store, etag_headers, require_match
from slipway_api.http.long_polls import INTERVAL, LONG_POLLS
from slipway_api.sites.site_view import require_committed
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeMemory
from strategy_lib.node_states.reported import reason_with

router = APIRouter(tags=["node states"])

LONGEST_WAIT = 60.0
"""Seconds after which the answer says what is missing."""
LONGEST_REASON = 1000
"""Characters of the reason for a user state."""

NodeName = Annotated[str, Path(max_length=500, description="The node's name.", examples=["n1"])]


class Wanted(BaseModel):
    """What is set, and why."""

    state: Literal["up", "retired", "maintenance", "down"] = Field(examples=["maintenance"])
    reason: str = Field(default="", max_length=LONGEST_REASON, examples=["new disk"])


class SetState(BaseModel):
    """A request to set the user state of a node."""

    user: Wanted
    condition: Literal["safe", "force"] = Field(
        default="safe", description="`safe`: only if nothing speaks against it. `force`: whatever does."
    )
    wait: bool = Field(default=True, description="Answer when a published version has it, after 60 s at the latest.")
    probe: bool = Field(default=False, description="Only say whether it would be done.")
    until: AwareDatetime | None = Field(
        default=None, description="When it ends by itself.", examples=["2026-03-02T12:00:00+00:00"]
    )


class SetStates(SetState):
    """A request to set the user state of several nodes, all of them or none."""

    nodes: list[str] = Field(default_factory=list, max_length=100_000, examples=[["n1", "n2"]])
    group: str | None = Field(default=None, description="All nodes of this group.", examples=[None])
    rack: str | None = Field(default=None, description="All nodes in this rack.", examples=["r1"])


class StateAnswer(BaseModel):
    """Whether it was done. What was refused is no error: `modified` is false, and `reason` says why."""

    modified: bool = Field(examples=[True])
    reason: str = Field(description="What speaks against it; what force has overridden.", examples=[""])
    nodes: list[str] = Field(examples=[["n1"]])
    published: bool = Field(description="Whether a published version has it.", examples=[True])
    missing: str | None = Field(description="What is missing until one has it.", examples=[None])


class OneState(BaseModel):
    """One of the three states of a node."""

    state: str | None = Field(examples=["up"])
    reason: str = Field(examples=[""])
    since: Moment | None


class NodeStates(BaseModel):
    """The three states of a node: what is seen of it, what an administrator set, and what is published."""

    site: str = Field(examples=["default"])
    node: str = Field(examples=["n1"])
    reported: OneState
    user: OneState
    set_by: str | None = Field(description="Who set the user state.", examples=["admin"])
    until: Moment | None = Field(description="When the user state ends by itself.")
    generated: OneState
    crashes: int = Field(examples=[0])


@router.get(
    "/sites/{site}/nodes/{node}/state",
    dependencies=[access.may_read],
    summary="The states of a node",
    responses=answers(NodeStates),
)
async def get_node_state(site: SitePath, node: NodeName, store: Store) -> JSONResponse:
    """Return what is reported of a node, what an administrator set for it, and what was made of both."""

    def read() -> JSONResponse:
        # The version first: a write in between makes it an old one, which is refused.
        headers = version_headers(store, site, [node])
        return JSONResponse(_states(store, site, node), headers=headers)

    return await in_thread(read)


@router.put(
    "/sites/{site}/nodes/{node}/state",
    dependencies=[access.may_control],
    summary="Set the user state of a node",
    responses={**answers(StateAnswer), **answers(StateAnswer, 202)},
)
async def put_node_state(
    site: SitePath,
    node: NodeName,
    body: SetState,
    store: Store,
    user: access.UserName,
    if_match: IfMatch = None,
) -> JSONResponse:
    """Set what an administrator wants of a node. It holds for every action at once.

    What is refused answers 200 with `modified: false`. Where it is not published within a minute the answer is 202, and
    says what is missing. `If-Match` is the `ETag` of the node.
    """
    return await _set(store, site, body, user, partial(named_nodes, store, site, [node]), if_match)


@router.put(
    "/sites/{site}/states",
    dependencies=[access.may_control],
    summary="Set the user state of several nodes",
    responses={**answers(StateAnswer), **answers(StateAnswer, 202)},
)
async def put_states(
    site: SitePath, body: SetStates, store: Store, user: access.UserName, if_match: IfMatch = None
) -> JSONResponse:
    """Set what an administrator wants of nodes, of a group or of a rack: of all of them, or of none.

    The `ETag` is that of these nodes together: one with `probe` answers it, and `If-Match` may name it.
    """
    if not (body.nodes or body.group or body.rack):
        raise ApiError(400, "name at least one of nodes, group and rack", "Bad Request")
    find = partial(named_nodes, store, site, body.nodes, body.group, body.rack)
    return await _set(store, site, body, user, find, if_match)


async def _set(
    store: SiteStore, site: str, body: SetState, user: str, find: Callable[[], tuple[str, ...]], if_match: str | None
) -> JSONResponse:
    until = None if body.until is None else body.until.astimezone(UTC)
    wanted = AskedState(
        NodeAvailability(body.user.state), body.user.reason.strip(), until, body.condition == "force", body.probe
    )
    if wanted.state is not NodeAvailability.UP and not wanted.reason:
        raise ApiError(400, f"user.reason is missing: say why nodes are set to {wanted.state}", "Bad Request")

    def change() -> tuple[tuple[str, ...], UserStateChange]:
        if until is not None and until <= store.now():
            raise ApiError(400, f"until is {until.isoformat()}, which is over: name a time to come", "Bad Request")
        require_committed(store, site)
        nodes = find()
        expected = require_match(if_match, lambda: store.user_states.version(site, nodes), words_for(nodes))
        return nodes, set_states(store, site, nodes, wanted, user, expected)

    nodes, found = await in_thread(change)
    modified, reason, at = found.change.modified, "; ".join(found.change.objections), found.at
    answer = {"modified": modified, "reason": reason, "nodes": list(nodes), "published": False, "missing": None}
    headers = etag_headers(found.version)
    if not modified or body.probe:
        return JSONResponse(answer, headers=headers)
    missing = await in_thread(lambda: not_published(store, site, nodes, at))
    loop = asyncio.get_running_loop()
    end = loop.time() + (LONGEST_WAIT if body.wait else 0.0)
    while missing is not None and loop.time() < end and not LONG_POLLS.get().stops:
        await asyncio.sleep(INTERVAL)
        missing = await in_thread(lambda: not_published(store, site, nodes, at))
    return JSONResponse(
        {**answer, "published": missing is None, "missing": missing},
        status_code=200 if missing is None else 202,
        headers=headers,
    )


def _states(store: SiteStore, site: str, node: str) -> dict[str, Any]:
    require_committed(store, site)
    known = store.site_views.memory(site, [node]).get(node)
    record = store.user_states.of_site(site).get(node)
    if known is None and record is None and node not in store.site_views.nodes(site):
        raise ApiError(404, f"site {site} has no node {node!r}", "Node not found")
    now = store.now()
    user = None if record is None else record.value(now)
    in_force = user is not None and record is not None and user.state is record.state
    return {
        "site": site,
        "node": node,
        "reported": {
            "state": None if known is None else known.history.state,
            "reason": "not seen yet" if known is None or known.word is None else _reported(known),
            "since": None if known is None else _moment(known.history.since),
        },
        "user": {
            "state": "up" if user is None else str(user.state),
            "reason": "" if user is None else user.reason,
            "since": record.set_at.isoformat() if record is not None and in_force else None,
        },
        "set_by": record.set_by if record is not None and in_force else None,
        "until": record.until.isoformat() if record is not None and in_force and record.until is not None else None,
        "generated": {
            "state": None if known is None else str(known.view.state),
            "reason": "" if known is None else known.view.reason,
            "since": None if known is None else _moment(known.since),
        },
        "crashes": 0 if known is None else known.history.crashes,
    }


def expected_versions(store: SiteStore, site: str, nodes: Collection[str], if_match: str | None) -> dict[str, int]:
    """Return the version that the record of each node has to keep until it is written; empty without a condition.

    Raises `ApiError`: 412: together they have another version; 400: the request names no node.
    """
    if if_match is None:
        return {}
    if not nodes:
        raise ApiError(400, "If-Match is the version of nodes: name them, or leave it out", "Bad Request")
    found = store.site_nodes.versions(site, nodes)
    if found:
        require_match(if_match, lambda: common_version(found), words_for(nodes))
    return found


def version_headers(store: SiteStore, site: str, nodes: Collection[str]) -> dict[str, str]:
    """Return the `ETag` of an answer about nodes: of several the version that they have together; none about none."""
    found = store.site_nodes.versions(site, nodes) if nodes else {}
    return etag_headers(common_version(found)) if found else {}


def _reported(known: NodeMemory) -> str:
    """Return the list's words for a node, and the node's own where that lowers its state."""
    word = known.word if known.power is None else f"{known.word}, power {known.power}"
    return reason_with(word or "", known.said)


def _moment(seconds: float | None) -> str | None:
    return None if not seconds else datetime.fromtimestamp(seconds, UTC).isoformat()
