"""The list of sites, where a person begins; the pages of one (groups and actions, a revision, its plan); and owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from site_engine.kinds import KINDS
from site_engine.monitoring.owners import OwnerView, list_owners
from site_engine.plans.plan import next_kind, next_step
from site_engine.plans.site_plans import plan_site
from site_engine.trees.status_trees import StatusTree, newest_action_trees, site_tree, site_trees
from site_store import SiteStore
from slipway_api.documents.differences import differences
from slipway_api.http import airflow_access as access
from slipway_api.http.dependencies import Store, refuse_unknown_site, require_site
from slipway_api.pages.drawings import group_graph
from slipway_api.pages.nodes import asked, kept, nodes_part, token_of
from slipway_api.pages.rendering import live_page, page, page_router, render
from slipway_api.pages.wording import reported_leaves, segment
from slipway_api.sites.site_plans import shown_plan
from strategy_lib.goals.update import Deed, fold_nodes, waits
from strategy_lib.status.entry import EntryKind
from strategy_lib.status.site import NOT_YET, TROUBLES
from strategy_lib.status.words import Status

router = page_router()

SITES_SHOWN = 100
ACTIONS_SHOWN = 20
REVISIONS_SHOWN = 20
MOST_FIELDS = 500
"""Differing fields on a revision's page."""


@router.get("/", dependencies=[access.may_read])
def sites(request: Request, store: Store, caller: access.CallerDep) -> Response:
    """Show the sites by name, so many at once, and whether repair is stopped on all of them."""
    after = request.query_params.get("after", "")

    def values() -> dict[str, Any]:
        names, switches = store.sites.known_with_switches(after)
        shown = names[:SITES_SHOWN]
        more = len(names) - len(shown)
        trees = site_trees(store, shown)
        listed = {"trees": trees, "more": more, "next": shown[-1] if more else "", "after": after}
        return {**listed, "switches": switches}

    fresh = {"may_control": caller.may_control(access.COMMIT_DAG)}
    return live_page(request, store, "sites.html", token=None, reader="", values=values, fresh=fresh)


@router.get("/sites/{site}", dependencies=[access.may_read])
def site(
    request: Request,
    site: str,
    store: Store,
    caller: access.CallerDep,
    actions_before: Annotated[str | None, Query(max_length=64)] = None,
    revisions_before: Annotated[int | None, Query()] = None,
) -> Response:
    """Show a site; with the newest actions and revisions, or those that are older than the ones that are named."""
    token = token_of(store, site)
    may = frozenset(kind for kind in KINDS if caller.may_create(kind))
    readable = frozenset(kind for kind in KINDS if caller.may_read(kind))
    root = request.scope.get("root_path", "")

    def values() -> dict[str, Any]:
        return _site_values(store, site, readable, root, actions_before, revisions_before)

    control = caller.may_control(access.COMMIT_DAG)
    reader = " ".join((*sorted(may), "|", *sorted(readable), "|", str(control)))
    fresh = {"site": site, "may": may, "may_control": control}

    def rest() -> dict[str, Any]:
        url, read = nodes_part(request, store, site)
        shown = {"nodes": render(request, "live/nodes.html", {"site": site, **read()}), "nodes_url": url}
        return {**shown, "filters": asked(request), "kept": kept(request), "statuses": list(Status)}

    return live_page(request, store, "site.html", token=token, reader=reader, values=values, fresh=fresh, rest=rest)


@router.get("/sites/{site}/revisions/{number}", dependencies=[access.may_read])
def revision(request: Request, site: str, number: int, store: Store) -> Response:
    """Show what a revision changed: its documents and fields against those of the revision before it."""
    require_site(store, site)
    record = store.revisions.get(site, number)
    before = number - 1
    found = differences(store, site, before, number, rendered=False) if before > 0 else None
    fields = [
        (document, field)
        for document in (found["documents"] if found else ())
        for field in (document["fields"] or [None])
    ]
    values = {
        "site": site,
        "revision": record,
        "before": before,
        "differences": found,
        "fields": fields[:MOST_FIELDS],
        "left_out": max(0, len(fields) - MOST_FIELDS),
    }
    return page(request, "revision.html", values)


