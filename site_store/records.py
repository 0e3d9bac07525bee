"""What the store hands out: plain values, read once, never changed and never lazily loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from strategy_lib.groups.group_plan import NO_PLAN, GroupPlan
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import CriterionResult, Group


class ActionState(StrEnum):
    """Where an action is. The last three are ends; only a repetition of its groups leads out of them (rule 23)."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """Whether the action is over."""
        return self not in (ActionState.PENDING, ActionState.RUNNING)


OPEN = (ActionState.PENDING, ActionState.RUNNING)
"""The states of an action that is not over."""


class StepState(StrEnum):
    """Where a step of an action is, in Airflow's words for a task.

    `PENDING`: it has not begun. `DEFERRED` and `RESCHEDULED`: it waits without a process. `AWAITING`: for a person.
    `RETRIED`: this attempt failed, and another one follows.
    """

    PENDING = "pending"
    RUNNING = "running"
    DEFERRED = "deferred"
    RESCHEDULED = "up_for_reschedule"
    AWAITING = "awaiting_input"
    RETRIED = "up_for_retry"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_end(self) -> bool:
        """Whether the attempt is over."""
        return self not in _GOES_ON


_GOES_ON = (
    StepState.PENDING,
    StepState.RUNNING,
    StepState.DEFERRED,
    StepState.RESCHEDULED,
    StepState.AWAITING,
)


class OperationStatus(StrEnum):
    """How far an operation is.

    `INTENDED`: written down, perhaps submitted (a crash may hide it). `SUBMITTED`: its provisioner task is known.
    `COMPLETE`: the provisioner task was seen to be over. `TIMED_OUT`: no longer waited for (rule 14).
    `ABANDONED`: its action ended first (rule 24).
    """

    INTENDED = "intended"
    SUBMITTED = "submitted"
    COMPLETE = "complete"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """One request to do something to a site, and how it went. `revision` is None while the site has none.

    `dry_run`: it changes nothing. `whole_site`: it brings its whole site to the revision. `step` is the one that
    was begun last, `paused` since when no further group is to start. `design_fetch` says at which address of its
    design the provisioner finds it: the first is 0. `connection` is the Airflow connection of its provisioner,
    None before it was decided. `run_id` is None where no DAG run carries the action out; `dag_id` then only names its
    kind. `version` grows with each command and each change of its state. `unknown_state` is what is stored where this
    version does not know it; `state` is `RUNNING` then. The report itself is large, and read by `Reports.get` alone.
    `left_alone` is how many nodes of critical groups a success has neither submitted nor proven. `idle` is how many
    seconds lie between its ends and its next tries.
    """

    id: str
    kind: str
    site: str
    revision: int | None
    parameters: Mapping[str, Any]
    dag_id: str
    run_id: str | None
    user: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    state: ActionState
    verdict: str | None
    has_report: bool
    context_marker: str | None
    dry_run: bool
    whole_site: bool
    step: str | None
    paused: datetime | None
    connection: str | None = None
    design_fetch: int = 0
    version: int = 1
    unknown_state: str = ""
    left_alone: int = 0
    idle: float = 0.0

    @property
    def stored_state(self) -> str:
        """The state as it is stored, for people: also one that this version does not know (rule 27)."""
        return self.unknown_state or self.state.value


@dataclass(frozen=True, slots=True)
class ActionListing:
    """An action in a list: the state of each group in processing order, and of each step without a group.

    States are members of `GroupState` and `StepState`, or stored words that this version does not know.
    """

    action: ActionRecord
    groups: tuple[tuple[str, str], ...]
    steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step of an action, for one of its groups or none: its newest attempt.

    `message` says why it failed or was skipped, `owner` who is expected to write it, `position` its place among the
    steps of the action. `fixed` says what had to be repeated before it succeeded, and when. `started` is None before
    its first attempt; `attempt` is 0 then.
    """

    action_id: str
    name: str
    group: str | None
    state: StepState
    attempt: int
    started: datetime | None
    ended: datetime | None = None
    message: str | None = None
    owner: str | None = None
    position: int | None = None
    fixed: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A command that somebody gave to an action, such as `stop`."""

    id: str
    action_id: str
    command: str
    user: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who holds a site, since when; or, with `waiting`, who has asked for it since then and was not started yet."""

    action_id: str
    dag_id: str
    run_id: str | None
    acquired: datetime
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A group with its nodes resolved, in processing order when in a sequence.

    `plan` is the order of its nodes, and which of them are redeployed.
    """

    group: Group
    nodes: tuple[str, ...]
    plan: GroupPlan = NO_PLAN


@dataclass(frozen=True, slots=True)
class IdleGroup:
    """A group that has nothing to submit, and so is judged with the plan: its verdict, and what that follows from."""

    name: str
    state: GroupState
    reason: Reason | None
    criteria: tuple[CriterionResult, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group in an action.

    `attempt` is 0 before the group was first opened. `criteria` and `counts` are those of the verdict; before it,
    `criteria` are those that were noted so far. `map_index` is the place of its task among those that Airflow maps;
    None where it has none, as it was judged with the plan. `unknown_state` is what is stored where this version does
    not know the word: the group then counts as at work.
    """

    action_id: str
    name: str
    position: int
    critical: bool
    definition: Group
    nodes: tuple[str, ...]
    state: GroupState
    reason: Reason | None = None
    attempt: int = 0
    attempt_key: str | None = None
    criteria: tuple[CriterionResult, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    started: datetime | None = None
    ended: datetime | None = None
    map_index: int | None = None
    plan: GroupPlan = NO_PLAN
    unknown_state: str = ""

    @property
    def stored_state(self) -> str:
        """The state as it is stored, for people: also one that this version does not know (rule 27)."""
        return self.unknown_state or self.state.value

    @property
    def is_judged(self) -> bool:
        """Whether the group has its verdict."""
        return self.state in (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(frozen=True, slots=True)
class GroupStanding:
    """How far a group is, without its nodes and criteria. `position` is its place in the processing order.

    `map_index` is the place of its task among those that Airflow maps; None where it has none.
    """

    name: str
    position: int
    state: GroupState
    attempt_key: str | None
    map_index: int | None = None

    @property
    def is_judged(self) -> bool:
        """Whether the group has its verdict."""
        return self.state in (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(frozen=True, slots=True)
class GroupTurn(GroupStanding):
    """How far a group is, and what decides whether it may begin beside others (rule 8).

    `after` are the groups that are judged before it: those it depends on, and those of nodes that its nodes wait for.
    `depends_on` are the first of these alone. `redeploys` says that it takes down nodes that serve.
    The last two are about the task of a group that has failed: `again` says that it has started again since, as a
    person has cleared it; `is_over` says that it has ended, as far as the store knows.
    """

    after: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    redeploys: bool = False
    again: bool = False
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One intended provisioner task. `nodes` are those that it claimed; empty for a step that concerns a whole site.

    `group` is None for a step of the site or of named nodes.
    `reference` travels in the request to the provisioner, so that the task can be found again after a lost answer.
    `sending` is the moment right before it was last sent; None: it certainly never was, and holds nothing.
    `over` is when the provisioner task was seen to be over (None: it may still be at work, rules 14 and 24).
    `round` counts the operations of a group's attempt for the phase: batches, waves and retries; `left_out` are nodes
    that were due in it and could not be claimed. `at_work` are nodes that the list showed at work when the provisioner
    task was over: how they are later, it has not left them.
    """

    op: int
    action_id: str
    site: str
    group: str | None
    attempt: int
    phase: Phase
    reference: str
    nodes: tuple[str, ...]
    design_ref: str
    provisioner_task: str | None
    lease_owner: str | None
    lease_until: datetime | None
    created: datetime
    sending: datetime | None
    submitted: datetime | None
    running_since: datetime | None
    ended: datetime | None
    over: datetime | None
    status: OperationStatus
    result: str | None
    round: int = 0
    left_out: tuple[str, ...] = ()
    at_work: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one process to be at a thing until `expires_at`, by the database's clock.

    `epoch` grows whenever the lease goes to another owner, or to the same one after it has run out. It is at least the
    time in seconds at which that happened. `secret` is known to the one who took the lease, and else empty: by it they
    prove elsewhere that they hold it (rule 55). `renewed`: when it was taken or prolonged
    last; None: that was not read.
    """

    name: str
    owner: str
    epoch: int
    expires_at: datetime
    secret: str = field(default="", repr=False, compare=False)
    renewed: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened. Events are kept for a while, facts for ever."""

    id: int
    at: datetime
    site: str
    action_id: str | None
    group: str | None
    node: str | None
    kind: str
    message: str
    data: Mapping[str, Any]
