"""A parent's status from those of its children, and what of a stored status is shown (rule 27).

A status is stored by the owner that does the work, and judged whenever it is read: an owner that is gone may have
missed what happened since, and a status of an older design says nothing about today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from strategy_lib.status.words import RANKS, Status, status_from


class ShownStatus(TypedDict):
    """What a person sees, and what the owner itself reads when it decides what to do next."""

    shown: str
    owner_reads: str | None


def highest(statuses: Iterable[Status]) -> Status:
    """Return the highest of these statuses; success where there is none (rule 27)."""
    return max(statuses, key=RANKS.__getitem__, default=Status.SUCCESS)


def in_order(counts: Mapping[Status, int]) -> dict[Status, int]:
    """Return counts from the lowest status to the highest, without those of nothing."""
    found = [status for status, count in counts.items() if count]
    if len(found) > 1:
        found.sort(key=RANKS.__getitem__)
    return {status: counts[status] for status in found}


def status_of_parent(statuses: Iterable[Status]) -> Status:
    """Return the highest status of the children, where deleted counts only if it is all they have (rule 32)."""
    found = set(statuses)
    if len(found) == 1:
        return found.pop()
    found.discard(Status.DELETED)
    return highest(found)


def roll_up(statuses: Iterable[str]) -> str:
    """Return the status of a parent from those of its children (rule 27).

    Parameters
    ----------
    statuses : statuses of the children. A value that is not one of the seven words counts as undefined.

    Returns
    -------
    str
        The highest of success < deleted < pending < unresponsive < processing < error < undefined; "success" where
        there are no children.

    Examples
    --------
    >>> roll_up(["success", "processing", "pending"])
    'processing'
    >>> roll_up([])
    'success'
    """
    return highest(map(status_from, statuses)).value


def shown_status(stored: str | None, *, owner_alive: bool, current: bool) -> ShownStatus:
    """Judge a stored status at the moment it is read (rule 27).

    Parameters
    ----------
    stored : what the owner stored last; None where it has no record.
    owner_alive : the owner has checked in within its interval. An owner that owes nothing counts as alive (rule 30).
    current : the record is about the version and digest that are wanted. Without a record it does not matter.

    Returns
    -------
    dict
        `shown`: the status for people, one of the seven words. `owner_reads`: what the owner itself reads when it
        decides what to do: its own word even where it is shown as unresponsive, and None for an undefined one.

    Examples
    --------
    >>> shown_status("success", owner_alive=False, current=True)
    {'shown': 'unresponsive', 'owner_reads': 'success'}
    """
    status = read_by_owner(stored, current=current)
    shown = judged(stored, owner_alive=owner_alive, current=current)
    return {"shown": shown.value, "owner_reads": None if status is Status.UNDEFINED else status.value}


def read_by_owner(stored: str | None, *, current: bool) -> Status:
    """Return what an owner reads of its own status: undefined for a value that this version does not know."""
    status = Status.PENDING if stored is None else status_from(stored)
    return status if current or status is Status.UNDEFINED else Status.PENDING


def judged(stored: str | None, *, owner_alive: bool, current: bool) -> Status:
    """Return what `shown_status` shows, as a value."""
    status = read_by_owner(stored, current=current)
    return status if owner_alive or status is Status.UNDEFINED else Status.UNRESPONSIVE
