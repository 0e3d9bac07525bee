"""The two sentences with which each view of a site begins: in sync with its design or behind, and healthy or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from strategy_lib.status.serves import Serves
from strategy_lib.status.words import Status

_WRONG = (
    (Status.ERROR, "in error"),
    (Status.UNDEFINED, "undefined"),
    (Status.UNRESPONSIVE, "unresponsive"),
)
TROUBLES = frozenset(status for status, _ in _WRONG)
"""What makes a site unhealthy."""


@dataclass(frozen=True, slots=True)
class FirstLine:
    """How a site stands in two sentences, without a full stop, each with whether that is well.

    Both `in_sync` and `healthy` are None, and the sentences "", where nothing was committed.
    """

    in_sync: bool | None = None
    sync: str = ""
    healthy: bool | None = None
    health: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return it as the fields of a site's header."""
        return {"in_sync": self.in_sync, "sync": self.sync, "healthy": self.healthy, "health": self.health}


def first_line(
    serves: Mapping[Serves, int],
    counts: Mapping[Status, int],
    *,
    asked_again: int = 0,
    to_be_removed: int = 0,
    since: datetime | None = None,
    others: Sequence[str] = (),
) -> FirstLine:
    """Say how a site stands against its design, and whether it is healthy.

    Parameters
    ----------
    serves : how many nodes of the design serve what; those that are in no group do not count (rule 33).
    counts : how many of these nodes, and of those that are to be removed, show which status.
    asked_again : how many nodes serve what is wanted, and were asked for again since.
    to_be_removed : how many nodes left the design and are still there.
    since : when the first revision was committed that a node waits for which serves an older one; None: not known.
    others : what beside nodes is wrong, each with its name, such as the watch over the site.
    """
    behind = []
    if older := serves.get(Serves.OLDER, 0):
        behind.append(f"{_nodes(older, 'serves', 'serve')} an older revision")
    if nothing := serves.get(Serves.NOTHING, 0):
        behind.append(f"{_nodes(nothing, 'serves', 'serve', bare=bool(behind))} nothing")
    if to_be_removed:
        behind.append(f"{_nodes(to_be_removed, 'is', 'are', bare=bool(behind))} to be removed")
    from_then = f" since {since:%Y-%m-%d %H:%M:%S} UTC" if older and since is not None else ""
    sync = f"behind the design{from_then}: {', '.join(behind)}" if behind else "in sync with the design"
    if asked_again:
        sync += f"; {_nodes(asked_again, 'is', 'are')} asked for again"
    wrong: list[str] = []
    for status, words in _WRONG:
        if number := counts.get(status, 0):
            wrong.append(_nodes(number, words, words, bare=bool(wrong)))
    said = [*([", ".join(wrong)] if wrong else []), *others]
    return FirstLine(not behind, sync, not said, f"not healthy: {'; '.join(said)}" if said else "healthy")


def _nodes(number: int, one: str, several: str, *, bare: bool = False) -> str:
    """Return `1 node serves` or `2 nodes serve`; without the noun where it stands before already."""
    noun = "" if bare else " node" if number == 1 else " nodes"
    return f"{number}{noun} {one if number == 1 else several}"
