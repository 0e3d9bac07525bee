"""The seven words of status, what of a stored status is shown, and the roll-up (rule 27).

A status is stored by the owner that does the work, and judged whenever it is read: an owner that is gone may have
missed what happened since, and a status of an older design says nothing about today's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypedDict


class Look(NamedTuple):
    """How a word is shown: one character for it, the same where only ASCII can be shown, and a colour."""

    symbol: str
    ascii_symbol: str
    colour: str


class ShownWord(StrEnum):
    """A word that stands on every page and terminal with a symbol and a colour."""

    @property
    @abstractmethod
    def look(self) -> Look:
        """How it is shown."""

    @property
    def symbol(self) -> str:
        """One character that stands for it."""
        return self.look.symbol

    @property
    def ascii_symbol(self) -> str:
        """The same where only ASCII can be shown."""
        return self.look.ascii_symbol

    @property
    def colour(self) -> str:
        """Its colour, such as green; how that looks, a page or a terminal decides."""
        return self.look.colour


class Status(ShownWord):
    """How an entry of the tree stands, from the lowest to the highest: the highest of the children wins."""

    SUCCESS = "success"
    DELETED = "deleted"
    PENDING = "pending"
    UNRESPONSIVE = "unresponsive"
    PROCESSING = "processing"
    ERROR = "error"
    UNDEFINED = "undefined"

    @property
    def rank(self) -> int:
        """Place in the order, 0 for success."""
        return _RANKS[self]

    @property
    def look(self) -> Look:
        """How it is shown."""
        return _LOOKS[self]


_RANKS = {status: rank for rank, status in enumerate(Status)}
_BY_WORD = {status.value: status for status in Status}


_LOOKS = {
    Status.SUCCESS: Look("✓", "+", "green"),
    Status.DELETED: Look("–", "-", "grey"),
    Status.PENDING: Look("·", ".", "grey"),
    Status.UNRESPONSIVE: Look("?", "?", "yellow"),
    Status.PROCESSING: Look("▶", ">", "blue"),
    Status.ERROR: Look("✗", "x", "red"),
    Status.UNDEFINED: Look("‽", "!", "magenta"),
}
UNRECORDED_SYMBOL = " "
"""Stands where a status would, if nothing is kept about the entry."""

ENDED = frozenset({Status.SUCCESS, Status.DELETED, Status.ERROR})
"""Statuses after which the owner owes nothing more (rule 30)."""


class ShownStatus(TypedDict):
    """What a person sees, and what the owner itself reads when it decides what to do next."""

    shown: str
    owner_reads: str | None


def status_from(stored: str) -> Status:
    """Return the status of this name; `Status.UNDEFINED` for a value that this version does not know."""
    return _BY_WORD.get(stored, Status.UNDEFINED)


def highest(statuses: Iterable[Status]) -> Status:
    """Return the highest of these statuses; success where there is none (rule 27)."""
    return max(statuses, key=_RANKS.__getitem__, default=Status.SUCCESS)


def in_order(counts: Mapping[Status, int]) -> dict[Status, int]:
    """Return counts from the lowest status to the highest, without those of nothing."""
    found = [status for status, count in counts.items() if count]
    if len(found) > 1:
        found.sort(key=_RANKS.__getitem__)
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
