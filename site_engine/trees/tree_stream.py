"""Whole status trees as a stream of entries, however large: never more than a page of nodes is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from site_engine.kinds import DEPLOY_GROUP
from site_engine.trees.action import judges_of, reports_of_action
from site_engine.trees.owners import Owners
from site_engine.trees.reported import SEPARATOR, Reports, by_parent
from site_engine.trees.site import node_entry
from site_engine.trees.status_trees import WHOLE, action_tree, site_tree
from site_store import NodeQuery
from strategy_lib.status.entry import entry_to_dict
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import SiteStore
    from strategy_lib.status.entry import Entry


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
