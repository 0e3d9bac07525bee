"""Reports of nodes to programs outside: read them, and acknowledge errors, each by its own operation (rules 47, 48)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_store.nodes.node_errors import MOST_REPORTS
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of, require_known_keys
from slipway_api.http.dependencies import IfMatch, SitePath, Store, blocking_router
from slipway_api.sites.node_states import expected_versions, version_headers

router = blocking_router("status")

_LONGEST_NAME = 1000
_LARGEST_OP = 2**63 - 1


class ReportedError(BaseModel):
    """The error of the operation."""

    code: str = Field(examples=["provisioner"])
    message: str = Field(examples=["Node node-1 failed deployment"])
    action: str = Field(examples=[EXAMPLE_ID], description="The action that the operation belongs to.")
    phase: str = Field(examples=["deploy"], description="What the node was sent for.")
    provisioner_task: str | None = Field(
        examples=["7b0bb2a4-3e6c-4a3e-9d8e-3b9f0d6d7c11"],
        description="The task at the provisioner; null where the request did not get that far.",
    )


class Removal(BaseModel):
    """How far the removal of a node that left the design is."""

    step: str = Field(examples=["destroy_nodes"])
    ended: bool = Field(examples=[False])


class NodeReport(BaseModel):
    """A node, its operation, and up to three parts; the JSON Schema `node_report` describes it."""

    id: str = Field(
        examples=["north/node-1/17/provisioner-1b9fc2a4"], description="The same for a repeat of this report."
    )
    site: str = Field(examples=["default"])
    node: str = Field(examples=["node-1"])
    op: int = Field(examples=[17], description="The operation that an acknowledgement names.")
    state: str | None = Field(default=None, examples=["error"])
    removal: Removal | None = Field(default=None)
    error: ReportedError | None = Field(default=None)


class NodeReports(BaseModel):
    """Reports of one moment."""

    reports: list[NodeReport]
    after: str | None = Field(examples=[None], description="Where the next page begins; null: there is none.")


class Acknowledged(BaseModel):
    """An error that its reader has taken note of."""

    node: str = Field(examples=["node-1"])
    op: int = Field(examples=[17])


class Acknowledgements(BaseModel):
    """Errors that a reader has taken note of."""

    acknowledged: list[Acknowledged]


class Outcome(BaseModel):
    """What has become of each acknowledgement."""

    cleared: list[str] = Field(examples=[["node-1"]], description="Nodes whose error is not reported any more.")
    others: list[str] = Field(examples=[[]], description="Nodes that have no error of that operation: nothing is done.")


@router.get(
    "/sites/{site}/reports",
    dependencies=[access.may_read],
    summary="Reports of nodes",
    responses=answers(NodeReports),
)
def get_reports(
    site: SitePath,
    store: Store,
    since: Annotated[
        int | None,
        Query(ge=0, le=_LARGEST_OP, description="Also nodes whose newest operation is newer than this one."),
    ] = None,
    after: Annotated[str, Query(max_length=_LONGEST_NAME, description="`after` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_REPORTS, description="How many at most.")] = MOST_REPORTS,
) -> JSONResponse:
    """Return what is to be told of nodes: errors that nobody has acknowledged, and how far removals are.

    Asked again, it gives the same until an error is acknowledged: what a reader loses it gets again.
    """
    found = store.node_reports.of_site(site, since, after, limit)
    behind = found[-1].node if len(found) == limit else None
    return JSONResponse({"reports": [report.to_dict() for report in found], "after": behind})


@router.post(
    "/sites/{site}/reports/acknowledgements",
    dependencies=[access.may_control],
    summary="Acknowledge errors of nodes",
    openapi_extra=json_body_of(Acknowledgements),
    responses=answers(Outcome),
)
def post_acknowledgements(
    site: SitePath, body: JsonObject, store: Store, caller: access.CallerDep, if_match: IfMatch = None
) -> JSONResponse:
    """Clear errors, each by its node and operation. The error of another operation stays, and is reported on.

    The node stays as it is: an error that is known is still an error. `If-Match` is the `ETag` of the nodes that are
    named, of several the one that they have together.
    """
    require_known_keys(body, Acknowledgements)
    given = body.get("acknowledged")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_REPORTS:
        raise ApiError(400, f"acknowledged must be a list of 1 to {MOST_REPORTS} objects with node and op")
    ops: dict[str, int] = {}
    for place, one in enumerate(given):
        node, op = (one.get("node"), one.get("op")) if isinstance(one, dict) else (None, None)
        if not isinstance(node, str) or not 0 < len(node) <= _LONGEST_NAME:
            raise ApiError(400, f"acknowledged[{place}].node must be the name of a node")
        if not isinstance(op, int) or isinstance(op, bool) or not 0 <= op <= _LARGEST_OP:
            raise ApiError(400, f"acknowledged[{place}].op must be the number of an operation")
        if ops.setdefault(node, op) != op:
            raise ApiError(400, f"acknowledged[{place}].node: {node[:80]!r} stands there twice, for two operations")
    versions = expected_versions(store, site, ops, if_match)
    cleared = store.node_errors.acknowledge(site, ops, caller.name, versions)
    answer: dict[str, Any] = {
        "cleared": [name for name, done in cleared.items() if done],
        "others": [name for name, done in cleared.items() if not done],
    }
    return JSONResponse(answer, headers=version_headers(store, site, ops))
