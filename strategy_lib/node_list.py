"""The nodes of a site from a plain list, as `simulate` and files of nodes have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from strategy_lib.errors import InventoryError, Problem
from strategy_lib.json_path import extend
from strategy_lib.node import Node
from strategy_lib.schema_check import check_data
from strategy_lib.strategy import label_text

NO_TAGS: frozenset[str] = frozenset()
NO_LABELS: Mapping[str, str] = MappingProxyType({})


def nodes_from_inventory(inventory: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Return the nodes of a plain list: `[{"name": "n1", "tags": [], "labels": {"k": "v"}, "rack": "r1"}]`.

    Only `name` is required.

    Raises
    ------
    InventoryError
        With every problem: wrong types, unknown fields, names that are there twice.
    """
    problems = check_data("node_inventory", inventory, root="$")
    if problems:
        raise InventoryError(problems)
    nodes: dict[str, Node] = {}
    tag_sets: dict[tuple[str, ...], frozenset[str]] = {(): NO_TAGS}
    for position, entry in enumerate(inventory):
        name = entry["name"]
        if name in nodes:
            message = f"there is already a node {name!r}; names must be unique"
            problems.append(Problem(extend("$", position, "name"), message))
        tags = tuple(entry.get("tags") or ())
        # Thousands of nodes have the same few tags; one set serves them all.
        tag_set = tag_sets.get(tags)
        if tag_set is None:
            tag_set = tag_sets[tags] = frozenset(tags)
        nodes[name] = Node(name, tag_set, label_texts(entry.get("labels")), entry.get("rack"))
    if problems:
        raise InventoryError(problems)
    return list(nodes.values())


def label_texts(labels: Mapping[str, Any] | None) -> Mapping[str, str]:
    if not labels:
        return NO_LABELS
    return {key: value if type(value) is str else str(label_text(value)) for key, value in labels.items()}
