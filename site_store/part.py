"""What every part of the store has: the database and the clock. The parts are put together in `store.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from site_store.database import Database


class StorePart:
    """One noun's methods; each method is one transaction."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now
