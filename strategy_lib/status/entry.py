"""The entries of the status tree as values, and as the plain data that `schemas/status_tree.json` describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from strategy_lib.status.serves import Serves, Serving
from strategy_lib.status.words import Status


class EntryType(StrEnum):
    """What an entry is, roughly: a goal of several, a task of several, or a task."""

    SUPERGOAL = "supergoal"
    SUPERTASK = "supertask"
    TASK = "task"


class EntryKind(StrEnum):
    """What an entry is.

    `STAGE` is a step with entries below it: the groups, the nodes of a step on named nodes, what follows a deployment.
    `WATCHING` says whether anybody looks at the nodes of a site.
    `REPORTED` is a leaf that an external reporter wrote. `PROVISIONER_TASK` is what the provisioner has split the work
    on a node into; it is asked for on demand, and part of no other tree.
    """

    SITE = "site"
    ACTION = "action"
    STAGE = "stage"
    STEP = "step"
    GROUP = "group"
    PHASE = "phase"
    NODE = "node"
    WATCHING = "watching"
    REPORTED = "reported"
    PROVISIONER_TASK = "provisioner_task"

    @property
    def type(self) -> EntryType:
        """The type that entries of this kind have."""
        return _TYPES[self]


_TYPES = {
    EntryKind.SITE: EntryType.SUPERGOAL,
    EntryKind.ACTION: EntryType.SUPERGOAL,
    EntryKind.STAGE: EntryType.SUPERGOAL,
    EntryKind.STEP: EntryType.TASK,
    EntryKind.GROUP: EntryType.SUPERTASK,
    EntryKind.PHASE: EntryType.SUPERTASK,
    EntryKind.NODE: EntryType.TASK,
    EntryKind.WATCHING: EntryType.TASK,
    EntryKind.REPORTED: EntryType.TASK,
    EntryKind.PROVISIONER_TASK: EntryType.TASK,
}
# Looked up for each of thousands of entries; to ask an enumeration for the value takes much longer.
_WORDS: dict[Status | None, str | None] = {None: None, **{status: status.value for status in Status}}
_KIND_WORDS = {kind: (kind.type.value, kind.value, kind.type is EntryType.TASK) for kind in EntryKind}


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
class OwnerSeen:
    """One expected owner of an entry: whether it is there, and what its record of the entry shows.

    Attributes
    ----------
    alive : it has checked in within its interval. An owner that is gone and owes nothing is not alive either.
    last_seen : when it checked in last; None: never.
    interval : seconds; None where it never said.
    status : what its record shows; None where nothing is kept of it.
    """

    name: str
    alive: bool
    last_seen: datetime | None = None
    interval: float | None = None
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """What rule 20 says of a group, beside its status.

    Attributes
    ----------
    state, reason : of the group in the action; in the view of a site both are None.
    criteria : each with `phase`, `criterion`, `needed`, `actual` and `met`.
    position : its place in the order, from 0.
    nodes : how many it has.
    map_index : of its task in Airflow; None where it has none, as there was nothing to submit.
    approval : what it asks a person for, and the answer; None where it asks for nothing.
    batches : how it goes in batches, and at which it is; None where it does not (rule 59).
    """

    critical: bool
    depends_on: tuple[str, ...] = ()
    state: str | None = None
    reason: str | None = None
    criteria: tuple[Mapping[str, Any], ...] = ()
    position: int = 0
    attempt: int | None = None
    nodes: int = 0
    map_index: int | None = None
    approval: Mapping[str, Any] | None = None
    started: datetime | None = None
    ended: datetime | None = None
    batches: Mapping[str, Any] | None = None


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
    counts : how many nodes below it show which status.
    serving : what it serves, or how many nodes below it serve what; None in an action.
    rolls_up : it counts in the status of its parent: what stands under `NO_GROUP` does not (rule 33).
    processed_by : of a task: the other group that processed the node (rule 34).
    blame : of a failed group: culprit or victim.
    owners : its expected owners.
    group : of a group.
    op, provisioner_task : of a node: the newest operation, and the provisioner's name for it.
    tries : of a node in an action: the number of its present try, from 1; 0 where it is not counted.
    fixed : of a task: what had to be fixed before it succeeded, and when.
    provisioner : of a provisioner's task: what it says itself, in its own words.
    left_out : how many children are not among `children`, because there are too many.
    not_started : of an action, its stage of groups and a group: how many of its nodes count as errors although none of
        their phases failed, as the next one never began.
    """

    kind: EntryKind
    name: str
    status: Status | None
    last_status: Status | None = None
    first_updated: datetime | None = None
    last_updated: datetime | None = None
    leaves: int = 0
    own_leaves: int = 0
    messages: tuple[str, ...] = ()
    reason: str = ""
    counts: Mapping[Status, int] = field(default_factory=dict)
    rolls_up: bool = True
    processed_by: str | None = None
    blame: Blame | None = None
    owners: tuple[OwnerSeen, ...] = ()
    group: GroupDetails | None = None
    op: int | None = None
    provisioner_task: str | None = None
    tries: int = 0
    fixed: str = ""
    provisioner: Mapping[str, Any] | None = None
    children: tuple[Entry, ...] = ()
    left_out: int = 0
    not_started: int = 0
    serving: Serving | None = None


