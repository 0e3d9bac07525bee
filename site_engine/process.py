"""What the engine needs of the process that it runs in: the time, a log, and whether it was told to stop.

A task that was told to stop, by a signal or by a command to its action, submits nothing more. Tests replace all three.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from site_engine.errors import TaskStopped

if TYPE_CHECKING:
    from site_store import SiteStore

STOP: Final = "stop"
"""The command that ends an action, as it is kept in its audits."""
CONTROL: Final = "control"
"""The kind of the event that says who gave which command."""


class Clock(Protocol):
    """Wall clock (UTC) and sleep."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class TaskLog(Protocol):
    """Takes sentences with ``%`` arguments."""

    def info(self, event: str, /, *args: Any) -> Any:
        """Tell what happens."""

    def warning(self, event: str, /, *args: Any) -> Any:
        """Tell what deserves a second look."""

    def error(self, event: str, /, *args: Any) -> Any:
        """Tell what went wrong."""


@dataclass
class Stopping:
    """What a task knows of its being stopped.

    Parameters
    ----------
    store : asked for commands to the action.
    action_id : the action; "" where only a signal counts.
    since : when the task started: an earlier command to stop was about an earlier try.
    told : set by the signal's handler.
    """

    store: SiteStore | None = None
    action_id: str = ""
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
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
