"""Who does the work, when each was seen last, and what an owner that is gone keeps waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from site_engine.owners import list_owners
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.live import live_page

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/owners", dependencies=[access.may_read])
def owners(request: Request, store: Store) -> Response:
    """Show all owners that were ever seen, and those that are expected and never were."""

    def values() -> Mapping[str, Any]:
        # Who is gone comes first.
        found = sorted(list_owners(store), key=lambda owner: owner.alive)
        return {"owners": [(owner, owner.to_data()) for owner in found]}

    return live_page(request, store, "owners.html", token=None, reader="", values=values, fresh={})
