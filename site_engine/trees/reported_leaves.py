"""Where a reporter may put its leaves: below entries that the tree has, and under names that no entry has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from site_engine.kinds import DEPLOY_GROUP, kind_of
from site_engine.trees.reported import SEPARATOR
from site_engine.trees.status_trees import action_tree, site_tree
from site_store import SiteStore
from strategy_lib.status.entry import Entry, EntryKind

Place = tuple[str, str]
"""The path of the entry that a leaf stands below, and its name."""


class Misplaced(NamedTuple):
    """Which of the places of a reporter's leaves cannot be.

    `missing`: paths that lead to no entry. `taken`: places where an entry of Slipway's own stands.
    """

    missing: list[str]
    taken: list[Place]


def find_misplaced(store: SiteStore, site: str, action_id: str, places: Collection[Place]) -> Misplaced:
    """Return which places cannot be, in the tree of an action, or ("") in that of the site.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    tree = action_tree(store, action_id) if action_id else site_tree(store, site)
    known = set(_paths(tree.root, ""))
    parents = {parent for parent, _ in places}
    deeper = {(above, node) for above, _, node in (one.rpartition(SEPARATOR) for one in parents - known)}
    asked = {(above, node) for above, node in deeper | set(places) if above in known}
    nodes = _nodes_of_action(store, action_id, asked) if action_id else _nodes_of_site(store, site, asked)
    missing = sorted(one for one in parents - known if tuple(one.rpartition(SEPARATOR)[::2]) not in nodes)
    taken = sorted(one for one in set(places) if one in nodes or SEPARATOR.join(filter(None, one)) in known)
    return Misplaced(missing, taken)


def _paths(entry: Entry, path: str) -> Iterator[str]:
    yield path
    for child in entry.children:
        if child.kind is not EntryKind.REPORTED:
            yield from _paths(child, f"{path}{SEPARATOR}{child.name}".strip(SEPARATOR))


def _nodes_of_site(store: SiteStore, site: str, asked: Collection[Place]) -> set[Place]:
    """Return which of these are a group and a node that stands directly below it."""
    standing = store.site_nodes.places_of(site, {node for _, node in asked})
    return {(above, node) for above, node in asked if above in standing.get(node, ())}


def _nodes_of_action(store: SiteStore, action_id: str, asked: Collection[Place]) -> set[Place]:
    """Return which of these are a phase, or a step on nodes, and a node that stands directly below it."""
    steps = {step.value: step for step in kind_of(store.actions.get(action_id).kind).node_steps}
    members: dict[str, Collection[str]] = {}
    for above in {above for above, _ in asked}:
        names = above.split(SEPARATOR)
        if len(names) == 3 and names[0] == DEPLOY_GROUP:
            members[above] = frozenset(store.groups.get(action_id, names[1]).nodes)
        elif above in steps:
            members[above] = frozenset(name for name, _ in store.tasks.of_step(action_id, steps[above]))
    return {(above, node) for above, node in asked if node in members.get(above, ())}
