"""The words on every page and terminal: the seven of status, with a symbol and a colour each, and durations."""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum
from typing import NamedTuple


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
        return RANKS[self]

    @property
    def look(self) -> Look:
        """How it is shown."""
        return _LOOKS[self]


RANKS = {status: rank for rank, status in enumerate(Status)}
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


def status_from(stored: str) -> Status:
    """Return the status of this name; `Status.UNDEFINED` for a value that this version does not know."""
    return _BY_WORD.get(stored, Status.UNDEFINED)


def duration_words(seconds: float | None) -> str:
    """Return seconds as people say them: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`; "" where they are not known."""
    if seconds is None:
        return ""
    # Rounded before it is compared: 59.6 s are a minute, not 60 s.
    tenths = round(seconds, 1)
    if tenths < 10:
        return f"{tenths:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"
