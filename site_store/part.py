"""What every part of the store has: the database and the clock. The parts are put together in `store.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Connection

from site_store.database import Database
from site_store.dialects import database_time


class StorePart:
    """One noun's methods; each method is one transaction."""

    def __init__(self, database: Database, now: Callable[[], datetime] | None = None) -> None:
        """Nothing is opened yet.

        Parameters
        ----------
        now
            The clock of tests, in aware times, in place of the machine's and of the database's.
        """
        self._database = database
        self._given_clock = now

    def _now(self) -> datetime:
        """Return the time of this machine: for what people read."""
        return self._given_clock() if self._given_clock else datetime.now(UTC)

    def now(self) -> datetime:
        """Return the time of the database, which is that of `created` and of leases."""
        return self._database.read(self._shared_now)

    def _shared_now(self, tx: Connection) -> datetime:
        """Return the time of the database: for what several machines compare, such as the end of a lease."""
        return self._given_clock() if self._given_clock else database_time(tx)
