"""Asking for nodes again, taking over deployed ones, and who asked for what; the objects of the newest design."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.wishes import plan_adoption, refuse_running_action, touch_nodes
from slipway_api.documents.commit import CausedBy
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, LeftOut, Moment, answers, shown
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of, names_in, require_known_keys
from slipway_api.http.dependencies import IfMatch, SitePath, Store, blocking_router, link_to_next, require_site
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


class Adopted(BaseModel):
    """The nodes that count as done now (in a dry run: would), and those that do not."""

    site: str = Field(examples=["default"])
    dry_run: bool = Field(examples=[False])
    revision: int | None = Field(examples=[3])
    nodes: list[str] = Field(examples=[["n1"]])
    skipped: list[LeftOut] = Field(
        examples=[[{"name": "n2", "reason": "the provisioner does not list it as deployed: Ready"}]]
    )


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


_PAGE = 100
_LONGEST_PAGE = 1000
Limit = Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many at most.")]


class Object(BaseModel):
    """An object of the newest design: its version grows with each change of its own data."""

    kind: str = Field(examples=["node"])
    name: str = Field(examples=["n1"])
    version: int = Field(examples=[2])
    revision: int = Field(examples=[3], description="The revision that brought this version.")
    uses: list[str] = Field(examples=[["host_profile/compute", "network/oob"]], description="Directly.")
    by_policy: list[str] = Field(examples=[[]], description="Policies that changed it.")


class Audited(BaseModel):
    """A command that somebody gave."""

    id: str = Field(examples=[EXAMPLE_ID])
    datetime: Moment
    user: str = Field(examples=["admin"])
    command: str = Field(examples=["touch"])
    action: str | None = Field(examples=[None], description="The action that it was given to.")
    nodes: list[str] = Field(examples=[["n1"]], description="The nodes that it was about, where no action was.")
    detail: str | None = Field(examples=[None])


@router.get(
    "/sites/{site}/objects",
    dependencies=[access.may_read],
    summary="List the objects of the newest design",
    responses=answers(list[Object]),
)
def list_objects(
    request: Request,
    site: SitePath,
    store: Store,
    kind: Annotated[str | None, Query(max_length=200, description="Only of this kind, such as node.")] = None,
    limit: Limit = _PAGE,
    after_kind: Annotated[str, Query(alias="after-kind", description="With after-name: only those behind it.")] = "",
    after_name: Annotated[str, Query(alias="after-name", description="As `Link` has it for the next page.")] = "",
) -> JSONResponse:
    """Return what the newest design consists of, by kind and name, and what each uses directly."""
    require_site(store, site)
    found = store.objects.page(site, limit + 1, kind, (after_kind, after_name))
    headers = {}
    if len(found) > limit:
        last = found[limit - 1].key
        headers = link_to_next(request, **{"limit": limit, "after-kind": last.kind, "after-name": last.name})
    views = [
        shown(Object, record, kind=record.key.kind, name=record.key.name, uses=[str(key) for key in record.uses])
        for record in found[:limit]
    ]
    return JSONResponse(views, headers=headers)


@router.get(
    "/sites/{site}/audit",
    dependencies=[access.may_read],
    summary="List who asked for what",
    responses=answers(list[Audited]),
)
def list_audit(
    request: Request,
    site: SitePath,
    store: Store,
    limit: Limit = _PAGE,
    before: Annotated[
        str | None, Query(max_length=26, description="Only what is older than this id, as `Link` has it.")
    ] = None,
) -> JSONResponse:
    """Return the commands that were given to the site's actions, and what was asked for of its nodes, newest first.

    Revisions and actions name who made them themselves.
    """
    require_site(store, site)
    found = store.wishes.audit(site, limit + 1, before)
    headers = link_to_next(request, limit=limit, before=found[limit - 1].id) if len(found) > limit else {}
    views = [shown(Audited, one, datetime=one.at.isoformat(), action=one.action_id) for one in found[:limit]]
    return JSONResponse(views, headers=headers)
