"""Whether anybody looks at the nodes of a site: its statuses are as old as the newest answer of its provisioner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from strategy_lib.status.leaf import Shown
from strategy_lib.status.words import Status

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
    """

    committed: datetime
    answered: datetime | None
    every: float | None
    provisioner: str
    led: bool
    leads: bool = True
    resumed: datetime | None = None
    stopped: str = ""

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
        return f"-{int(self.led)}{int(self.leads)}" if self.is_silent(now) else ""


def judge_watching(watched: Watched, now: datetime) -> Shown:
    """Return how it stands with the watch over a site: unresponsive where the newest answer is too old (rule 30)."""
    if watched.stopped:
        return Shown(Status.SUCCESS, watched.stopped)
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