@router.get("/sites/{site}/plan", dependencies=[access.may_read])
def site_plan(request: Request, site: str, store: Store) -> Response:
    """Show what an update of a site would do, by the provisioner's list that was read last (rule 36); no button."""
    found = plan_site(store, site)
    if not found.is_known:
        refuse_unknown_site(store, site)
    step = next_step(found)
    is_done = found.counts[Deed.LEAVE] == sum(found.counts.values())
    command = step.command(site) if step is not None and not is_done else ""
    values = plan_values(shown_plan(found, with_unchanged=False, step=step))
    return page(request, "plan.html", {**values, "site": site, "command": command})


def plan_values(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `plan.html` shows of a plan, as `ShownPlan` describes it."""
    shown = {"plan": plan, "rows": fold_nodes(plan["nodes"]), "waiting": waits(plan["edges"])}
    return {**shown, "kind": None, "command": "", "outlook": ""}


def _site_values(
    store: SiteStore,
    site: str,
    readable: frozenset[str],
    root: str,
    actions_before: str | None,
    revisions_before: int | None,
) -> dict[str, Any]:
    tree = site_tree(store, site)
    groups = [child for child in tree.root.children if child.kind is EntryKind.GROUP]
    actions = newest_action_trees(store, site, readable, ACTIONS_SHOWN, actions_before)
    card = store.site_cards.get(site, REVISIONS_SHOWN, revisions_before)
    revisions = card.revisions
    place = f"{root}/ui/sites/{segment(site)}?group="
    return {
        "tree": tree,
        "groups": groups,
        "next_kind": _next_kind(tree),
        "wrong": troubled_nodes(tree) if tree.root.status in TROUBLES else {},
        "unwatched": [
            words
            for child in tree.root.children
            if child.kind is EntryKind.WATCHING
            for words in child.messages
            if words != NOT_YET
        ],
        "reported": reported_leaves(tree),
        "repair": card.settings.repair if tree.header["revision_committed"] is not None else None,
        "stopped": card.switch,
        "graph_drawn": group_graph.draw(groups, lambda name: f"{place}{segment(name)}#nodes"),
        "actions": actions,
        "older_actions": actions[-1][0].id if len(actions) == ACTIONS_SHOWN else None,
        "actions_before": actions_before,
        "revisions": revisions,
        "older_revisions": revisions[-1].number if len(revisions) == REVISIONS_SHOWN else None,
        "revisions_before": revisions_before,
    }


def _next_kind(tree: StatusTree) -> str:
    """Return the kind of action that comes next; "" while one is open, and where nothing is to be done."""
    header = tree.header
    committed, done = header["revision_committed"], header["nodes_as_wanted"]
    if header["running"] or committed is None or done == header["nodes"]:
        return ""
    return next_kind(committed, is_done=done > 0)


def troubled_nodes(tree: StatusTree) -> dict[str, list[str]]:
    """Return what is wrong with a site, and with which nodes; without nodes it is the site as a whole."""
    nodes = {
        message: message.split(": ", 1)
        for group in tree.own.children
        if group.kind is EntryKind.GROUP and group.status in (Status.ERROR, Status.UNDEFINED)
        for message in group.messages
        if ": " in message
    }
    found: dict[str, list[str]] = {}
    for message in tree.root.messages:
        name, said = nodes.get(message, ("", message))
        # Some errors begin with the name of their node.
        said = said.removeprefix(f"{name}: ").removeprefix(f"{name} ") if name else said
        found.setdefault(said, []).extend([name] if name else [])
    return {said: list(dict.fromkeys(named)) for said, named in found.items()}


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
            "next": urlencode({"after": shown[-1].name} | ({"there": "1"} if shown[-1].alive else {})) if more else "",
        }

    return live_page(request, store, "owners.html", token=None, reader="", values=values, fresh={})


def _place(owner: OwnerView) -> tuple[bool, str]:
    return owner.alive, owner.name
