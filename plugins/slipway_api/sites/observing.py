"""Have a site's provisioner list its nodes, for the controller: the API server knows the connections."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_store.user_states import lease_of
from slipway_api import airflow_access as access
from slipway_api.http.answers import Moment, answers
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import SitePath, Store
from slipway_api.http.leader import Leader, require_leader
from slipway_api.sites.site_statuses import read_list

router = APIRouter(tags=["sites"], route_class=BlockingRoute)


class Observed(BaseModel):
    """That the list was read and kept."""

    nodes: int = Field(examples=[32], description="How many nodes the provisioner lists.")
    read_at: Moment


@router.post(
    "/sites/{site}/observe",
    dependencies=[access.may_read],
    summary="Read the list of nodes; for the controller that leads the site alone",
    responses=answers(Observed),
)
def post_observe(site: SitePath, body: Leader, store: Store) -> JSONResponse:
    """Ask the site's provisioner for its list of nodes, now, and keep it."""
    require_leader(store, body, lease_of(site))
    listed = read_list(store, site)
    return JSONResponse({"nodes": len(listed.nodes), "read_at": listed.read_at.isoformat()})
