"""Which nodes Drydock's boot actions are for: their node filters over the nodes of a design.

Inside one criterion one value has to fit. Between the criteria of a filter, and between filters, it is as their types
say. A filter that cannot be read counts as one for all nodes: rather too many nodes differ than too few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from design_rendering.reading.documents import Document
from strategy_lib.node import Node, label_text

_LISTS = ("node_names", "node_tags", "rack_names")


def boot_actions_of_nodes(boot_actions: Iterable[Document], nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Return for each node the names of the boot actions that are for it, in the order of the documents."""
    found: dict[str, list[str]] = {node.name: [] for node in nodes}
    for document in boot_actions:
        data = document.data if isinstance(document.data, Mapping) else {}
        for name in _selected(data.get("node_filter"), nodes):
            found[name].append(document.name)
    return found


def _selected(node_filter: object, nodes: Sequence[Node]) -> Iterable[str]:
    everyone = [node.name for node in nodes]
    if not isinstance(node_filter, Mapping) or not isinstance(node_filter.get("filter_set"), list):
        return everyone
    parts = [_selected_by_one(one, nodes) for one in node_filter["filter_set"]]
    found = _joined(parts, node_filter.get("filter_set_type"))
    return everyone if found is None else found


def _selected_by_one(one: object, nodes: Sequence[Node]) -> set[str] | None:
    """Return the nodes of one filter; None: it says nothing that a provisioner would understand."""
    if not isinstance(one, Mapping):
        return None
    parts: list[set[str] | None] = []
    for criterion in _LISTS:
        values = one.get(criterion)
        if values and not isinstance(values, list):
            return None
        if values:
            wanted = {value for value in values if isinstance(value, str)}
            parts.append({node.name for node in nodes if not wanted.isdisjoint(_values(node, criterion))})
    labels = one.get("node_labels")
    if labels and not isinstance(labels, Mapping):
        return None
    if labels:
        pairs = {(key, label_text(value)) for key, value in labels.items()}
        parts.append({node.name for node in nodes if not pairs.isdisjoint(node.labels.items())})
    return _joined(parts, one.get("filter_type"))


def _joined(parts: Sequence[set[str] | None], how: Any) -> set[str] | None:
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts) or how not in ("union", "intersection"):
        return None
    return set.union(*known) if how == "union" else set.intersection(*known)


def _values(node: Node, criterion: str) -> Iterable[str]:
    if criterion == "node_names":
        return (node.name,)
    if criterion == "node_tags":
        return node.tags
    return () if node.rack is None else (node.rack,)
