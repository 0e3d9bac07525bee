"""Limits how often one asks whether a running task is dead: each answer makes the provisioner read all its tasks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provisioner_client.protocol import Provisioner

WHILE_HELD = timedelta(seconds=60)
"""Between two questions about a task whose nodes another task waits for."""

WHILE_OWN = timedelta(minutes=5)
"""Before the first question about one's own running task, and between two: it is most likely alive."""

# Waiting for answers may take one part in so many of the time.
_SHARE = 20


class DeathWatch:
    """Asks about one task.

    Parameters
    ----------
    provisioner, now
        Who is asked, and the time.
    first
        Not before then.
    every
        At most so often; less often where the answer takes long.
    """

    def __init__(
        self, provisioner: Provisioner, now: Callable[[], datetime], first: datetime, every: timedelta
    ) -> None:
        self._provisioner = provisioner
        self._now = now
        self._next = first
        self._every = every

    def says_dead(self, task_id: str) -> bool:
        """Whether the task, which is said to run, is certainly dead. False also when it is too early to ask.

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            There was no answer.
        """
        asked = self._now()
        if asked < self._next:
            return False
        try:
            return self._provisioner.is_dead(task_id)
        finally:
            answered = self._now()
            self._next = answered + max(self._every, _SHARE * (answered - asked))
