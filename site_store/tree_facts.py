"""What a status tree is judged from: plain values, all of one snapshot. How they are judged is `site_engine`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from site_store.records import ActionRecord


@dataclass(frozen=True, slots=True)
class Counted:
    """How many records of a scope share group, phase, owner, stored status and freshness.

    `group` is "" for the whole, in which each node counts once. `phase` is that of an action's tasks; of a site's
    nodes it is `GROUPED`, "no group" or "to be removed". A `status` is as it is stored: "pending" where nothing is.
    """

    group: str
    phase: str
    owner: str
    status: str
    fresh: bool
    records: int


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """When an owner checked in last, by the database's clock, and how many seconds it is alive after that."""

    name: str
    last_seen: datetime
    interval: float
    detail: str | None = None


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


@dataclass(frozen=True, slots=True)
class TroubleFacts:
    """A node that failed or is lost, with its message; in an action for a phase, with the state of its operation."""

    node: str
    phase: str
    status: str
    message: str | None
    operation_status: str | None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group in an action, or of a site (then without state). `troubles` are the first of its failed nodes."""

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
    troubles: tuple[TroubleFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalFacts:
    """A person's answer that an attempt of a group waits for, or has."""

    group: str
    attempt: int
    moment: str
    text: str
    approvers: tuple[str, ...]
    asked: datetime
    deadline: datetime | None
    answered: datetime | None
    answer: str | None
    answered_by: str | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class ReportedFacts:
    """A leaf of an external reporter, below the entry that `parent` is the path of."""

    parent: str
    name: str
    owner: str
    status: str
    message: str | None
    revision: int | None
    first_updated: datetime
    last_updated: datetime


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """A node's task in an action, as it stands under one of its groups, or ("") under the step itself."""

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


@dataclass(frozen=True, slots=True)
class SiteNodeFacts:
    """A node of a site: what is wanted, what was done, and how the two stand.

    `groups` are those of the committed strategy; `standing` is one of the seven words.
    """

    node: str
    standing: str
    groups: tuple[str, ...]
    rack: str | None
    wanted_revision: int | None
    wanted_digest: str | None
    done_revision: int | None
    done_digest: str | None
    done_at: datetime | None
    status: str | None
    error: str | None
    error_revision: int | None
    error_action: str | None
    fixed: str | None
    doubt: str | None
    op: int | None
    owner: str | None
    condition: str | None
    provisioner_status: str | None
    power: str | None
    listed_at: datetime | None
    first_updated: datetime | None
    last_updated: datetime | None


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
    durations : how many seconds a group of each name took in the newest actions that succeeded.
    """

    token: str
    read_at: datetime
    action: ActionRecord
    committed: int | None
    leased: bool
    at_provisioner: frozenset[str]
    counts: Sequence[Counted]
    owners: Mapping[str, OwnerFacts]
    steps: Sequence[StepFacts]
    groups: Sequence[GroupFacts]
    approvals: Sequence[ApprovalFacts]
    reported: Sequence[ReportedFacts]
    durations: Mapping[str, Sequence[float]] = field(default_factory=dict)
    leaves: Sequence[LeafFacts] = ()


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """All that the standing tree of a site is judged from.

    Attributes
    ----------
    done : the revision of the newest action that brought the whole site to one.
    owner : who is expected to work on its nodes: `provisioner:<connection>`; None where none was ever decided.
    running, last : the action that is not over, and the newest one that is.
    nodes : those that are asked for, each once for each of its groups.
    """

    token: str
    read_at: datetime
    site: str
    committed: int | None
    done: int | None
    owner: str | None
    running: ActionBrief | None
    last: ActionBrief | None
    counts: Sequence[Counted]
    owners: Mapping[str, OwnerFacts]
    groups: Sequence[GroupFacts]
    reported: Sequence[ReportedFacts]
    nodes: Sequence[tuple[str, SiteNodeFacts]] = ()


@dataclass(frozen=True, slots=True)
class ActionBrief:
    """An action in the header of its site."""

    id: str
    kind: str
    revision: int | None
    state: str
    verdict: str | None
    user: str
    created: datetime
    ended: datetime | None
    paused: datetime | None


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """Which nodes of a site are asked for, in which order.

    Attributes
    ----------
    group, rack, standing : only those; None: all. `group` may be "no group" or "to be removed".
    text : only those whose name contains it.
    columns : only those where the column of this name (see `NODE_COLUMNS`) contains the text, whatever its case.
    sort : one of `NODE_COLUMNS`; `descending` from its end. Nodes that are alike are sorted by name.
    limit : how many at most.
    after : what `NodePage.after` said; None: the first page.
    offset : how many to leave out, instead of `after`.
    """

    group: str | None = None
    rack: str | None = None
    standing: str | None = None
    text: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sort: str = "node"
    descending: bool = False
    limit: int = 100
    after: str | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class NodePage:
    """A page of nodes. `total`: how many the query finds in all, at most `MOST_COUNTED`. `after`: None: no more."""

    token: str
    read_at: datetime
    nodes: Sequence[SiteNodeFacts]
    total: int
    after: str | None
    owners: Mapping[str, OwnerFacts]
