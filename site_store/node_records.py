"""What the store hands out of nodes: a node of a site, and what an action does to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One phase of one node in an action: which operation has it, and what came of it.

    `owner` is who is expected to do it, `fixed` what had to be repeated before it succeeded, and when.
    """

    status: TaskStatus
    owner_group: str | None = None
    op: int | None = None
    error: str | None = None
    provisioner_task: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    owner: str | None = None
    fixed: str | None = None

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has come of it: it stands there since the action was planned."""
        return self.status is TaskStatus.PENDING and self.error is None


@dataclass(frozen=True, slots=True)
class NodeTasks:
    """A node in an action: its phases, the groups that it is in, and the state they add up to (rule 10).

    `ready` is None where no group of the node asks whether it is ready.
    """

    node: str
    groups: tuple[str, ...]
    prepare: TaskRecord
    deploy: TaskRecord
    state: NodeState
    ready: TaskRecord | None = None


@dataclass(frozen=True, slots=True)
class OthersAtWork:
    """The nodes of a group as one of its attempts sees them, while other groups are at work beside it (rule 11).

    Attributes
    ----------
    states : of each node (rule 10).
    phases : nodes that another group has in hand at this moment, each with the phase.
    ops : the operations that have them in hand.
    """

    states: Mapping[str, NodeState]
    phases: Mapping[str, Phase] = field(default_factory=dict)
    ops: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Readiness:
    """Nodes of a group that were deployed, and are to be ready (rule 58).

    Attributes
    ----------
    awaited : it is not known yet whether they are.
    not_ready : they were not ready in time, or nobody asked them to the end.
    """

    awaited: frozenset[str] = frozenset()
    not_ready: frozenset[str] = frozenset()
