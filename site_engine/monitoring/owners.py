"""Who is there: names of owners, their check-ins from this process, and what an unresponsive one affects (rule 30).

A process writes a check-in at most every quarter of an interval. Calls to a provisioner are counted here meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from provisioner_client.redacting import CallResult
from site_engine.monitoring.metrics import CALL_SECONDS, bucket_of, measure
from site_engine.provisioners import ProvisionerConnection
from site_store import CallCount, CallKey, ExpectedWork, OwnerCheckIn, SiteStore, StoreError
from site_store.status.leases import CONTROLLER
from site_store.status.owners import AIRFLOW, NEVER

log = logging.getLogger(__name__)

AIRFLOW_INTERVAL: Final = 60.0
"""Seconds for which what Airflow runs counts as alive after a sign of life."""
_AFTER_CLOSE: Final = 5.0
"""Seconds between two writes of a process at least that are only for what was counted."""
PROVISIONER: Final = "provisioner:"


def airflow_owner(dag_id: str) -> str:
    """Return the owner that stands for the tasks of a DAG."""
    return f"{AIRFLOW}{dag_id}"


def provisioner_owner(connection_id: str) -> str:
    """Return the owner that stands for the provisioner behind a connection."""
    return f"{PROVISIONER}{connection_id}"


@dataclass(slots=True)
class _Known:
    """What this process knows of one owner since it wrote last."""

    wrote: float | None = None
    alive: bool = False
    calls: defaultdict[CallKey, CallCount] = field(default_factory=lambda: defaultdict(lambda: CallCount(0, 0.0)))


class CheckIns:
    """The check-ins of one process, throttled. They raise nothing: that one fails is no failure of the work."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _Known] = {}

    def seen(self, store: SiteStore, owner: str, interval: float) -> None:
        """Note that an owner is there, unless this process did so a moment ago."""
        self._note(store, owner, interval, None, alive=True, detail=None)

    def called(self, store: SiteStore, owner: str, interval: float, call: str, result: CallResult, took: float) -> None:
        """Count a call to a provisioner; an answer is a sign of life."""
        key = CallKey(call, result.value, bucket_of(CALL_SECONDS, took))
        detail = None if result.is_answer else f"the newest call ({call}) ended with: {result.value}"
        self._note(store, owner, interval, (key, CallCount(1, took)), alive=result.is_answer, detail=detail)

    def flush(self, store: SiteStore, owner: str, interval: float) -> None:
        """Write what was counted, unless this process wrote a moment ago: it may end now."""
        with self._lock:
            known = self._known.get((store.location, owner))
            if known is None or not known.calls or (self._age(known) or 0.0) < _AFTER_CLOSE:
                return
        self._write(store, owner, interval, known, alive=known.alive, detail=None)

    def _note(
        self,
        store: SiteStore,
        owner: str,
        interval: float,
        call: tuple[CallKey, CallCount] | None,
        *,
        alive: bool,
        detail: str | None,
    ) -> None:
        with self._lock:
            known = self._known.setdefault((store.location, owner), _Known())
            if call is not None:
                known.calls[call[0]] += call[1]
            age = self._age(known)
            if age is not None and age < interval / 4 and known.alive == alive:
                return
        self._write(store, owner, interval, known, alive=alive, detail=detail)

    def _age(self, known: _Known) -> float | None:
        return None if known.wrote is None else self._monotonic() - known.wrote

    def _write(
        self, store: SiteStore, owner: str, interval: float, known: _Known, *, alive: bool, detail: str | None
    ) -> None:
        with self._lock:
            calls = dict(known.calls)
            known.calls.clear()
            known.wrote, known.alive = self._monotonic(), alive
        try:
            store.owners.check_in(owner, interval, calls, alive=alive, detail=detail)
        except StoreError as error:
            log.warning("It could not be noted that %s was seen: %s", owner, error)
            with self._lock:
                for key, count in calls.items():
                    known.calls[key] += count


PROCESS: Final = CheckIns()
"""The check-ins of this process."""


