"""The page "Nodes" of a site: which nodes can be used, by their three states, and the versions that were published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from site_engine.node_states.shown import ShownView, shown_view, taken_down_by_groups
from site_store.node_table.state_query import FILTERED_BY, UNSEEN, StateQuery
from site_store.node_table.state_table import MOST_COUNTED
from slipway_api.http import airflow_access as access
from slipway_api.http.dependencies import Store, refuse_unknown_site
from slipway_api.pages.live import live_page
from slipway_api.pages.nodes import AskedTable, Column, asked, asked_order
from slipway_api.pages.rendering import page_router
from slipway_api.pages.wording import segment
from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.node_states.publication import Version

router = page_router()

NODES_SHOWN: Final = 50
VERSIONS_SHOWN: Final = 10
COLUMNS: Final = (
    Column("node", "Node"),
    Column("state", "Published"),
    Column("since", "Since (UTC)"),
    Column("why", "Why", sorted=False),
    Column("reported", "Reported"),
    Column("user", "Set"),
    Column("crashes", "Crashes"),
    Column("rack", "Rack"),
)
_ASKED: Final = ("q", "group", *FILTERED_BY)
_WORDS: Final = [str(state) for state in NodeAvailability]
CHOICES: Final = {
    "state": [*_WORDS, UNSEEN],
    "reported": [*(word for word in _WORDS if word in REPORTED), UNSEEN],
    "user": [word for word in _WORDS if word in USER],
}
"""What may be chosen as a state, by column."""


@router.get("/sites/{site}/states", dependencies=[access.may_read])
def node_states(request: Request, site: str, store: Store, caller: access.CallerDep) -> Response:
    """Show the states of a site's nodes."""
    may_set = caller.may_control(access.COMMIT_DAG)
    filters = asked(request, _ASKED)
    before = _version(request.query_params.get("versions_before", ""))
    view = shown_view(store, site, VERSIONS_SHOWN, before)
    if view is None:
        refuse_unknown_site(store, site)
    fresh = {"site": site, "may_set": may_set, "filters": filters}

    def values() -> Mapping[str, Any]:
        return {"view": view, "versions_before": before, **_table(request, store, site, filters, view)}

    return live_page(
        request,
        store,
        "node_states.html",
        token=view.token,
        reader="may set" if may_set else "",
        values=values,
        fresh=fresh,
        rest=lambda: {"choices": CHOICES},
    )


def _table(request: Request, store: Store, site: str, filters: Mapping[str, str], view: ShownView) -> dict[str, Any]:
    address = f"{request.scope.get('root_path', '')}/ui/sites/{segment(site)}/states"
    # The most crashes and the newest states are looked for first.
    table = AskedTable(address, COLUMNS, filters, **asked_order(request, "state"), downward=("crashes", "since"))
    query = StateQuery(
        text=filters.get("q", ""),
        group=filters.get("group"),
        columns={name: filters[name] for name in FILTERED_BY if name in filters},
        sort=table.sort,
        descending=table.descending,
        limit=NODES_SHOWN,
        after=table.after,
        taken_down=taken_down_by_groups(store, site, view.judging),
    )
    return {
        **table.values(),
        "found": store.state_table.page(site, query),
        "most_counted": MOST_COUNTED,
        "state_link": lambda state: f"{address}?{urlencode({'state': state})}",
    }


def _version(text: str) -> Version | None:
    return Version(*map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,18}\.[0-9]{1,18}", text) else None
