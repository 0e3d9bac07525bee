"""What the store hands out of nodes: a node of a site, and what an action does to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of a site: what is wanted of it and what was last done to it. It is up to date when the digests agree.

    `op` is the newest operation that touched it; `done_*` is empty from the moment a node is claimed until the same
    operation's deploy has succeeded; a node that was found deployed keeps it until it is claimed to be destroyed.
    `condition` is what the provisioner last said of it, `doubt` why what is recorded as done is not believed.

    `wanted_version` grows with each wanted digest and each touch; `touched` is the one at which a person asked for the
    node again; `done_version` and `error_version` are the wanted versions that were handed out with the operation.
    `failures` counts tries since the last success, new version or touch; `next_try` is when the next one is due.
    `depends_on` are nodes that it waits for by its metadata; `digest_version` is that of what goes into the digests,
    and `version` that of the record itself.

    `standing` is how it stands in its site, of the seven words; `status`, `error` and `fixed` are how its newest
    operation left it, and `error_revision` and `error_action` what the error was about. `provisioner_status` and
    `power` are the provisioner's own words in the list that was read at `listed_at`; `owner` is who is expected to
    work on it.
    """

    site: str
    name: str
    wanted_revision: int | None
    wanted_digest: str | None
    op: int | None
    done_revision: int | None
    done_digest: str | None
    done_at: datetime | None
    condition: str | None
    doubt: str | None = None
    owner: str | None = None
    status: str | None = None
    error: str | None = None
    error_revision: int | None = None
    error_action: str | None = None
    fixed: str | None = None
    first_updated: datetime | None = None
    last_updated: datetime | None = None
    rack: str | None = None
    provisioner_status: str | None = None
    power: str | None = None
    listed_at: datetime | None = None
    standing: str = "pending"
    wanted_version: int | None = None
    touched: int | None = None
    touched_by: str | None = None
    done_version: int | None = None
    error_version: int | None = None
    failures: int = 0
    next_try: datetime | None = None
    digest_version: int | None = None
    depends_on: Sequence[str] | None = None
    version: int = 1

    @property
    def is_asked_for_again(self) -> bool:
        """Whether a person asked for it again since it was last done (`touch`)."""
        return self.touched is not None and (self.done_version is None or self.done_version < self.touched)

    @property
    def is_up_to_date(self) -> bool:
        """Whether what was done is what is wanted, beyond doubt, and nobody asked for it again since."""
        same = self.wanted_digest is not None and self.wanted_digest == self.done_digest and self.doubt is None
        return same and not self.is_asked_for_again
