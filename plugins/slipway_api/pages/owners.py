"""Who does the work, when each was seen last, and what an owner that is gone keeps waiting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from site_store.owners import NEVER
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.live import live_page

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/owners", dependencies=[access.may_read])
def owners(request: Request, store: Store) -> Response:
    """Show all owners that were ever seen, and those that are expected and never were."""

    def values() -> Mapping[str, Any]:
        now, seen = store.owners.all()
        sites: defaultdict[str, set[str]] = defaultdict(set)
        actions: defaultdict[str, set[str]] = defaultdict(set)
        for work in store.owners.expected():
            sites[work.owner].add(work.site)
            if work.action_id is not None:
                actions[work.owner].add(work.action_id)
        known = {owner.name: owner for owner in seen}
        rows = []
        for name in sorted(known.keys() | sites.keys()):
            owner = known.get(name)
            rows.append(
                {
                    "name": name,
                    "alive": owner is not None and owner.is_alive(now),
                    "last_seen": owner.last_seen if owner is not None and owner.last_seen > NEVER else None,
                    "interval": owner.interval_seconds if owner is not None else None,
                    "detail": owner.detail if owner is not None else None,
                    "sites": sorted(sites[name]),
                    "actions": sorted(actions[name]),
                }
            )
        # Who is gone comes first.
        return {"owners": sorted(rows, key=lambda row: bool(row["alive"]))}

    return live_page(request, store, "owners.html", token=None, reader="", values=values, fresh={})
