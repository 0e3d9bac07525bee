"""The list of sites: where a person begins."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.live import live_page

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/", dependencies=[access.may_read])
def sites(request: Request, store: Store) -> Response:
    """Show all sites."""
    names = store.sites.known()
    return live_page(
        request, store, "sites.html", token=" ".join(names), reader="", values=dict, fresh={"sites": names}
    )
