"""Time as the drivers need it: what time it is, and waiting. Replaced in tests."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall clock (UTC) and sleep."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        time.sleep(seconds)
