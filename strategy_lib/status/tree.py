"""The entries of the status tree, how they roll up, and which failed groups are culprits or victims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice
from typing import Any

from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.leaf import OwnerRecord, blocked_by, status_of_record, status_of_records
from strategy_lib.status.words import Status, highest, status_from, status_of_parent

MOST_MESSAGES = 10
NO_GROUP = "no group"
TO_BE_REMOVED = "to be removed"


class EntryType(StrEnum):
    """What an entry is: a site, action or stage; a group or phase; a node or a step of a site."""

    SUPERGOAL = "supergoal"
    SUPERTASK = "supertask"
    TASK = "task"


class Role(StrEnum):
    """What a failed group is: the culprit missed its own criteria, the victim is blocked by another group."""

    CULPRIT = "culprit"
    VICTIM = "victim"


@dataclass(frozen=True, slots=True)
class Blame:
    """Why a group fails: its role, the group that is to blame (a culprit's own name), and the sentence to show."""

    role: Role
    culprit: str
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the tree.

    Attributes
    ----------
    status : None where no facts are kept about it: `reason` says so, and no roll-up counts it.
    last_status : the highest status that its owners stored, however old; None where none has written anything.
    first_updated, last_updated : when its owners first and last wrote; None where none has.
    leaves : how many tasks stand under it; 1 for a task.
    own_leaves : how many of them are counted here: a node of several groups is counted once, in the group that
        processed it.
    messages : the first messages of its worst children, at most `MOST_MESSAGES`.
    counts : it counts in the status of its parent: what stands under `NO_GROUP` does not (rule 33).
    processed_by : of a task: the other group that processed the node (rule 34).
    blame : of a failed group: culprit or victim.
    """

    type: EntryType
    name: str
    status: Status | None
    last_status: Status | None = None
    first_updated: datetime | None = None
    last_updated: datetime | None = None
    leaves: int = 0
    own_leaves: int = 0
    messages: tuple[str, ...] = ()
    reason: str = ""
    counts: bool = True
    processed_by: str | None = None
    blame: Blame | None = None
    children: tuple[Entry, ...] = ()


def task_entry(
    name: str, records: Sequence[OwnerRecord], *, over: bool = False, processed_by: str | None = None
) -> Entry:
    """Return the entry of a task from what its expected owners have stored.

    Parameters
    ----------
    name : of the node or step.
    records : one for each expected owner, also for one that has written nothing.
    over : its action is over (rule 29).
    processed_by : the group that processed the node, if it is not the one that this entry stands under (rule 34).
    """
    status = status_of_records(records, over=over)
    worst = (record for record in records if status_of_record(record, over=over) is status)
    return Entry(
        EntryType.TASK,
        name,
        status,
        last_status=_last_status(records),
        first_updated=_earliest(record.first_updated for record in records),
        last_updated=_latest(record.last_updated for record in records),
        leaves=1,
        own_leaves=0 if processed_by else 1,
        messages=_first_messages(record.messages for record in worst),
        processed_by=processed_by,
    )


def parent_entry(
    kind: EntryType,
    name: str,
    children: Iterable[Entry],
    *,
    own: OwnerRecord | None = None,
    over: bool = False,
    blame: Blame | None = None,
) -> Entry:
    """Return the entry of a site, action, step, group or phase from its children.

    Parameters
    ----------
    kind : a supergoal counts each node once, a supertask counts all that stand under it (rule 34).
    name : of the entry. What stands under `NO_GROUP` does not count in the status of the parent (rule 33).
    children : in the order in which they are shown.
    own : what is stored about the entry itself, such as the state of a group's task. It rolls up as a child does.
    over : its action is over (rule 29).
    blame : of a failed group. It makes the entry an error whose first message says so.
    """
    kept = tuple(children)
    counted = [child for child in kept if child.status is not None and child.counts]
    statuses = [child.status for child in counted if child.status is not None]
    messages: list[tuple[Status, tuple[str, ...]]] = []
    if blame is not None:
        messages.append((Status.ERROR, (blame.message,)))
    if own is not None:
        messages.append((status_of_record(own, over=over), own.messages))
    statuses += [status for status, _ in messages]
    status = status_of_parent(statuses)
    own_words = (said for its, said in messages if its is status)
    last = [child.last_status for child in kept if child.last_status is not None]
    last += [stored for stored in (_last_status([own] if own else []),) if stored is not None]
    own_leaves = sum(child.own_leaves for child in kept)
    return Entry(
        kind,
        name,
        status,
        last_status=highest(last) if last else None,
        first_updated=_earliest([*(child.first_updated for child in kept), own.first_updated if own else None]),
        last_updated=_latest([*(child.last_updated for child in kept), own.last_updated if own else None]),
        leaves=own_leaves if kind is EntryType.SUPERGOAL else sum(child.leaves for child in kept),
        own_leaves=own_leaves,
        messages=_first_messages(chain(own_words, (child.messages for child in counted if child.status is status))),
        counts=name != NO_GROUP,
        blame=blame,
        children=kept,
    )


def unrecorded_entry(kind: EntryType, name: str, reason: str) -> Entry:
    """Return the entry of something that no facts are kept about: it is never an error, and no roll-up counts it."""
    return Entry(kind, name, None, reason=reason, counts=False)


@dataclass(frozen=True, slots=True)
class GroupStanding:
    """A group as it stands, for blame: its dependencies, state and reason, and the sentence that explains a failure."""

    name: str
    depends_on: tuple[str, ...] = ()
    state: GroupState = GroupState.PENDING
    reason: Reason | None = None
    explanation: str = ""


def blame_groups(groups: Iterable[GroupStanding]) -> dict[str, Blame]:
    """Tell culprits from victims, in time linear in the graph (rules 9 and 28).

    Parameters
    ----------
    groups : in processing order: each after those it depends on.

    Returns
    -------
    dict
        An entry for each group that has failed or stands behind one that has. A victim names the culprit at the root:
        of several failed dependencies the first one's.
    """
    blames: dict[str, Blame] = {}
    explanations: dict[str, str] = {}
    for group in groups:
        failed = group.state is GroupState.FAILURE
        if failed and group.reason is not Reason.DEPENDENCY:
            explanations[group.name] = group.explanation or str(group.reason or "failed")
            blames[group.name] = Blame(Role.CULPRIT, group.name, explanations[group.name])
        elif failed or group.state is GroupState.PENDING:
            culprit = next((blames[other].culprit for other in group.depends_on if other in blames), None)
            if culprit is not None:
                message = blocked_by(culprit, explanations[culprit])
                blames[group.name] = Blame(Role.VICTIM, culprit, message)
    return blames


def entry_to_dict(entry: Entry, *, now: datetime, depth: int | None = None) -> dict[str, Any]:
    """Return an entry as plain data.

    Parameters
    ----------
    entry : the entry and all below it.
    now : for the age of what its owners wrote last, in seconds.
    depth : how many levels below it are included; None: all.
    """
    shown: dict[str, Any] = {
        "type": entry.type.value,
        "name": entry.name,
        "status": entry.status.value if entry.status is not None else None,
        "last_status": entry.last_status.value if entry.last_status is not None else None,
        "last_status_age": (now - entry.last_updated).total_seconds() if entry.last_updated is not None else None,
        "first_updated": entry.first_updated.isoformat() if entry.first_updated is not None else None,
        "last_updated": entry.last_updated.isoformat() if entry.last_updated is not None else None,
        "leaves": entry.leaves,
        "messages": list(entry.messages),
    }
    if entry.reason:
        shown["reason"] = entry.reason
    if entry.processed_by is not None:
        shown["processed_by"] = entry.processed_by
    if entry.blame is not None:
        shown["blame"] = {"role": entry.blame.role.value, "group": entry.blame.culprit, "message": entry.blame.message}
    if depth != 0:
        below = None if depth is None else depth - 1
        shown["children"] = [entry_to_dict(child, now=now, depth=below) for child in entry.children]
    return shown


def _last_status(records: Sequence[OwnerRecord]) -> Status | None:
    stored = [status_from(record.stored) for record in records if record.stored is not None]
    return highest(stored) if stored else None


def _first_messages(messages: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(islice(chain.from_iterable(messages), MOST_MESSAGES))


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


def _latest(times: Iterable[datetime | None]) -> datetime | None:
    return max((time for time in times if time is not None), default=None)
