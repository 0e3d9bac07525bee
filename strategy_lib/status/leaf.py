"""What one leaf of the status tree shows: one node's phase, a step, or a node of a site (rules 28 to 33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from strategy_lib.node import TaskStatus
from strategy_lib.status.node_row import DRIFTED, NodeRow
from strategy_lib.status.roll_up import judged, status_of_parent
from strategy_lib.status.words import ENDED, Status, status_from


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


_STATUSES = (None, *(status for status in Status if status not in (Status.UNDEFINED, Status.UNRESPONSIVE)))
"""What is stored of how the newest operation left a node."""


def status_in_site(node: NodeRow) -> Shown:
    """Judge a node against what is wanted now (rules 29, 33, 46 and 56). `STANDING` of the table is the same in SQL."""
    if node.status not in _STATUSES:
        return Shown(Status.UNDEFINED)
    if node.status == Status.PROCESSING:
        return Shown(Status.PROCESSING, f"repairing: {node.drift}" if node.drift else "")
    in_design = node.wanted_digest is not None
    if not in_design and node.done_digest is None:
        return Shown(Status.DELETED)
    if node.drift is not None:
        return Shown(Status.ERROR, f"{DRIFTED}{node.drift}")
    if node.has_failed or (node.status == Status.ERROR and not in_design):
        return Shown(Status.ERROR, node.error or "failed")
    why = _why_pending(node)
    return Shown(Status.PENDING, why) if why else Shown(Status.SUCCESS)


def _why_pending(node: NodeRow) -> str:
    """Return why a node that has not failed is not as wanted; "" where it is."""
    if node.doubt is not None:
        return f"in doubt: {node.doubt}"
    if node.wanted_digest is None:
        return "to be removed"
    if node.done_digest is None:
        return "never done"
    if node.wanted_digest != node.done_digest:
        done = f"done for revision {node.done_revision}" if node.done_revision else "done for another design"
        return done + (f", wanted is revision {node.wanted_revision}" if node.wanted_revision else "")
    return f"asked for again at version {node.touched}" if node.is_asked_for_again else ""


def owes(stored: str | None, *, turn: bool = True, waiting: bool = False) -> bool:
    """Tell whether an owner has something to do for a task: only then is its silence shown (rule 30).

    Parameters
    ----------
    stored : what it stored last.
    turn : its turn has come: the group has begun, for example.
    waiting : it waits by design: queued, paused, or for a person's approval.
    """
    return turn and not waiting and (stored is None or status_from(stored) not in ENDED)


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
