"""How sites and actions stand: the status trees, judged at the moment of the reading from facts of one snapshot.

Commands, routes and pages call the functions of this module alone. They ask nobody but the store (rule 36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from site_engine.kinds import DEPLOY_GROUP
from site_engine.trees.action import action_entry, action_header, judges_of, reports_of_action
from site_engine.trees.action_groups import Groups
from site_engine.trees.action_steps import Steps
from site_engine.trees.nodes import TROUBLED, leaves_to_dict, place_of
from site_engine.trees.owners import Owners
from site_engine.trees.reported import SEPARATOR, Reports, by_parent
from site_engine.trees.site import first_line_of, node_entry, reports_of_site, site_entry, site_header
from site_store import ActionFacts, ActionRecord, LeafFacts, NodeQuery, SiteFacts, SiteStore
from site_store.trees.tree_facts import LeafPage, OperationSpan
from strategy_lib.status.entry import Entry, entry_to_dict
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED

SITE_DEPTH = 1
"""Levels below a site down to its groups; its nodes are one further down."""
ACTION_DEPTH = 3
"""Levels below an action down to the phases of its groups; their nodes are one further down."""
MOST_LEAVES = 1000
"""At most this many nodes are in a tree, the worst of each group first, unless the whole is asked for."""
WHOLE = 1 << 60
"""More than there are of anything."""


@dataclass(frozen=True, slots=True)
class StatusTree:
    """A tree as it was at one moment.

    Attributes
    ----------
    token : the change token of what it was judged from: while it is the same, the tree is the same.
    read_at : the moment, by the database's clock.
    header : what stands above the tree, plain data.
    root : the tree.
    own : the same without what reporters say.
    reports : what reporters say.
    """

    token: str
    read_at: datetime
    header: dict[str, Any]
    root: Entry
    own: Entry
    reports: Reports


def site_tree(store: SiteStore, site: str, depth: int | None = SITE_DEPTH) -> StatusTree:
    """Return how a site stands, without any action: wanted against done.

    Parameters
    ----------
    site : its name. One that nothing is known of has a tree without a status.
    depth : how many levels below the site: 1 for the groups, 2 for the nodes; None for everything there is.
    """
    leaves = 0
    if depth is None:
        leaves = WHOLE
    elif depth > SITE_DEPTH:
        leaves = MOST_LEAVES
    return _of_site(store.trees.site(site, nodes=leaves))


def site_trees(store: SiteStore, sites: Collection[str], *, messages: bool = True) -> list[StatusTree]:
    """Return how several sites stand, without their nodes, in the same order and by the same few statements.

    Parameters
    ----------
    messages : with what failed nodes say; without, the same is read in half the time.
    """
    return [_of_site(facts) for facts in store.trees.sites(sites, troubles=messages)]


def _of_site(facts: SiteFacts) -> StatusTree:
    own, reports = site_entry(facts), reports_of_site(facts)
    root = _with(own, reports)
    header = {**site_header(facts), **first_line_of(facts, root).to_data()}
    return StatusTree(facts.token, facts.read_at, header, root, own, reports)


def _with(own: Entry, reports: Reports) -> Entry:
    """Return a tree with what reporters say; nothing stands below one of which no facts are kept."""
    return own if own.status is None else reports.added_to(own)


def action_tree(
    store: SiteStore, action_id: str, depth: int | None = ACTION_DEPTH, shown: ActionRecord | None = None
) -> StatusTree:
    """Return how an action stands.

    Parameters
    ----------
    depth : how many levels below the action: 1 for the steps, 2 for the groups, 3 for their phases, 4 for the nodes;
        None for everything there is. The nodes of a step on nodes are two levels below the action.
    shown : the action as it is to be shown, where that is not as it is kept: its run may be gone.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    leaves = WHOLE if depth is None else MOST_LEAVES if depth > ACTION_DEPTH else 0
    facts = store.trees.action(action_id, leaves=leaves)
    return _of_action(facts if shown is None else replace(facts, action=shown))


@dataclass(frozen=True, slots=True)
class WholeAction:
    """How an action stands, with what its page shows beside the tree, all of one moment.

    Nodes are as `site_engine.trees.nodes.action_nodes` returns them.

    Attributes
    ----------
    troubled : the first of its nodes that failed.
    step_nodes : the first nodes of its steps on nodes, which are in no group.
    spans : when its operations were at work.
    """

    tree: StatusTree
    troubled: Sequence[Mapping[str, Any]]
    step_nodes: Mapping[str, Any]
    spans: Sequence[OperationSpan]


def whole_action(store: SiteStore, action_id: str, most_troubled: int, most_nodes: int) -> WholeAction:
    """Return what the page of an action shows.

    Parameters
    ----------
    most_troubled, most_nodes : how many tasks of nodes that failed, and of steps on nodes, at most.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    page, troubled = store.trees.group_with_troubles(
        action_id, "", most_nodes, None, TROUBLED, most_troubled, whole=True
    )
    tree, nodes, failed = _of_page(page, troubled)
    return WholeAction(tree, failed, nodes, page.facts.spans)


def action_tree_with_group(
    store: SiteStore,
    action_id: str,
    group: str,
    limit: int,
    after: Sequence[str] | None = None,
    most_troubled: int = 0,
) -> tuple[StatusTree, dict[str, Any], list[dict[str, Any]]]:
    """Return how an action stands, a page of the nodes of one of its groups, and its first nodes that failed.

    All are of one moment. Nodes are as `site_engine.trees.nodes.action_nodes` returns them.

    Parameters
    ----------
    group : "" for the nodes of steps on nodes.
    limit, after : of the page: how many tasks of nodes, and what the page before said.
    most_troubled : how many tasks that failed at most.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    behind = place_of(after)
    return _of_page(*store.trees.group_with_troubles(action_id, group, limit, behind, TROUBLED, most_troubled))


