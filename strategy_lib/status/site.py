"""How a site stands as a whole: its first line, and whether anybody looks at its nodes.

The first line is two sentences: in sync with its design or behind, and healthy or not. The statuses of a site are as
old as the newest answer of its provisioner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zlib import crc32

from strategy_lib.status.leaf import Shown
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


WATCHING: Final = "watching"
"""The name of the entry of a site that says so."""
SHORTEST_SILENCE: Final = 60.0
"""Seconds for which an answer counts at least; so long after its first commit a site need not have been looked at."""
NOT_YET: Final = "not looked at yet"
"""Said of a site that nobody need have looked at so far."""
SILENT_ROUNDS: Final = 3
"""An answer counts for this many times the seconds between two questions."""

UNLED: Final = "no controller runs; start `slipway controller`"
"""Why nobody is asked anything."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The newest answer about the nodes of a site, all times by the database's clock.

    Attributes
    ----------
    committed : when its first revision was committed.
    answered : when the newest list of its nodes was asked for that was answered; None: none ever was.
    every : seconds between two questions now; None: not known.
    provisioner : the owner that answers; "" where none is known.
    led : a controller runs now: it has its lease.
    leads : a controller leads the site now.
    resumed : since when it is watched again that was stopped once; None: it never was.
    stopped : why nobody is to look at it: it is a demo's, whose simulator is gone. "": it is watched.
    refused : what the controller that runs may not or cannot do, in a sentence; "": nothing.
    """

    committed: datetime
    answered: datetime | None
    every: float | None
    provisioner: str
    led: bool
    leads: bool = True
    resumed: datetime | None = None
    stopped: str = ""
    refused: str = ""

    @property
    def allowed(self) -> float:
        """Seconds after which the newest answer is too old."""
        return max(SHORTEST_SILENCE, SILENT_ROUNDS * (self.every or 0.0))

    @property
    def since(self) -> datetime:
        """When the newest answer was asked for, or from when on one was owed."""
        first = self.committed if self.answered is None else self.answered
        return first if self.resumed is None else max(first, self.resumed)

    def is_silent(self, now: datetime) -> bool:
        """Whether the newest answer is too old, of a site that is watched."""
        return not self.stopped and now - self.since > timedelta(seconds=self.allowed)

    def mark(self, now: datetime) -> str:
        """Return what a change token has of it: another text where what is shown is another."""
        if self.stopped:
            return "-stopped"
        silent = f"-{int(self.led)}{int(self.leads)}" if self.is_silent(now) else ""
        return silent + (f"-{crc32(self.refused.encode()):x}" if self.refused and self.led else "")


def judge_watching(watched: Watched, now: datetime) -> Shown:
    """Return how it stands with the watch over a site: unresponsive where the newest answer is too old (rule 30).

    It is in error where the controller may not do its work, or cannot do all of it.
    """
    if watched.stopped:
        return Shown(Status.SUCCESS, watched.stopped)
    if watched.refused and watched.led:
        return Shown(Status.ERROR, watched.refused)
    if not watched.is_silent(now):
        return Shown(Status.SUCCESS, NOT_YET if watched.answered is None else "")
    moment = f"{watched.since:%Y-%m-%d %H:%M:%S} UTC"
    never = f"nobody has looked at the nodes since the first commit at {moment}"
    if not (watched.led and watched.leads):
        silent = never if watched.answered is None else f"nobody looks at the nodes since {moment}"
        why = "no controller leads this site; read its log" if watched.led else f"{UNLED}, or read its log"
        return Shown(Status.UNRESPONSIVE, f"{silent}: {why}")
    silent = f"{watched.provisioner or 'the provisioner'} has not listed the nodes since {moment}"
    if watched.answered is None:
        silent = f"{never}: {watched.provisioner or 'the provisioner'} has never listed them"
    return Shown(Status.UNRESPONSIVE, f"{silent}; see that it runs, and that its connection leads to it")
