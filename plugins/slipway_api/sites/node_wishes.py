"""Asking for nodes again, and taking over nodes that are deployed already."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.wishes import plan_adoption, refuse_running_action, touch_nodes
from slipway_api.documents.commit import CausedBy
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of, names_in, require_known_keys
from slipway_api.http.dependencies import SitePath, Store, blocking_router
from slipway_api.http.etags import IfMatch
from slipway_api.sites.node_states import expected_versions, version_headers
from slipway_api.sites.site_statuses import read_list

router = blocking_router("sites")


class TouchBody(BaseModel):
    """Which nodes are asked for again."""

    nodes: list[str] = Field(examples=[["n1"]])


class TouchedNode(BaseModel):
    """A node that was asked for again, and the version in which it is wanted now."""

    name: str = Field(examples=["n1"])
    wanted_version: int = Field(examples=[4])


class Touched(BaseModel):
    """The nodes that were asked for again."""

    site: str = Field(examples=["default"])
    nodes: list[TouchedNode]


class AdoptBody(BaseModel):
    """Which nodes are taken over; without `nodes` all that are deployed and were never done."""

    nodes: list[str] | None = Field(default=None, examples=[["n1"]])


class SkippedNode(BaseModel):
    """A node that is not taken over, and why."""

    name: str = Field(examples=["n2"])
    reason: str = Field(examples=["the provisioner does not list it as deployed: Ready"])


class Adopted(BaseModel):
    """The nodes that count as done now (in a dry run: would), and those that do not."""

    site: str = Field(examples=["default"])
    dry_run: bool = Field(examples=[False])
    revision: int | None = Field(examples=[3])
    nodes: list[str] = Field(examples=[["n1"]])
    skipped: list[SkippedNode]


@router.post(
    "/sites/{site}/touch",
    dependencies=[access.may_commit],
    summary="Ask for nodes again",
    openapi_extra=json_body_of(TouchBody),
    responses=answers(Touched),
)
def touch(
    site: SitePath,
    body: JsonObject,
    store: Store,
    user: access.UserName,
    caused_by: CausedBy = None,
    if_match: IfMatch = None,
) -> JSONResponse:
    """Ask for nodes again although their design is the same. Nothing is started by this.

    The next update does them; those that are deployed only with `allow_redeploy`, as it destroys them first.

    `If-Match` is the `ETag` of the nodes that are named, of several the one that they have together.
    """
    require_known_keys(body, TouchBody, ("caused-by",))
    nodes = names_in(body, "nodes", " of nodes")
    if not nodes:
        raise ApiError(400, "nodes must name the nodes that are asked for again", "Bad Request")
    refuse_running_action(store, caused_by)
    touched = touch_nodes(store, site, nodes, user, expected_versions(store, site, nodes, if_match))
    shown = [{"name": name, "wanted_version": version} for name, version in sorted(touched.items())]
    return JSONResponse({"site": site, "nodes": shown}, headers=version_headers(store, site, nodes))


@router.post(
    "/sites/{site}/adopt",
    dependencies=[access.may_commit],
    summary="Take over nodes that are deployed already",
    openapi_extra=json_body_of(AdoptBody),
    responses=answers(Adopted),
)
def adopt(
    site: SitePath,
    body: JsonObject,
    store: Store,
    user: access.UserName,
    dryrun: Annotated[bool, Query(description="Only say which nodes.")] = False,
    if_match: IfMatch = None,
) -> JSONResponse:
    """Record the newest revision as done for nodes that the provisioner lists as deployed; it is asked now.

    For a site that moves over: its nodes are live, and no action has done them. Nothing is sent to the provisioner.

    The `ETag` is that of the nodes of the answer together: a dry run answers it, and `If-Match` may name it when these
    nodes are named.
    """
    require_known_keys(body, AdoptBody, ("dryrun",))
    named = names_in(body, "nodes", " of nodes")
    versions = expected_versions(store, site, named or (), if_match)
    listed = read_list(store, site)
    plan = plan_adoption(store.nodes.of_site(site), listed, site, named)
    adopted: dict[str, int] = {}
    if not dryrun and plan.nodes:
        detail = f"listed as deployed by {listed.connection} at {listed.read_at.isoformat()}"
        adopted = store.wishes.adopt(site, plan.nodes, user, detail, versions)
    answer: dict[str, Any] = {
        "site": site,
        "dry_run": dryrun,
        "revision": next(iter(adopted.values()), None),
        "nodes": list(plan.nodes) if dryrun else sorted(adopted),
        "skipped": [{"name": name, "reason": reason} for name, reason in plan.skipped.items()],
    }
    return JSONResponse(answer, headers=version_headers(store, site, answer["nodes"]))