def _of_page(page: LeafPage, troubled: Sequence[LeafFacts]) -> tuple[StatusTree, dict[str, Any], list[dict[str, Any]]]:
    """Return how an action stands, with a page of its nodes, and of these that failed."""
    facts = replace(page.facts, leaves=())
    judges = judges_of(facts)
    failed = leaves_to_dict(LeafPage(replace(facts, leaves=troubled), None), judges[1])["nodes"]
    return _of_action(facts, judges), leaves_to_dict(page, judges[1]), failed


def _of_action(facts: ActionFacts, judges: tuple[Steps, Groups] | None = None) -> StatusTree:
    judges = judges_of(facts) if judges is None else judges
    own, reports = action_entry(facts, judges), reports_of_action(facts, judges[0])
    return StatusTree(facts.token, facts.read_at, action_header(facts), _with(own, reports), own, reports)


def action_trees(store: SiteStore, action_ids: Collection[str]) -> list[StatusTree]:
    """Return how several actions stand, without their nodes, newest first; ids of no action are left out."""
    return [_of_action(facts) for facts in store.trees.actions(action_ids)]


def newest_action_trees(
    store: SiteStore, site: str, dags: Collection[str], limit: int, before: str | None = None
) -> list[tuple[ActionRecord, StatusTree]]:
    """Return how the newest actions of a site stand, of these DAGs, newest first and without their nodes.

    Parameters
    ----------
    limit : how many at most.
    before : only those older than the action of this id, for the next page.
    """
    return [(facts.action, _of_action(facts)) for facts in store.trees.newest_actions(site, dags, limit, before)]


def tree_to_dict(tree: StatusTree, depth: int | None = None) -> dict[str, Any]:
    """Return a tree as plain data, as `schemas/status_tree.json` describes it.

    Parameters
    ----------
    depth : how many levels below the root are included; None: all that was read.
    """
    return {
        "token": tree.token,
        "read_at": tree.read_at.isoformat(),
        "header": tree.header,
        "root": entry_to_dict(tree.root, now=tree.read_at, depth=depth),
    }


def walk_action(store: SiteStore, action_id: str, page: int = 1000) -> Iterator[dict[str, Any]]:
    """Yield the whole tree of an action, one entry at a time without its children, each with its `path`.

    First the header as `{"header": …}`, then the entries down to the phases, then the nodes in pages: never the whole
    at once. Each page is judged by itself, at the moment when it is read.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    tree = action_tree(store, action_id)
    yield {"token": tree.token, "read_at": tree.read_at.isoformat(), "header": tree.header}
    yield from _flat(entry_to_dict(tree.root, now=tree.read_at), [])
    above = set(_paths(tree.root))
    after: tuple[str, str, str] | None = None
    while True:
        found = store.trees.group_nodes(action_id, limit=page, after=after)
        steps, groups = judges_of(found.facts)
        reports = reports_of_action(found.facts, steps)
        for leaf in found.facts.leaves:
            path = (DEPLOY_GROUP, leaf.group, leaf.phase) if leaf.group else (leaf.phase,)
            # What came into the plan since is in the next reading, with the entries above it.
            if path in above:
                yield from _node(reports, groups.tasks.leaf_entry(leaf), path, found.facts.read_at)
        after = found.after
        if after is None:
            return


def walk_site(store: SiteStore, site: str, page: int = 1000) -> Iterator[dict[str, Any]]:
    """Yield the whole standing tree of a site in the same way; a node stands under each of its groups."""
    tree = site_tree(store, site)
    yield {"token": tree.token, "read_at": tree.read_at.isoformat(), "header": tree.header}
    yield from _flat(entry_to_dict(tree.root, now=tree.read_at), [])
    above = set(_paths(tree.root))
    leaves = by_parent(store.reporters.reported(site, limit=WHOLE))
    query: NodeQuery | None = NodeQuery(limit=page)
    while query is not None:
        found = store.site_nodes.page(site, query)
        owners = Owners(found.owners, found.read_at)
        reports = Reports(leaves, owners, wanted=tree.header["revision_committed"])
        for node in found.nodes:
            under = (TO_BE_REMOVED,) if node.wanted_digest is None else node.groups or (NO_GROUP,)
            shown = node_entry(node, owners, found.default_owner)
            for group in under:
                if (group,) in above:
                    yield from _node(reports, shown, (group,), found.read_at)
        query = NodeQuery(limit=page, after=found.after) if found.after is not None else None


def _paths(entry: Entry, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for child in entry.children:
        yield from _paths(child, (*path, child.name))


def _node(reports: Reports, entry: Entry, above: tuple[str, ...], now: datetime) -> Iterator[dict[str, Any]]:
    """Yield a node, and the leaves of reporters below it."""
    path = [*above, entry.name]
    yield from _flat(entry_to_dict(reports.added_to(entry, SEPARATOR.join(path)), now=now), path)


def _flat(entry: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
    children = entry.pop("children", ())
    yield {"path": path, **entry}
    for child in children:
        yield from _flat(child, [*path, child["name"]])
