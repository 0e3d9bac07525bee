"""Long lists of provisioners, shared through the store: one is asked for at a time, in the whole installation.

An answer serves those whose need arose before it was asked for. All who come while a list is asked for wait for the
next one. The process that asks says again and again that it is alive, so that another one asks soon after it was
killed. A list that ran out of time is left alone for a while, and is given more time then.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Final

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.shared_lists import Locks, Shared
from site_engine.process import Stopping, process_identity, repeated
from site_store import Lease, LeaseLost, SharedListRecord, SiteStore, StoreError

log = logging.getLogger(__name__)

ALIVE_SECONDS: Final = 10.0
"""So long after its last sign of life a process that asks is taken to be alive."""
LONGEST_TIMEOUT: Final = 300.0
"""Seconds that a list is given at most, unless its connection says more."""
GROWTH: Final = 3
"""The next answer may take this many times as long as the last one."""
PAUSES: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds for which a list is not asked for again, after it ran out of time so often in a row."""
PATIENCE: Final = 2 * LONGEST_TIMEOUT
"""Seconds for which tasks wait for others' answers: for one that was asked for too early, and the next."""
SHORT_PATIENCE: Final = 45.0
"""The same for those who hold a thread that others need: triggers, and requests to the API."""
_FIRST_LOOK: Final = 0.05
_LONGEST_LOOK: Final = 1.0


class Step(Enum):
    """What to do for a list."""

    TAKE = auto()
    """The answer that is kept serves."""
    WAIT = auto()
    """Somebody asks."""
    FAIL = auto()
    """It was asked for since, in vain; or it ran out of time a moment ago."""
    ASK = auto()


def next_step(known: SharedListRecord, since: datetime) -> Step:
    """Return what to do for a list that is needed since a moment. Pure."""
    if known.asked_at is not None and known.asked_at > since:
        return Step.TAKE
    if known.is_asked:
        return Step.WAIT
    if known.problem is not None and known.begun_at is not None and known.begun_at > since:
        return Step.FAIL
    if known.again_at is not None and known.again_at > known.now:
        return Step.FAIL
    return Step.ASK


def time_for(timeout: float, took: float) -> float:
    """Return the seconds that a list is given: those of its connection, and more where the last one took long."""
    return max(timeout, min(GROWTH * took, LONGEST_TIMEOUT))


@dataclass(frozen=True, slots=True)
class _Flight:
    """The right to ask, and the seconds that the last answer took."""

    name: str
    took: float


