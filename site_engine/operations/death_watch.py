"""Whether a provisioner task that is said to run is dead: its provisioner was killed under it (rule 13)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provisioner_client.protocol import Provisioner

WHILE_HELD = timedelta(seconds=60)
"""Between two death checks of a task whose nodes another task waits for."""

WHILE_OWN = timedelta(minutes=5)
"""Before the first death check of one's own running task, and between two: it is most likely alive.

It is checked at once when a newer operation is seen to run over the same connection.
"""

# Death checks may take one part in so many of the time: each makes the provisioner read all its tasks.
_SHARE = 20


class DeathWatch:
    """Checks now and then whether one task is dead. Each check makes the provisioner read all its tasks.

    Parameters
    ----------
    provisioner, now : who is asked, and the time.
    first : not before then.
    every : at most so often; less often where the answer takes long.
    """

    def __init__(
        self, provisioner: Provisioner, now: Callable[[], datetime], first: datetime, every: timedelta
    ) -> None:
        self._provisioner = provisioner
        self._now = now
        self._next = first
        self._every = every

    def says_dead(self, task_id: str, *, overtaken: bool = False) -> bool:
        """Whether the task, which is said to run, is certainly dead. False also when it is too early to ask.

        Parameters
        ----------
        task_id : the task.
        overtaken : the provisioner has begun a newer one since it answered last: it is asked now.

        Raises `provisioner_client.errors.ProvisionerError`: there was no answer.
        """
        asked = self._now()
        if asked < self._next and not overtaken:
            return False
        try:
            # What anybody was told since it was begun tells as much, and the provisioner is spared.
            age = 0.0 if overtaken else min(self._every, WHILE_HELD).total_seconds() / 2
            return self._provisioner.is_dead(task_id, age=age)
        finally:
            answered = self._now()
            self._next = answered + max(self._every, _SHARE * (answered - asked))
