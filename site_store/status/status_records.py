"""What the store hands out about how it stands: counts, owners, reporters and what they report, gates, the outbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

TOUCH = "~touch"
"""The phase of the rows that count the changes of a scope: their sum is its change token."""


class SitePart(StrEnum):
    """Where a node stands in the view of its site: the phase of a site's counts (rule 33)."""

    GROUPED = "grouped"
    NO_GROUP = "no group"
    TO_BE_REMOVED = "to be removed"


class StatusCount(NamedTuple):
    """How many records of a scope share all of this.

    `group` "" is the whole, in which each record counts once. `phase` is that of an action's tasks; of a site it is a
    `SitePart`. `status` is the stored word of a task, and the standing of a node. `serves` is what a node serves; of
    a task it is "".
    """

    group: str
    phase: str
    owner: str
    status: str
    serves: str
    records: int


@dataclass(frozen=True, slots=True)
class OwnerCheckIn:
    """When an owner was last seen; it is alive for `interval_seconds` from then on. `detail` holds no secret."""

    name: str
    last_seen: datetime
    interval_seconds: float
    detail: str | None = None
    unresponsive_since: datetime | None = None

    def is_alive(self, now: datetime) -> bool:
        """Whether it has been seen within its interval, by the database's clock."""
        return now <= self.last_seen + timedelta(seconds=self.interval_seconds)


@dataclass(frozen=True, slots=True)
class ExpectedWork:
    """What is expected of an owner: nodes of a site (`action_id` None), or something that an open action waits for."""

    owner: str
    site: str
    action_id: str | None = None


class CallKey(NamedTuple):
    """What calls to a provisioner have in common; `bucket` is that of a histogram of seconds."""

    call: str
    result: str
    bucket: int


@dataclass(frozen=True, slots=True)
class CallCount:
    """How many calls, and how long they took together."""

    calls: int
    seconds: float

    def __add__(self, other: CallCount) -> CallCount:
        return CallCount(self.calls + other.calls, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class ReporterRecord:
    """Somebody else's program that may add leaves of its own to a site. Its token is never handed out again."""

    id: str
    site: str
    owner: str
    created: datetime
    created_by: str
    revoked: datetime | None = None
    last_used: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReportedLeaf:
    """A leaf that a reporter wrote below the entry at the path `parent`; `action_id` is "" in the view of the site."""

    site: str
    action_id: str
    parent: str
    name: str
    owner: str
    status: str
    message: str | None
    revision: int | None
    first_updated: datetime
    last_updated: datetime


class ApprovalAnswer(StrEnum):
    """What came of it."""

    APPROVED = "approved"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An approval that an attempt of a group waits for, or has waited for; `answer` is None while it does.

    `moment` is one of `ApprovalMoment`, and `answer` one of `ApprovalAnswer`. Of a tree they are the stored words.
    """

    action_id: str
    group: str
    attempt: int
    moment: str
    text: str
    approvers: tuple[str, ...]
    asked: datetime
    deadline: datetime | None = None
    answered: datetime | None = None
    answer: str | None = None
    answered_by: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class OutboxRecord:
    """An event that others are told of; `event_id` is the same however often it is sent."""

    id: int
    event_id: str
    site: str
    kind: str
    action_id: str | None
    group: str | None
    created: datetime
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """How far an event is on its way to one target; due at `next_try` while `delivered` is None."""

    outbox_id: int
    target: str
    attempts: int = 0
    next_try: datetime | None = None
    delivered: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ProvisionerListRecord:
    """The list of nodes that a site's provisioner gave last, as text."""

    site: str
    connection: str
    read_at: datetime
    nodes: str
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class SharedListRecord:
    """How it stands with a long list of one server; all times are the database's.

    Attributes
    ----------
    now : when this was read.
    asked_at : when the answer that is kept was asked for, None where there is none.
    begun_at : when the newest question was begun, None where none ever was.
    is_asked : whether somebody who is alive waits for the answer to that question.
    problem : why that question has failed.
    again_at : a list that ran out of time is not asked for again before then.
    """

    now: datetime
    asked_at: datetime | None = None
    begun_at: datetime | None = None
    is_asked: bool = False
    problem: str | None = None
    again_at: datetime | None = None
