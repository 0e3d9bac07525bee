"""What a status tree is judged from: plain values, all of one snapshot. How they are judged is `site_engine`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from site_store.records import ActionRecord
from site_store.status.status_records import ApprovalRecord, OwnerCheckIn, ReportedLeaf, StatusCount
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.site import Watched
from strategy_lib.strategy import Share


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step of an action, for one of its groups or none (""): its newest attempt. `state` is "pending" before it."""

    name: str
    group: str
    state: str
    attempt: int
    started: datetime | None
    ended: datetime | None
    message: str | None
    owner: str | None
    fixed: str | None


class TroubleFacts(NamedTuple):
    """A node that failed or is lost, with its message; in an action for a phase, with the state of its operation."""

    node: str
    phase: str
    status: str
    message: str | None
    operation_status: str | None


class FirstTroubles(NamedTuple):
    """The first nodes of a group of a site that stand so, by name, and what went wrong with each.

    They are lists beside each other, as there may be thousands: a value for each costs more than all else of a view.
    """

    standing: str
    nodes: Sequence[str]
    messages: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group in an action, or of a site (then without state). `troubles` are the first of its failed nodes there.

    `map_index` is that of its task in Airflow; None where it has none. `asks_ready`: whether its nodes are ready is a
    phase of its own (rule 58). `max_in_flight` and `canary` are those of its definition (rule 59), `batches` and
    `begun` how many batches and nodes its attempt has begun, where it goes in batches.
    """

    name: str
    position: int
    critical: bool
    depends_on: tuple[str, ...]
    state: str | None = None
    reason: str | None = None
    attempt: int | None = None
    criteria: tuple[Mapping[str, Any], ...] = ()
    started: datetime | None = None
    ended: datetime | None = None
    map_index: int | None = None
    troubles: tuple[TroubleFacts, ...] = ()
    asks_ready: bool = False
    max_in_flight: Share | None = None
    canary: Share | None = None
    batches: int = 0
    begun: int = 0

    @property
    def has_batches(self) -> bool:
        """Whether its nodes go in batches."""
        return self.max_in_flight is not None or self.canary is not None


class Times(NamedTuple):
    """When something was updated first and last; None: never, or not known."""

    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """A node's task in an action, as it stands under one of its groups, or ("") under the step itself.

    `tries` is the number of its present try in the action, from 1; `held` says for which other node it is held.
    `done_op` is the number of what has no operation of its own: that by which the node was done, or of why it was not.
    `done_revision` is the one that a node was done for which was as wanted already; None: not known, or it was not so.
    `wanted_version` is the version of the node that it is about. `not_prepared` is what went wrong in its prepare, if
    that keeps this task from beginning.
    """

    group: str
    node: str
    phase: str
    status: str
    owner: str | None
    owner_group: str | None
    op: int | None
    provisioner_task: str | None
    operation_status: str | None
    message: str | None
    fixed: str | None
    started: datetime | None
    ended: datetime | None
    tries: int = 1
    held: str | None = None
    done_op: int | None = None
    done_revision: int | None = None
    wanted_version: int | None = None
    not_prepared: str | None = None


class KnownAction(NamedTuple):
    """An action with its change token, and the approvals that it waits for; all of one moment."""

    action: ActionRecord
    token: str
    asked: Sequence[ApprovalRecord]


class KnownSite(NamedTuple):
    """The change token of a site, whether it exists, and whether an action holds it; all of one moment."""

    token: str
    exists: bool
    held: bool


@dataclass(frozen=True, slots=True)
class OperationSpan:
    """When an operation of a group was at work. `begun`: by the provisioner, or when it was asked or to be asked."""

    op: int
    group: str
    phase: str
    attempt: int
    status: str
    begun: datetime
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """All that the tree of an action is judged from.

    Attributes
    ----------
    token : its change token.
    read_at : when this was read, by the database's clock.
    committed : the newest revision of its site.
    leased : a task of it holds a lease at this moment, so that Airflow is at work.
    at_provisioner : phases of the site whose provisioner task is under way.
    durations : how many seconds the newest actions of its kind on the whole site took that succeeded, each without the
        pauses between its tries; none where it is over.
    times : of the operations of each group ("" for none) and phase.
    fixed : of each group ("" for none) and phase: the first nodes that succeeded after they had failed, each with what
        had to be fixed.
    spans : when its operations were at work, where that is asked for.
    hold : why nothing is sent now, with the command that ends it; None: it may be (rule 61).
    """

    token: str
    read_at: datetime
    action: ActionRecord
    committed: int | None
    leased: bool
    at_provisioner: frozenset[str]
    counts: Sequence[StatusCount]
    owners: Mapping[str, OwnerCheckIn]
    steps: Sequence[StepFacts]
    groups: Sequence[GroupFacts]
    approvals: Sequence[ApprovalRecord]
    reported: Sequence[ReportedLeaf]
    durations: Sequence[float] = ()
    leaves: Sequence[LeafFacts] = ()
    times: Mapping[tuple[str, str], Times] = field(default_factory=dict)
    fixed: Mapping[tuple[str, str], Sequence[tuple[str, str]]] = field(default_factory=dict)
    spans: Sequence[OperationSpan] = ()
    hold: str | None = None


@dataclass(frozen=True, slots=True)
class LeafPage:
    """A page of the nodes of an action: its facts, of which `leaves` are the page. `after`: None: no more."""

    facts: ActionFacts
    after: tuple[str, str, str] | None


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """All that the standing tree of a site is judged from.

    Attributes
    ----------
    done : the revision of the newest action that brought the whole site to one.
    owner : who is expected to work on its nodes: `provisioner:<connection>`; None where none was ever decided.
    running, last : the action that is not over, and the newest one that is.
    leased : a task of the running one holds a lease at this moment, so that Airflow is at work.
    nodes : those that are asked for, each once for each of its groups.
    last_updated : when a node of it was updated last.
    times : of the nodes of each group, and of the parts beside them; of its tasks, where there are too many nodes.
    troubles : the first failed nodes of each group and part, and of each status.
    watched : the newest answer about its nodes; None where nothing was committed for it.
    behind_since : when the first revision was committed that a node waits for while it serves an older one; None: none.
    hold : why nothing is sent now, with the command that ends it; None: it may be (rule 61).
    """

    token: str
    read_at: datetime
    site: str
    committed: int | None
    done: int | None
    owner: str | None
    running: ActionBrief | None
    last: ActionBrief | None
    counts: Sequence[StatusCount]
    owners: Mapping[str, OwnerCheckIn]
    groups: Sequence[GroupFacts]
    reported: Sequence[ReportedLeaf]
    nodes: Sequence[tuple[str, NodeRow]] = ()
    troubles: Mapping[str, Sequence[FirstTroubles]] = field(default_factory=dict)
    last_updated: datetime | None = None
    times: Mapping[str, Times] = field(default_factory=dict)
    leased: bool = False
    watched: Watched | None = None
    behind_since: datetime | None = None
    hold: str | None = None


@dataclass(frozen=True, slots=True)
class ActionBrief:
    """An action in the header of its site. `dag_id` is that of its run in Airflow; None where it has none.

    `asks` is its first group that waits for a person's answer; None where none does, or where it is over.
    """

    id: str
    kind: str
    revision: int | None
    state: str
    verdict: str | None
    user: str
    created: datetime
    ended: datetime | None
    paused: datetime | None
    dag_id: str | None = None
    left_alone: int = 0
    asks: str | None = None
