"""A baremetal node as selectors see it, and the one state it has in a deployment (rule 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from strategy_lib.errors import InventoryError, Problem
from strategy_lib.parsing.json_path import extend
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.strategy import NodeChoice

NO_TAGS: frozenset[str] = frozenset()
NO_LABELS: Mapping[str, str] = MappingProxyType({})


class NodeState(StrEnum):
    """State of a node in one deployment, shared by all its groups (rule 10)."""

    NOT_STARTED = "not_started"
    PREPARING = "preparing"
    PREPARED = "prepared"
    DEPLOYING = "deploying"
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the site.

    Attributes
    ----------
    name : unique in the site.
    tags : tags of the node.
    labels : labels (Airship calls them owner data): key to value.
    rack : name of the rack, None where the design gives none.
    depends_on_nodes : nodes that it waits for before it is deployed (rule 39).
    """

    name: str
    tags: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS, hash=False)
    rack: str | None = None
    depends_on_nodes: tuple[NodeChoice, ...] = ()


class TaskStatus(StrEnum):
    """Status of one node's one phase, as the store keeps it. `WITHHELD`: not to be submitted, and why is said."""

    PENDING = "pending"
    WITHHELD = "withheld"
    PROCESSING = "processing"
    SUCCESS = "success"
    ERROR = "error"
    UNKNOWN = "unknown"


_FROM_PREPARE = {
    TaskStatus.PENDING: NodeState.NOT_STARTED,
    TaskStatus.WITHHELD: NodeState.NOT_STARTED,
    TaskStatus.PROCESSING: NodeState.PREPARING,
    TaskStatus.SUCCESS: NodeState.PREPARED,
    TaskStatus.ERROR: NodeState.FAILURE,
    TaskStatus.UNKNOWN: NodeState.UNKNOWN,
}
_FROM_DEPLOY = {
    TaskStatus.PROCESSING: NodeState.DEPLOYING,
    TaskStatus.SUCCESS: NodeState.SUCCESS,
    TaskStatus.ERROR: NodeState.FAILURE,
    TaskStatus.UNKNOWN: NodeState.UNKNOWN,
}


def node_state(prepare: TaskStatus, deploy: TaskStatus, ready: TaskStatus = TaskStatus.PENDING) -> NodeState:
    """Return the state of a node from the status of its phases (rule 10).

    Deploy comes after prepare: once deploy was submitted, it alone decides. Only nodes that were deployed are asked
    whether they are ready; one that was not ready in time has failed (rule 58).
    """
    if ready in (TaskStatus.ERROR, TaskStatus.UNKNOWN):
        return _FROM_DEPLOY[ready]
    if deploy in (TaskStatus.PENDING, TaskStatus.WITHHELD):
        return _FROM_PREPARE[prepare]
    return _FROM_DEPLOY[deploy]


def nodes_from_inventory(inventory: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Return the nodes of a plain list: `[{"name": "n1", "tags": [], "labels": {"k": "v"}, "rack": "r1"}]`.

    Only `name` is required; `depends_on_nodes` names the nodes that one waits for.

    Raises `InventoryError` with every problem: wrong types, unknown fields, names that are there twice.
    """
    problems = check_data("node_inventory", inventory, root="$")
    if problems:
        raise InventoryError(problems)
    nodes: dict[str, Node] = {}
    tag_sets: dict[tuple[str, ...], frozenset[str]] = {(): NO_TAGS}
    texts: dict[tuple[Any, ...], Mapping[str, str]] = {(): NO_LABELS}
    for position, entry in enumerate(inventory):
        name = entry["name"]
        if name in nodes:
            message = f"there is already a node {name!r}; names must be unique"
            problems.append(Problem(extend("$", position, "name"), message))
        tags = tuple(entry.get("tags") or ())
        # Thousands of nodes have the same few tags and labels; one set serves them all.
        tag_set = tag_sets.get(tags)
        if tag_set is None:
            tag_set = tag_sets[tags] = frozenset(tags)
        labels = entry.get("labels") or {}
        # The types belong to it: 1 and true are equal, and have different texts.
        of_labels = (*labels.items(), *map(type, labels.values()))
        label_set = texts.get(of_labels)
        if label_set is None:
            label_set = texts[of_labels] = label_texts(labels)
        needed = tuple(entry.get("depends_on_nodes") or ())
        nodes[name] = Node(name, tag_set, label_set, entry.get("rack"), needed)
    if problems:
        raise InventoryError(problems)
    return list(nodes.values())


def label_texts(labels: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return labels with the text of each value."""
    if not labels:
        return NO_LABELS
    return {key: value if type(value) is str else str(label_text(value)) for key, value in labels.items()}


def label_text(value: object) -> str | None:
    """Return the text of a label's value, None when it is neither text, number nor truth value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return None
