"""A clock that only waiting moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Stands still until somebody sleeps; then what was planned for meanwhile happens at its moment."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime.now(UTC)
        self._planned: list[tuple[datetime, Callable[[], object]]] = []

    def now(self) -> datetime:
        """Return the time."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move on."""
        until = self._now + timedelta(seconds=seconds)
        due = sorted((plan for plan in self._planned if plan[0] <= until), key=lambda plan: plan[0])
        for plan in due:
            self._planned.remove(plan)
            self._now = max(self._now, plan[0])
            plan[1]()
        self._now = max(self._now, until)

    def after(self, seconds: float, happens: Callable[[], object]) -> None:
        """Plan something for so many seconds from now."""
        self._planned.append((self._now + timedelta(seconds=seconds), happens))