@dataclass(frozen=True, slots=True)
class ProvisionerObserver:
    """Checks a provisioner in with each of its answers, and the DAG whose task asks it.

    Parameters
    ----------
    connection : the one over which it is asked.
    dag_id : the DAG for whose action it is asked; None: for none.
    """

    store: SiteStore
    connection: ProvisionerConnection
    dag_id: str | None = None
    check_ins: CheckIns = PROCESS

    def called(self, call: str, result: CallResult, seconds: float) -> None:
        """Count the call, and check in who gave a sign of life by it."""
        owner, interval = provisioner_owner(self.connection.id), self.connection.alive_for
        measure(CALL_SECONDS, (self.connection.id, call, result.value), seconds)
        self.check_ins.called(self.store, owner, interval, call, result, seconds)
        if self.dag_id is not None:
            self.check_ins.seen(self.store, airflow_owner(self.dag_id), AIRFLOW_INTERVAL)

    def shown(self, newest: Mapping[str, int]) -> None:
        """Compare the store with the references that the provisioner shows: who knows more holds all (rule 61)."""
        try:
            self.store.home.note_shown(newest)
        except StoreError as error:
            # Nor can anything be sent then: right before that the store is asked.
            log.warning("The store could not be compared with what %s shows: %s", self.connection.id, error)

    def closed(self) -> None:
        """Write what was counted: a task's process ends without a word."""
        self.check_ins.flush(self.store, provisioner_owner(self.connection.id), self.connection.alive_for)


@dataclass(frozen=True, slots=True)
class OwnerView:
    """An owner as people see it.

    Attributes
    ----------
    alive : seen within its interval, or nothing is expected of it.
    last_seen : None where it never was.
    interval : seconds; None where it never was seen.
    detail : what it said of itself, or why it could not be reached.
    unresponsive_since : since when the controller knows that it is not there.
    expected : the sites and actions that it matters to.
    """

    name: str
    alive: bool
    last_seen: datetime | None
    interval: float | None
    detail: str | None
    unresponsive_since: datetime | None
    expected: tuple[ExpectedWork, ...]

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "name": self.name,
            "alive": self.alive,
            "status": "alive" if self.alive else "unresponsive",
            "last_seen": None if self.last_seen is None else self.last_seen.isoformat(),
            "interval": self.interval,
            "detail": self.detail,
            "unresponsive_since": None if self.unresponsive_since is None else self.unresponsive_since.isoformat(),
            "sites": sorted({work.site for work in self.expected}),
            "actions": sorted({work.action_id for work in self.expected if work.action_id is not None}),
        }


@dataclass(frozen=True, slots=True)
class OwnerPage:
    """Owners by their names, all of one moment. `after`: where the next page begins; None: there is none."""

    read_at: datetime
    owners: list[OwnerView]
    after: str | None = None


def list_owners(store: SiteStore, after: str | None = None, limit: int | None = None) -> OwnerPage:
    """Return every owner that was ever seen, or that work is expected of, with what it affects; by name.

    Parameters
    ----------
    after : only those behind this name, for the next page.
    limit : how many at most; None: all.
    """
    now, seen, works_of_all = store.owners.all()
    known = {owner.name: owner for owner in seen}
    watched = store.watches.all()
    works_of_all += [ExpectedWork(CONTROLLER, site) for site, seen in watched.items() if not seen.stopped]
    # As each site says itself: an answer counts for a while.
    is_late = any(seen.is_silent(now) for seen in watched.values())
    led = store.leases.get(CONTROLLER)
    if led is not None and led.renewed is not None:
        held = (led.expires_at - led.renewed).total_seconds()
        known[CONTROLLER] = OwnerCheckIn(CONTROLLER, led.renewed, held, f"{led.owner} renewed its lease then")
    unled = led is None or led.expires_at < now
    expected: defaultdict[str, list[ExpectedWork]] = defaultdict(list)
    for work in works_of_all:
        expected[work.owner].append(work)
    names = [name for name in sorted({*known, *expected}) if after is None or name > after]
    found = []
    for name in names[:limit]:
        owner, works = known.get(name), tuple(expected.get(name, ()))
        detail, since = (None, None) if owner is None else (owner.detail, owner.unresponsive_since)
        seen_at = interval = None
        alive = not works or (name == CONTROLLER and not is_late)
        if owner is not None and owner.last_seen != NEVER:
            seen_at, interval = owner.last_seen, owner.interval_seconds
            alive = alive or owner.is_alive(now)
            if unled and not alive and name.startswith((AIRFLOW, PROVISIONER)):
                detail = "nobody asks it: no controller runs"
        found.append(OwnerView(name, alive, seen_at, interval, detail, since, works))
    return OwnerPage(now, found, found[-1].name if len(found) < len(names) else None)
