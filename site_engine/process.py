"""What the engine needs of the process that it runs in: the time, and whether it was told to stop. Tests replace both.

A task that was told to stop, by a signal or by a command to its action, submits nothing more.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from site_engine.errors import TaskStopped
from site_store import SiteStore, StoreError

STOP: Final = "stop"
"""The command that ends an action, as it is kept in its audits."""
CONTROL: Final = "control"
"""The kind of the event that says who gave which command."""
_EVER: Final = datetime.min.replace(tzinfo=UTC)


class Clock(Protocol):
    """The time, by which what is in the store was written, and sleep."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class SharedClock:
    """The database's clock: what is compared with it was written by that, maybe by another machine.

    The database is asked once. From then on this machine only says how much time has passed.
    """

    def __init__(self, store: SiteStore) -> None:
        """Raises `site_store.StoreUnavailable`: the database could not be asked."""
        self._asked, self._began = store.now(), time.monotonic()

    def now(self) -> datetime:
        """Return the database's time."""
        return self._asked + timedelta(seconds=time.monotonic() - self._began)

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        time.sleep(seconds)


@dataclass
class Stopping:
    """What a task knows of its being stopped.

    Parameters
    ----------
    store : asked for commands to the action.
    action_id : the action; "" where only a signal counts.
    since : when the task started, by the database's clock: an earlier command to stop was about an earlier try.
    told : set by the signal's handler.
    """

    store: SiteStore | None = None
    action_id: str = ""
    since: datetime = _EVER
    told: bool = False

    def require_going_on(self) -> None:
        """Make sure that this task may still submit something.

        Raises `TaskStopped`: it was told to stop, or its action was stopped since it started.
        """
        self.require_not_told()
        if self.store is None or not self.action_id:
            return
        for audit in self.store.actions.commands(self.action_id):
            if audit.command == STOP and audit.at >= self.since:
                raise TaskStopped(f"the action was stopped by {audit.user}: nothing more is submitted")

    def require_not_told(self) -> None:
        """Make sure that no signal has told this task to stop; asks nobody. Raises `TaskStopped`: one has."""
        if self.told:
            raise TaskStopped("this task was told to stop: nothing more is submitted")


@contextmanager
def repeated(act: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """Do something every so many seconds, in a thread of this name, until the block ends.

    What the store refuses, or is away for, is no reason to stop: the next time it is done again.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            with suppress(StoreError):
                act()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def process_identity() -> str:
    """Return a name of this process for leases: host, process id, and a random part (process ids are reused)."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
