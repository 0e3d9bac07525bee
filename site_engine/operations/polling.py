"""How often and for how long a provisioner task is asked after: values only, nothing here waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

_FIRST_INTERVAL = 0.4
_GROWTH = 1.25


def intervals(longest: float) -> Iterator[float]:
    """Yield the seconds between polls: short at first, growing to ``longest``.

    Short tasks end in seconds, and a person waits for them; long tasks need no more than the configured interval.
    """
    interval = min(_FIRST_INTERVAL, longest) or 0.05
    while True:
        yield interval
        interval = min(interval * _GROWTH, longest) if longest else interval


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Times of one phase, in seconds: longest poll interval, and the timeout of the provisioner's task (rule 14)."""

    interval: float
    timeout: float
    queue_timeout: float

    def deadline(self, submitted: datetime, running_since: datetime | None) -> datetime:
        """Return when the task is given up: its clock starts when the provisioner starts it, not while it queues."""
        if running_since is None:
            return submitted + timedelta(seconds=self.queue_timeout)
        return running_since + timedelta(seconds=self.timeout)
