"""Where a reporter may put its leaves: below entries that the tree has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from site_engine.actions.kinds import DEPLOY_GROUP, kind_of
from site_engine.status_trees import action_tree, site_tree
from site_engine.trees.reported import SEPARATOR

if TYPE_CHECKING:
    from site_store import SiteStore
    from strategy_lib.status.entry import Entry


def unknown_parents(store: SiteStore, site: str, action_id: str, parents: Collection[str]) -> list[str]:
    """Return which of these paths lead to no entry, in the tree of an action, or ("") in that of the site.

    Raises
    ------
    site_store.ActionNotFound : no action has this id.
    """
    tree = action_tree(store, action_id) if action_id else site_tree(store, site)
    known = set(_paths(tree.root, ""))
    missing = []
    for parent in sorted(set(parents) - known):
        above, _, node = parent.rpartition(SEPARATOR)
        if above not in known or not _has_node(store, site, action_id, above, node):
            missing.append(parent)
    return missing


def _paths(entry: Entry, path: str) -> Iterator[str]:
    yield path
    for child in entry.children:
        yield from _paths(child, f"{path}{SEPARATOR}{child.name}".strip(SEPARATOR))


def _has_node(store: SiteStore, site: str, action_id: str, above: str, node: str) -> bool:
    """Whether a node stands directly below this entry."""
    if not action_id:
        found = store.site_nodes.get(site, node)
        return found is not None and (not found.groups or above in found.groups)
    names = above.split(SEPARATOR)
    if len(names) == 3 and names[0] == DEPLOY_GROUP:
        return node in store.groups.get(action_id, names[1]).nodes
    step = kind_of(store.actions.get(action_id).kind).node_step
    return step is not None and above == step.value and node in dict(store.tasks.of_step(action_id, step))
