"""The table of a site's nodes, filtered, sorted and paged by the server; and the page of one node: all its past.

And the page "Nodes": which nodes can be used, by their three states, and the versions that were published.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from site_engine.designs import RevisionUnreadable
from site_engine.kinds import KINDS
from site_engine.node_states.shown import ShownView, shown_view, taken_down_by_groups
from site_engine.trees.nodes import past_to_dict, site_nodes
from site_store import NodeQuery, SiteStore, ValueRefused
from site_store.node_table.state_query import FILTERED_BY, UNSEEN, StateQuery
from site_store.node_table.state_table import MOST_COUNTED
from slipway_api.documents.differences import node_differences
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store, refuse_unknown_site
from slipway_api.pages.rendering import live_page, page_router
from slipway_api.pages.wording import segment
from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.node_states.publication import Version
from strategy_lib.status.words import Status

router = page_router()

TARGETED = {kind.name: kind for kind in KINDS.values() if kind.targeted}
"""Kinds of actions on named nodes."""
NODES_SHOWN = 50
ACTIONS_SHOWN = 30
NOTES_SHOWN = 30
"""Notes on the states of a node."""
COMPARING = 1.5
"""Seconds for which the page of a node waits for the comparison of two revisions."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its name in the query, its heading, and whether it can be sorted by."""

    name: str
    heading: str
    sorted: bool = True


@dataclass(frozen=True, slots=True)
class AskedTable:
    """A table as the query of a page asks for it: filtered, sorted, from where the page before ended.

    Attributes
    ----------
    address : of the page with the table.
    filters, kept : what the query filters by, and what else it says that stays in the links of the table.
    downward : columns whose end is looked for first.
    anchor : the table's place on the page.
    """

    address: str
    columns: Sequence[Column]
    filters: Mapping[str, str]
    sort: str
    descending: bool
    after: str | None
    kept: Mapping[str, str] = field(default_factory=dict)
    downward: Collection[str] = ()
    anchor: str = ""

    def link(self, **changes: str) -> str:
        """Return where the table is asked for as it is now, with these changes."""
        given = {"sort": self.sort, "order": "desc" if self.descending else "asc"} | changes
        return f"{self.address}?{urlencode({**self.filters, **self.kept, **given})}{self.anchor}"

    def values(self) -> dict[str, Any]:
        """Return what its template shows of it."""
        return {
            "columns": self.columns,
            "sort": self.sort,
            "descending": self.descending,
            "sort_links": {column.name: self._sorted_by(column.name) for column in self.columns if column.sorted},
            "next_link": lambda place: self.link(after=place),
            "first_link": self.link() if self.after else "",
        }

    def _sorted_by(self, column: str) -> str:
        downward = not self.descending if column == self.sort else column in self.downward
        return self.link(sort=column, order="desc" if downward else "asc")


def asked_order(request: Request, usual: str) -> dict[str, Any]:
    """Return what the query says of an `AskedTable` beside its filters; `usual` is the column that it is sorted by."""
    query = request.query_params
    return {"sort": query.get("sort", usual), "descending": query.get("order") == "desc", "after": query.get("after")}


COLUMNS = (
    Column("node", "Node"),
    Column("standing", "Status"),
    Column("rack", "Rack"),
    Column("group", "Groups"),
    Column("wanted_revision", "Wanted since"),
    Column("done_revision", "Done in"),
    Column("provisioner_status", "Provisioner says"),
    Column("power", "Power"),
    Column("error", "What is wrong"),
)
_BY_TEXT = ("serves", "wanted_revision", "done_revision", "provisioner_status", "power", "error")
_KEPT = ("sort", "order", "actions_before", "revisions_before")
_ASKED = ("q", "standing", "group", "rack", *_BY_TEXT)


@router.get("/sites/{site}/nodes", dependencies=[access.may_read])
def nodes(request: Request, site: str, store: Store) -> Response:
    """Show the nodes of a site alone: the part of its page that renews itself."""
    token = token_of(store, site)
    rest = {
        "filters": asked(request),
        "kept": kept(request),
        "columns": COLUMNS,
        "statuses": list(Status),
    }
    _, values = nodes_part(request, store, site)
    fresh = {"site": site}
    return live_page(
        request, store, "nodes.html", token=token, reader="", values=values, fresh=fresh, rest=lambda: rest
    )


@router.get("/sites/{site}/nodes/{node:path}", dependencies=[access.may_read])
def node(request: Request, site: str, node: str, store: Store, caller: access.CallerDep) -> Response:
    """Show a node: what is wanted, what was done, and everything that ever happened to it."""
    may = frozenset(kind for kind in TARGETED if caller.may_create(kind))
    known = store.trees.known_site(site)
    before = request.query_params.get("before")

    def values() -> Mapping[str, Any]:
        past = store.site_nodes.past(site, node, ACTIONS_SHOWN, before, most_notes=NOTES_SHOWN)
        found = past_to_dict(site, node, past)
        if found is None or past.states is None:
            raise ApiError(404, f"nothing is known of a node {node[:64]!r} of site {site[:64]!r}", "Node not found")
        readable = [action for action in found["actions"] if caller.may_read(action["kind"])]
        states = past.states.states
        if states is not None:
            states = states.taken_down(taken_down_by_groups(store, site, past.states.judging))
        told = {None, *(action["id"] for action in readable)}
        reported = [leaf for leaf in found["reported"] if leaf["action"] in told]
        history = {**found, "actions": readable, "reported": reported}
        shown = {"states": states, "noted": past.states.notes, "history": history}
        return shown | _differing(store, site, found["node"])

    may_touch, may_set = caller.may_create(access.COMMIT_DAG), caller.may_control(access.COMMIT_DAG)
    fresh = {"site": site, "name": node, "may": may, "may_touch": may_touch, "may_set": may_set}
    # A running action of the site changes the past of its nodes, and not the token of the site: nothing is kept.
    token = None if known.held else known.token
    return live_page(request, store, "node.html", token=token, reader=caller.name, values=values, fresh=fresh)


