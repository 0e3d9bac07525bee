"""A baremetal node as selectors see it, and the one state it has in a deployment (rule 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

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


def label_text(value: object) -> str | None:
    """Return the text of a label's value, None when it is neither text, number nor truth value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return None
