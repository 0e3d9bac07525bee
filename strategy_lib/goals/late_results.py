"""Which events of an operation change a row, and which come too late: one table for nodes, groups, steps and errors.

Operations are numbered (`op`), newer ones higher. A row belongs to the newest operation that was started on it. No
clock decides anything here (rules 45 and 48).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RowStatus(StrEnum):
    """What the newest operation of a row has come to. `TIMEOUT`: it outran its time, and its outcome is not known."""

    PENDING = "pending"
    PROCESSING = "processing"
    SUCCESS = "success"
    ERROR = "error"
    TIMEOUT = "timeout"


class Event(StrEnum):
    """What can be told about an operation. `ACKNOWLEDGE`: a reader outside has taken note of its error."""

    START = "start"
    END = "end"
    ERROR = "error"
    TIMEOUT = "timeout"
    ACKNOWLEDGE = "acknowledge"


class Effect(StrEnum):
    """What an event does.

    `CORRECTED`: it is written, with a warning, as it says what became of a timeout. `HISTORY`: it is kept in the
    history only. `IGNORED`: it repeats what is known, or says nothing.
    """

    APPLIED = "applied"
    CORRECTED = "corrected"
    HISTORY = "history"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Row:
    """The row that operations write to: its newest operation and what that came to.

    Attributes
    ----------
    op : number of the newest operation; None exactly where nothing was started, and the status is pending.
    acknowledged : the row's error was acknowledged: it is not shown any more (rule 48).
    """

    op: int | None = None
    status: RowStatus = RowStatus.PENDING
    acknowledged: bool = False

    def __post_init__(self) -> None:
        if (self.op is None) is not (self.status is RowStatus.PENDING):
            raise ValueError(f"a row with operation {self.op} is not {self.status}")


@dataclass(frozen=True, slots=True)
class Transition:
    """The row after an event, and what the event did."""

    row: Row
    effect: Effect


# What an event of the row's own operation does, by the row's status; what is missing is ignored.
_OWN: dict[tuple[RowStatus, Event], tuple[RowStatus, Effect]] = {
    (RowStatus.PROCESSING, Event.END): (RowStatus.SUCCESS, Effect.APPLIED),
    (RowStatus.PROCESSING, Event.ERROR): (RowStatus.ERROR, Effect.APPLIED),
    (RowStatus.PROCESSING, Event.TIMEOUT): (RowStatus.TIMEOUT, Effect.APPLIED),
    # The first end stands. One that contradicts it is worth keeping.
    (RowStatus.SUCCESS, Event.ERROR): (RowStatus.SUCCESS, Effect.HISTORY),
    (RowStatus.ERROR, Event.END): (RowStatus.ERROR, Effect.HISTORY),
    (RowStatus.TIMEOUT, Event.END): (RowStatus.SUCCESS, Effect.CORRECTED),
    (RowStatus.TIMEOUT, Event.ERROR): (RowStatus.ERROR, Effect.CORRECTED),
}
_FAILED = (RowStatus.ERROR, RowStatus.TIMEOUT)


def apply_if_newest(row: Row, event: Event, op: int) -> Transition:
    """Apply an event to a row if it is of the row's newest operation.

    Parameters
    ----------
    row : the row as it is stored.
    event : what is told.
    op : the operation that it is told of.

    Returns
    -------
    Transition
        A start replaces an older operation only. Everything else applies to its own operation only; of another one, it
        goes to the history. A late end or error of the same operation corrects a timeout.
    """
    newer = row.op is None or op > row.op
    if event is Event.START:
        if newer:
            return Transition(Row(op, RowStatus.PROCESSING), Effect.APPLIED)
        return Transition(row, Effect.IGNORED if op == row.op else Effect.HISTORY)
    if op != row.op:
        return Transition(row, Effect.IGNORED if event is Event.ACKNOWLEDGE else Effect.HISTORY)
    if event is Event.ACKNOWLEDGE:
        if row.status not in _FAILED or row.acknowledged:
            return Transition(row, Effect.IGNORED)
        return Transition(Row(op, row.status, acknowledged=True), Effect.APPLIED)
    status, effect = _OWN.get((row.status, event), (row.status, Effect.IGNORED))
    return Transition(row if status is row.status else Row(op, status), effect)