def _differing(store: SiteStore, site: str, node: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what differs between done and wanted; None while it is compared: an open page shows it then."""
    try:
        return {"differing": node_differences(store, site, node, COMPARING), "incomparable": ""}
    except (ApiError, RevisionUnreadable) as error:
        return {"differing": [], "incomparable": str(error)}


def asked(request: Request, names: Sequence[str] = _ASKED) -> dict[str, str]:
    """Return what the query filters by."""
    found = {name: request.query_params.get(name, "").strip()[:200] for name in names}
    return {name: text for name, text in found.items() if text}


def kept(request: Request) -> dict[str, str]:
    """Return what else the query says that a filter leaves as it is: the order, and where the other lists begin."""
    return {name: text[:200] for name in _KEPT if (text := request.query_params.get(name, ""))}


def token_of(store: SiteStore, site: str) -> str:
    """Return the change token of a site. Raises `ApiError` 404: nothing is known of it."""
    known = store.trees.known_site(site)
    if not known.exists:
        refuse_unknown_site(store, site)
    return known.token


def nodes_part(request: Request, store: SiteStore, site: str) -> tuple[str, Callable[[], dict[str, Any]]]:
    """Return the table of a site's nodes as the query asks for it: the address of that part, and what reads it."""
    filters = asked(request)
    root = request.scope.get("root_path", "")
    page = f"{root}/ui/sites/{segment(site)}"
    table = AskedTable(page, COLUMNS, filters, **asked_order(request, "node"), kept=kept(request), anchor="#nodes")
    query = NodeQuery(
        group=filters.get("group"),
        rack=filters.get("rack"),
        standing=filters.get("standing"),
        text=filters.get("q"),
        columns={name: filters[name] for name in _BY_TEXT if name in filters},
        sort=table.sort,
        descending=table.descending,
        limit=NODES_SHOWN,
        after=table.after,
        with_states=True,
    )

    def values() -> dict[str, Any]:
        refused = ""
        try:
            found = _with_states(site_nodes(store, site, query))
        except ValueRefused as error:
            if not filters:
                raise
            # A person who types reads it where the nodes would stand, and types on.
            found, refused = {"nodes": [], "after": None, "total": 0}, str(error)
        return {**table.values(), "found": found, "refused": refused, "filtered": bool(filters)}

    asked_for = {name: value for name, value in request.query_params.items() if name != "part"}
    url = f"{page}/nodes?{urlencode({**asked_for, 'part': 'live'})}"
    return url, values


def _with_states(found: dict[str, Any]) -> dict[str, Any]:
    """Say of each node of a page what is published of it and what an administrator set, where it is not up."""
    for node in found["nodes"]:
        states, said = node["states"], []
        if states.user is not None:
            said.append(("set", states.user, states.user_why or ""))
        if states.published not in (None, NodeAvailability.UP):
            said.append(("published", states.published, states.published_why or ""))
        node["states"] = said
    return found


STATES_SHOWN: Final = 50
VERSIONS_SHOWN: Final = 10
STATE_COLUMNS: Final = (
    Column("node", "Node"),
    Column("state", "Published"),
    Column("since", "Since (UTC)"),
    Column("why", "Why", sorted=False),
    Column("reported", "Reported"),
    Column("user", "Set"),
    Column("crashes", "Crashes"),
    Column("rack", "Rack"),
)
_ASKED_STATES: Final = ("q", "group", *FILTERED_BY)
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
    filters = asked(request, _ASKED_STATES)
    before = _version_of(request.query_params.get("versions_before", ""))
    view = shown_view(store, site, VERSIONS_SHOWN, before)
    if view is None:
        refuse_unknown_site(store, site)
    fresh = {"site": site, "may_set": may_set, "filters": filters}

    def values() -> Mapping[str, Any]:
        return {"view": view, "versions_before": before, **_states(request, store, site, filters, view)}

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


def _states(request: Request, store: Store, site: str, filters: Mapping[str, str], view: ShownView) -> dict[str, Any]:
    address = f"{request.scope.get('root_path', '')}/ui/sites/{segment(site)}/states"
    # The most crashes and the newest states are looked for first.
    table = AskedTable(address, STATE_COLUMNS, filters, **asked_order(request, "state"), downward=("crashes", "since"))
    query = StateQuery(
        text=filters.get("q", ""),
        group=filters.get("group"),
        columns={name: filters[name] for name in FILTERED_BY if name in filters},
        sort=table.sort,
        descending=table.descending,
        limit=STATES_SHOWN,
        after=table.after,
        taken_down=taken_down_by_groups(store, site, view.judging),
    )
    return {
        **table.values(),
        "found": store.state_table.page(site, query),
        "most_counted": MOST_COUNTED,
        "state_link": lambda state: f"{address}?{urlencode({'state': state})}",
    }


def _version_of(text: str) -> Version | None:
    return Version(*map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,18}\.[0-9]{1,18}", text) else None