@dataclass(frozen=True, slots=True)
class StoreLists:
    """Lists that are shared through a store; see `provisioner_client.shared_lists.SharedLists`.

    Parameters
    ----------
    since : the database's time at which the need arose.  [each call]
    patience : seconds for which the answers to others' questions are waited for.
    require_going_on : raises what ends the waiting early; it is called before each look.  [nothing does]
    sleep, monotonic : wait for so many seconds; seconds on a clock that only goes forward.
    """

    store: SiteStore
    since: datetime | None = None
    patience: float = PATIENCE
    require_going_on: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        """Return a list that was asked for after the need arose; while the store is away it is asked for at once."""
        try:
            flight = self._wait(name, timedelta(seconds=age))
        except StoreError as error:
            log.warning("The %s is asked for without regard to others: %s", name, error)
            return ask(timeout)
        if isinstance(flight, str):
            return flight
        return self._ask(name, flight, ask, time_for(timeout, flight.took))

    def from_now(self) -> StoreLists:
        """Return the same for needs that arise with each call."""
        return replace(self, since=None)

    def _wait(self, name: str, age: timedelta) -> str | _Flight:
        """Return the answer to another's question, or the flight for an own one."""
        lists, came, pause = self.store.shared_lists, self.monotonic(), _FIRST_LOOK
        known = lists.get(name)
        since = (known.now if self.since is None else min(self.since, known.now)) - age
        while True:
            step = next_step(known, since)
            if step is Step.FAIL:
                raise _unavailable(known)
            if step is Step.TAKE:
                answer = lists.answer(name, since)
                if answer is not None:
                    return answer
            elif step is Step.ASK:
                flight = uuid.uuid4().hex
                took = lists.begin(name, flight, ALIVE_SECONDS, since)
                if took is not None:
                    return _Flight(flight, took)
            else:
                waited = self.monotonic() - came
                if waited >= self.patience:
                    said = f"another process asks for the {name}, and has no answer for {waited:.0f} s"
                    raise ProvisionerUnavailable(said, timed_out=True)
                self.require_going_on()
                self.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_LOOK)
            known = lists.get(name)

    def _ask(self, name: str, held: _Flight, ask: Callable[[float], str], timeout: float) -> str:
        lists, flight, began = self.store.shared_lists, held.name, self.monotonic()
        try:
            # Others see by it that this process is alive.
            prolong = partial(lists.prolong, name, flight, ALIVE_SECONDS)
            with repeated(prolong, ALIVE_SECONDS / 3, "list-is-asked-for"):
                answer = ask(timeout)
        except ProvisionerUnavailable as trouble:
            problem, took = trouble.detail, self.monotonic() - began
            if trouble.timed_out:
                _note(name, lambda: lists.time_out(name, flight, problem, took, PAUSES))
            else:
                _note(name, lambda: lists.fail(name, flight, problem))
            raise
        except BaseException:
            _note(name, lambda: lists.fail(name, flight, None))
            raise
        took = self.monotonic() - began
        _note(name, lambda: lists.land(name, flight, answer, took))
        return answer


class StoreLock:
    """A lock by its name; see `provisioner_client.shared_lists.SharedLock`. While the store is away nobody gets it."""

    def __init__(self, store: SiteStore, name: str) -> None:
        self._store, self._name = store, name
        self._owner = process_identity()
        self._held: Lease | None = None

    def take(self, seconds: float) -> bool:
        try:
            self._held = self._store.leases.take(self._name, self._owner, seconds)
        except StoreError as error:
            self._held = None
            log.warning("The lock %r cannot be taken: %s", self._name, error)
        return self._held is not None

    def prolong(self, seconds: float) -> bool:
        if self._held is None:
            return False
        try:
            self._held = self._store.leases.renew(self._held, seconds)
        except LeaseLost:
            self._held = None
        except StoreError as error:
            log.warning("The lock %r cannot be kept: %s", self._name, error)
            return False
        return self._held is not None

    def give_up(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        try:
            self._store.leases.give_up(held)
        except StoreError as error:
            log.warning("The lock %r could not be given up, and runs out: %s", self._name, error)


def store_locks(store: SiteStore) -> Locks:
    """Return what gives the locks of a store."""
    return lambda name: StoreLock(store, name)


def shared_by(
    store: SiteStore,
    since: datetime | None = None,
    patience: float = PATIENCE,
    stopping: Stopping | None = None,
) -> Shared:
    """Return what the clients of one store share; see `StoreLists`.

    Parameters
    ----------
    stopping : of the task that waits: one that was told to stop waits no longer, and raises `TaskStopped`.
    """
    require_going_on = (stopping or Stopping()).require_not_told
    return Shared(store_locks(store), StoreLists(store, since, patience, require_going_on))


def _note(name: str, ended: Callable[[], bool]) -> None:
    """Write down how a flight has ended. Where that fails it ends by itself, and the answer is the caller's alone."""
    try:
        ended()
    except StoreError as error:
        log.warning("What came of asking for the %s could not be kept: %s", name, error)


def _unavailable(known: SharedListRecord) -> ProvisionerUnavailable:
    left = 0.0 if known.again_at is None else (known.again_at - known.now).total_seconds()
    if left <= 0:
        return ProvisionerUnavailable(known.problem or "the list could not be read")
    said = f"{known.problem}; so as not to burden it, it is asked for that list again in {left:.0f} s"
    return ProvisionerUnavailable(said, retry_after=left, timed_out=True)
