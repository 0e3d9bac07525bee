"""Whole status trees as a stream of entries, however large: never more than a page of nodes is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from site_engine.actions.kinds import DEPLOY_GROUP
from site_engine.status_trees import action_tree, site_tree
from site_engine.trees.nodes import action_nodes
from site_engine.trees.owners import Owners
from site_engine.trees.site import node_entry
from site_store import NodeQuery, SitePart
from strategy_lib.status.entry import entry_to_dict

if TYPE_CHECKING:
    from site_store import SiteStore


def walk_action(store: SiteStore, action_id: str, page: int = 1000) -> Iterator[dict[str, Any]]:
    """Yield the whole tree of an action, one entry at a time without its children, each with its `path`.

    First the header as `{"header": …}`, then the entries down to the phases, then the nodes in pages: never the whole
    at once. Each page is judged by itself, at the moment when it is read.

    Raises
    ------
    site_store.ActionNotFound : no action has this id.
    """
    tree = action_tree(store, action_id)
    yield {"token": tree.token, "read_at": tree.read_at.isoformat(), "header": tree.header}
    yield from _flat(entry_to_dict(tree.root, now=tree.read_at), [])
    after: Sequence[str] | None = None
    while True:
        found = action_nodes(store, action_id, limit=page, after=after)
        for node in found["nodes"]:
            group, phase = node.pop("group"), node.pop("phase")
            path = [DEPLOY_GROUP, group, phase] if group else [phase]
            yield {"path": [*path, node["name"]], **node}
        after = found["after"]
        if after is None:
            return


def walk_site(store: SiteStore, site: str, page: int = 1000) -> Iterator[dict[str, Any]]:
    """Yield the whole standing tree of a site in the same way; a node stands under each of its groups."""
    tree = site_tree(store, site)
    yield {"token": tree.token, "read_at": tree.read_at.isoformat(), "header": tree.header}
    yield from _flat(entry_to_dict(tree.root, now=tree.read_at), [])
    query: NodeQuery | None = NodeQuery(limit=page)
    while query is not None:
        found = store.site_nodes.page(site, query)
        owners = Owners(found.owners, found.read_at)
        for node in found.nodes:
            under = node.groups if node.place is SitePart.GROUPED else (node.place.value,)
            shown = node_entry(node, owners, found.default_owner)
            for group in under:
                yield {"path": [group, node.node], **entry_to_dict(shown, now=found.read_at)}
        query = NodeQuery(limit=page, after=found.after) if found.after is not None else None


def _flat(entry: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
    children = entry.pop("children", ())
    yield {"path": path, **entry}
    for child in children:
        yield from _flat(child, [*path, child["name"]])
