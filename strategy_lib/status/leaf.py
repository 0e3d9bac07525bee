"""What one leaf of the status tree shows: one node's phase, a step, or a node of a site (rules 28 to 33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from strategy_lib.node import TaskStatus
from strategy_lib.status.words import ENDED, Status, judged, status_from, status_of_parent


@dataclass(frozen=True, slots=True)
class Shown:
    """A status and the sentence that explains it; "" where the status says it all."""

    status: Status
    message: str = ""


class UnknownCause(StrEnum):
    """Why the outcome of a submitted task is unknown: it outran its time, or nothing could be learnt of it."""

    TIMEOUT = "timeout"
    LOST = "lost"


def blocked_by(group: str, reason: str) -> str:
    """Say that a failed group stands in the way (rule 28)."""
    return f"blocked by {group}: {reason}"


def superseded_by(revision: int, committed: int) -> str:
    """Say of an action that is over that a newer revision was committed since; "" where none was (rule 29)."""
    return f"superseded by revision {committed}" if committed > revision else ""


def unknown_value(stored: str) -> str:
    """Say of a stored value that this version does not know it (rule 27)."""
    return f"unknown stored value {stored!r}"


_TASK_WORDS = {status.value: status for status in TaskStatus}


def status_of_task(
    stored: str,
    *,
    note: str = "",
    blocked: str = "",
    never_begins: str = "",
    as_wanted: bool = False,
    done_for: int | None = None,
    unknown_because: UnknownCause = UnknownCause.LOST,
) -> Shown:
    """Translate the stored word of a task into one of the seven (rule 28).

    Parameters
    ----------
    stored : one of `TaskStatus`. Any other value is undefined.
    note : what is stored beside it: the error's text, why the node is withheld, or what it waits for.
    blocked : the result of `blocked_by`, if the task's group stands behind a failed one. It matters to a pending task
        only.
    never_begins : why a pending task will not begin any more: its group or its action is over.
    as_wanted : the node was as wanted already, so that nothing was submitted (rule 21).
    done_for : the revision that such a node was done for; None: not known.
    unknown_because : why the outcome of an `unknown` task is not known.
    """
    status = _TASK_WORDS.get(stored)
    if status is None:
        return Shown(Status.UNDEFINED, unknown_value(stored))
    if status is TaskStatus.PENDING:
        if blocked:
            return Shown(Status.ERROR, blocked)
        # What it waits for says more than that its group or action is over.
        return (
            Shown(Status.ERROR, f"not started: {note or never_begins}") if never_begins else Shown(Status.PENDING, note)
        )
    if status is TaskStatus.WITHHELD:
        return Shown(Status.ERROR, f"not started: {note or 'withheld'}")
    if status is TaskStatus.UNKNOWN:
        return Shown(Status.ERROR, f"{unknown_because}: {note}" if note else str(unknown_because))
    if status is TaskStatus.SUCCESS and as_wanted:
        return Shown(Status.SUCCESS, "as wanted already" + (f", done for revision {done_for}" if done_for else ""))
    return Shown(status_from(stored), note)


@dataclass(frozen=True, slots=True)
class SiteNode:
    """The facts about a node that the standing view of its site is judged from.

    Attributes
    ----------
    in_design : the committed design has it.
    wanted, done : revision and digest that are wanted, and that it was last done for; None: never. A revision that is
        None is not known.
    failed : text of the error of the newest operation; None where it did not fail.
    wanted_version : grows when it is wanted otherwise, or again; None: not known.
    touched : the wanted version at which a person asked for it again; None: nobody did.
    done_version, failed_version : the wanted versions that it was done in, and that the error was about; None: not
        known.
    failed_revision : the revision that the error was about; None: not known.
    drifted : what is no longer as it was left, and since when: of the machine, whatever is wanted by now (rule 56).
    at_work : an operation is under way on it.
    fixed : what had to be fixed by itself since it was done, and when.
    """

    in_design: bool = True
    wanted: tuple[int | None, str] | None = None
    done: tuple[int | None, str] | None = None
    failed: str | None = None
    failed_revision: int | None = None
    wanted_version: int | None = None
    touched: int | None = None
    done_version: int | None = None
    failed_version: int | None = None
    drifted: str | None = None
    at_work: bool = False
    fixed: str = ""


def status_in_site(node: SiteNode) -> Shown:
    """Judge a node against what is wanted now (rules 29, 33, 46 and 56)."""
    if node.at_work:
        return Shown(Status.PROCESSING, f"repairing: {node.drifted}" if node.drifted else "")
    if not node.in_design and node.done is None:
        return Shown(Status.DELETED)
    if node.drifted is not None:
        return Shown(Status.ERROR, f"drifted: {node.drifted}")
    if not node.in_design:
        return Shown(Status.ERROR, node.failed) if node.failed else Shown(Status.PENDING, "to be removed")
    if node.failed is not None and not _superseded(node):
        return Shown(Status.ERROR, node.failed)
    if node.done is None:
        return Shown(Status.PENDING, "never done")
    if node.wanted is not None and node.wanted[1] != node.done[1]:
        done = f"done for revision {node.done[0]}" if node.done[0] else "done for another design"
        return Shown(Status.PENDING, done + (f", wanted is revision {node.wanted[0]}" if node.wanted[0] else ""))
    if node.touched is not None and (node.done_version is None or node.done_version < node.touched):
        return Shown(Status.PENDING, f"asked for again at version {node.touched}")
    return Shown(Status.SUCCESS, f"had to be fixed: {node.fixed}" if node.fixed else "")


def _superseded(node: SiteNode) -> bool:
    """Tell whether the error of an operation is about an older version than the one that is wanted (rule 46).

    Errors from before versions were counted are compared by their revision.
    """
    if node.failed_version is not None and node.wanted_version is not None:
        return node.failed_version < node.wanted_version
    wanted = None if node.wanted is None else node.wanted[0]
    return wanted is not None and node.failed_revision is not None and node.failed_revision < wanted


def owes(stored: str | None, *, current: bool = True, turn: bool = True, waiting: bool = False) -> bool:
    """Tell whether an owner has something to do for a task: only then is its silence shown (rule 30).

    Parameters
    ----------
    stored : what it stored last.
    current : that is about what is wanted now.
    turn : its turn has come: the group has begun, for example.
    waiting : it waits by design: queued, paused, or for a person's approval.
    """
    if waiting:
        return False
    if stored is not None and current and status_from(stored) in ENDED:
        return False
    return turn


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """What one expected owner of a task has stored about it, and whether the owner is there.

    Attributes
    ----------
    owner : such as `airflow:deploy_site` or `provisioner:drydock`.
    stored : its status; None where it has not written anything.
    alive : it has checked in within its interval, or owes nothing.
    current : the record is about the version and digest that are wanted.
    """

    owner: str
    stored: str | None = None
    alive: bool = True
    current: bool = True
    messages: tuple[str, ...] = ()
    first_updated: datetime | None = None
    last_updated: datetime | None = None


def status_of_record(record: OwnerRecord, *, over: bool = False) -> Status:
    """Return what one owner's record of a task shows.

    Parameters
    ----------
    record : the record as it is stored.
    over : the action is over, so that its stored statuses are history: neither owner nor freshness is judged, and what
        was never begun is an error (rules 28 and 29).
    """
    if over:
        return Status.ERROR if record.stored is None else status_from(record.stored)
    return judged(record.stored, owner_alive=record.alive, current=record.current)


def status_of_records(records: Sequence[OwnerRecord], *, over: bool = False) -> Status:
    """Return the status of a task from the records of all its expected owners: the highest wins.

    It is deleted only if all of them say so (rule 32).
    A task that names no owner is undefined (rule 35).
    """
    if not records:
        return Status.UNDEFINED
    return status_of_parent(status_of_record(record, over=over) for record in records)