def entry_to_dict(entry: Entry, *, now: datetime, depth: int | None = None) -> dict[str, Any]:
    """Return an entry as plain data.

    Parameters
    ----------
    entry : the entry and all below it.
    now : for the age of what its owners wrote last, in seconds.
    depth : how many levels below it are included; None: all.
    """
    its_type, kind, is_task = _KIND_WORDS[entry.kind]
    shown: dict[str, Any] = {
        "type": its_type,
        "kind": kind,
        "name": entry.name,
        "status": _WORDS[entry.status],
        "last_status": _WORDS[entry.last_status],
        "last_status_age": (now - entry.last_updated).total_seconds() if entry.last_updated is not None else None,
        "first_updated": _moment(entry.first_updated),
        "last_updated": _moment(entry.last_updated),
        "leaves": entry.leaves,
        "messages": list(entry.messages),
    }
    if not is_task:
        shown["counts"] = {_WORDS[status]: number for status, number in entry.counts.items() if number}
    if entry.serving is not None:
        shown |= serving_to_dict(entry.serving, is_task=is_task)
    if entry.not_started:
        shown["not_started"] = entry.not_started
    if entry.reason:
        shown["reason"] = entry.reason
    if entry.processed_by is not None:
        shown["processed_by"] = entry.processed_by
    if entry.blame is not None:
        shown["blame"] = {"role": entry.blame.role.value, "group": entry.blame.culprit, "message": entry.blame.message}
    if entry.owners:
        shown["owners"] = [_owner(seen) for seen in entry.owners]
    if entry.group is not None:
        shown["group"] = group_to_dict(entry.group)
    if entry.op is not None:
        shown["op"] = entry.op
    if entry.provisioner_task is not None:
        shown["provisioner_task"] = entry.provisioner_task
    if entry.tries:
        shown["tries"] = entry.tries
    if entry.fixed:
        shown["fixed"] = entry.fixed
    if entry.provisioner is not None:
        shown["provisioner"] = dict(entry.provisioner)
    if depth != 0 and (entry.children or not is_task):
        below = None if depth is None else depth - 1
        shown["children"] = [entry_to_dict(child, now=now, depth=below) for child in entry.children]
        if entry.left_out:
            shown["left_out"] = entry.left_out
    return shown


def serving_to_dict(serving: Serving, *, is_task: bool = False) -> dict[str, Any]:
    """Return what an entry serves as plain data.

    Parameters
    ----------
    is_task : it has no counts.
    """
    shown: dict[str, Any] = {"serves": serving.word.value}
    if not is_task:
        shown["serves_counts"] = {word.value: serving.counts[word] for word in Serves if serving.counts.get(word)}
        shown["pending_serves"] = {word.value: serving.pending[word] for word in Serves if serving.pending.get(word)}
    return shown


def _owner(seen: OwnerSeen) -> dict[str, Any]:
    return {
        "name": seen.name,
        "alive": seen.alive,
        "last_seen": _moment(seen.last_seen),
        "interval": seen.interval,
        "status": _WORDS[seen.status],
    }


def group_to_dict(details: GroupDetails) -> dict[str, Any]:
    """Return what rule 20 says of a group as plain data."""
    return {
        "state": details.state,
        "reason": details.reason,
        "critical": details.critical,
        "depends_on": list(details.depends_on),
        "criteria": [dict(criterion) for criterion in details.criteria],
        "position": details.position,
        "attempt": details.attempt,
        "nodes": details.nodes,
        "approval": None if details.approval is None else dict(details.approval),
        "started": _moment(details.started),
        "ended": _moment(details.ended),
        **({} if details.batches is None else {"batches": dict(details.batches)}),
    }


def _moment(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
