"""Have a site's provisioner say how its nodes are, for the controller: the API server knows the connections."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, Field

from site_store.status.leases import lease_of
from slipway_api import airflow_access as access
from slipway_api.http.answers import Moment, answers
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import SitePath, Store
from slipway_api.http.leader import Leader, require_leader
from slipway_api.sites.site_statuses import observe_list

router = APIRouter(tags=["sites"], route_class=BlockingRoute)


class Look(Leader):
    """The lease of the controller that asks, and how far it has seen the nodes."""

    cursor: str | None = Field(
        default=None,
        max_length=1_000_000,
        examples=[None],
        description="Of the last answer; without it, the whole list is read.",
    )
    since: AwareDatetime | None = Field(
        default=None,
        examples=[None],
        description="A list serves that anybody has asked for after this time of the database; without it, after now.",
    )


class Observed(BaseModel):
    """That the list is as the provisioner says now, and kept."""

    nodes: int = Field(examples=[32], description="How many nodes the list has.")
    whole: bool = Field(examples=[True], description="Whether all of them were read, and not only what has changed.")
    cursor: str | None = Field(examples=[None], description="For the next look.")
    read_at: Moment


@router.post(
    "/sites/{site}/observe",
    dependencies=[access.may_control],
    summary="Read the list of nodes, or what has changed in it; for the controller that leads the site alone",
    responses=answers(Observed),
)
def post_observe(site: SitePath, body: Look, store: Store) -> JSONResponse:
    """Ask the site's provisioner for its list of nodes, or for what has changed in it, now, and keep the list."""
    require_leader(store, body, lease_of(site))
    seen = observe_list(store, site, body.cursor, body.since)
    return JSONResponse(
        {"nodes": seen.nodes, "whole": seen.is_whole, "cursor": seen.cursor, "read_at": store.now().isoformat()}
    )
