"""What the engine needs of a log: an Airflow task has one, the controller another."""

from __future__ import annotations

from typing import Any, Protocol


class TaskLog(Protocol):
    """Takes sentences with ``%`` arguments."""

    def info(self, event: str, /, *args: Any) -> Any:
        """Tell what happens."""

    def warning(self, event: str, /, *args: Any) -> Any:
        """Tell what deserves a second look."""

    def error(self, event: str, /, *args: Any) -> Any:
        """Tell what went wrong."""
