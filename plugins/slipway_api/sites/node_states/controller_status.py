"""The address that readers of node states know from elsewhere: it leads to the pages."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store, require_site
from slipway_api.pages.wording import segment

router = APIRouter(prefix="/clustercontroller-status/v1", route_class=BlockingRoute, include_in_schema=False)


@router.get("/", dependencies=[access.may_read])
def all_sites(request: Request) -> RedirectResponse:
    """Lead to the list of sites."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/ui/", 303)


@router.get("/{site}/", dependencies=[access.may_read])
def one_site(request: Request, site: str, store: Store) -> RedirectResponse:
    """Lead to the page "Nodes" of a site. Raises `ApiError` 404, with the nearest names: there is no such site."""
    require_site(store, site)
    return RedirectResponse(f"{request.scope.get('root_path', '')}/ui/sites/{segment(site)}/states", 303)
