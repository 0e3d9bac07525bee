"""How the two task rows of a node (prepare, deploy) read as the one state of that node (rule 10)."""

from __future__ import annotations

from enum import StrEnum

from strategy_lib.node import NodeState


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


def node_state(prepare: TaskStatus, deploy: TaskStatus) -> NodeState:
    """Return the state of a node from the status of its two phases (rule 10).

    Deploy comes after prepare: once deploy was submitted, it alone decides.
    """
    if deploy in (TaskStatus.PENDING, TaskStatus.WITHHELD):
        return _FROM_PREPARE[prepare]
    return _FROM_DEPLOY[deploy]
