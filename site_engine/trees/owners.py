"""Which owners are there at the moment of a reading, and what their silence makes of a status (rules 27 and 30)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from site_engine.monitoring.owners import PROVISIONER
from site_store import OwnerCheckIn
from site_store.status.leases import CONTROLLER
from site_store.status.owners import AIRFLOW, NEVER
from strategy_lib.status.entry import OwnerSeen
from strategy_lib.status.leaf import OwnerRecord, Shown, owes
from strategy_lib.status.site import UNLED
from strategy_lib.status.words import Status

GRACE = 60.0
"""Seconds in which an owner that has never checked in may still do so, from the moment on at which it is expected."""


@dataclass(frozen=True)
class Owners:
    """The owners as they are at one moment.

    Attributes
    ----------
    known : those that have ever checked in.
    now : the moment, by the clock that they check in by.
    expected : since when those of this view are expected.
    at_work : Airflow holds a lease for this action, so that it is there whatever it said last.
    """

    known: Mapping[str, OwnerCheckIn]
    now: datetime
    expected: datetime | None = None
    at_work: bool = False
    _there: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    _seen: dict[tuple[str, Status | None], OwnerSeen] = field(default_factory=dict, compare=False, repr=False)

    def is_there(self, name: str) -> bool:
        """Whether an owner has checked in within its interval. One without a name cannot be missed."""
        there = self._there.get(name)
        if there is None:
            there = self._there[name] = self._has_checked_in(name)
        return there

    def _has_checked_in(self, name: str) -> bool:
        if not name or (self.at_work and name.startswith(AIRFLOW)):
            return True
        found = self.known.get(name)
        if found is None:
            return self.expected is None or (self.now - self.expected).total_seconds() <= GRACE
        return found.is_alive(self.now)

    def seen(self, name: str, status: Status | None = None) -> OwnerSeen:
        """Return an owner as an entry shows it."""
        seen = self._seen.get((name, status))
        if seen is None:
            seen = self._seen[name, status] = self._as_seen(name, status)
        return seen

    def _as_seen(self, name: str, status: Status | None) -> OwnerSeen:
        found = self.known.get(name)
        if found is None or found.last_seen == NEVER:
            return OwnerSeen(name, self.is_there(name), status=status)
        return OwnerSeen(name, self.is_there(name), found.last_seen, found.interval_seconds, status)

    def silence(self, name: str) -> str:
        """Say since when an owner is silent, or why nobody asks it."""
        controller = self.known.get(CONTROLLER)
        if name.startswith((AIRFLOW, PROVISIONER)) and controller is not None and not controller.is_alive(self.now):
            return f"nobody asks {name}: {UNLED}"
        found = self.known.get(name)
        if found is None or found.last_seen == NEVER:
            return f"{name} has never checked in"
        return f"{name} has not checked in since {found.last_seen:%Y-%m-%d %H:%M:%S} UTC"

    def judge(self, name: str, shown: Shown, *, turn: bool = True, waiting: bool = False) -> Shown:
        """Return what is shown of a status of this owner: unresponsive where the owner is gone and owes something.

        Parameters
        ----------
        shown : what would be shown if it were there.
        turn, waiting : as for `strategy_lib.status.leaf.owes`.
        """
        stored = None if shown.status is Status.PENDING else shown.status.value
        if not owes(stored, turn=turn, waiting=waiting) or self.is_there(name) or shown.status is Status.UNDEFINED:
            return shown
        return Shown(Status.UNRESPONSIVE, self.silence(name))

    def record(
        self,
        name: str,
        shown: Shown,
        *,
        turn: bool = True,
        waiting: bool = False,
        first: datetime | None = None,
        last: datetime | None = None,
    ) -> OwnerRecord:
        """Return the record of an owner for an entry, with its silence as the message where that is what matters."""
        judged = self.judge(name, shown, turn=turn, waiting=waiting)
        return OwnerRecord(
            name,
            None if shown.status is Status.PENDING else shown.status.value,
            alive=judged.status is not Status.UNRESPONSIVE,
            messages=(judged.message,) if judged.message else (),
            first_updated=first,
            last_updated=last,
        )
