"""The objects of a site's newest design with what they use; and who asked for what in a site."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers, shown
from slipway_api.http.dependencies import SitePath, Store, blocking_router, link_to_next, require_site

router = blocking_router("sites")

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
