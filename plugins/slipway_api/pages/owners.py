"""Who does the work, when each was seen last, and what an owner that is gone keeps waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from site_engine.monitoring.owners import OwnerView, list_owners
from slipway_api.http import airflow_access as access
from slipway_api.http.dependencies import Store
from slipway_api.pages.live import live_page
from slipway_api.pages.rendering import page_router

router = page_router()

OWNERS_SHOWN = 100


@router.get("/owners", dependencies=[access.may_read])
def owners(request: Request, store: Store) -> Response:
    """Show all owners that were ever seen, and those that are expected and never were."""

    after = request.query_params.get("after", "")
    there = "there" in request.query_params

    def values() -> Mapping[str, Any]:
        # Who is gone comes first.
        found = sorted(list_owners(store).owners, key=_place)
        behind = [owner for owner in found if not after or _place(owner) > (there, after)]
        shown = behind[:OWNERS_SHOWN]
        more = len(behind) - len(shown)
        return {
            "owners": [(owner, owner.to_data()) for owner in shown],
            "more": more,
            "after": after,
            "next": _query_behind(shown[-1]) if more else "",
        }

    return live_page(request, store, "owners.html", token=None, reader="", values=values, fresh={})


def _place(owner: OwnerView) -> tuple[bool, str]:
    return owner.alive, owner.name


def _query_behind(owner: OwnerView) -> str:
    return urlencode({"after": owner.name} | ({"there": "1"} if owner.alive else {}))
