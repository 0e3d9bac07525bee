"""Drydock's list of all tasks that it ever had, the only place where a task is found by its reference.

It costs Drydock 3 to 5 ms for each of them, subtasks included, so it is read only where nothing else tells.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from provisioner_client.drydock.dead_tasks import is_dead
from provisioner_client.drydock.submission import Sighting
from provisioner_client.drydock.wire import task_ids, tasks_with_reference
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.http_session import HttpSession
from provisioner_client.protocol import ProvisionerTask

log = logging.getLogger(__name__)

SLOW: Final = 10.0
"""Seconds; a list that takes longer is warned about."""

_PURGE: Final = "purge old ones with DELETE /api/v1.0/tasks?days=N"


class TaskList:
    """Looks into the list of tasks, anew each time.

    Parameters
    ----------
    http, path
        Where the list is.
    sleep, clock
        Wait for so many seconds; seconds since any moment. Given by tests.
    """

    def __init__(
        self,
        http: HttpSession,
        path: str,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._path = path
        self._sleep = sleep
        self._clock = clock

    def look(self, reference: str) -> Sighting:
        """Look once for the task with a reference (trap 10)."""
        data = self._read()
        found = tasks_with_reference(data, reference)
        if len(found) > 1:
            others = ", ".join(task.task_id for task in found[1:])
            log.error("reference %s is on several tasks; %s is taken, not %s", reference, found[0].task_id, others)
        return Sighting(found[0] if found else None, len(data))

    def find(self, reference: str) -> ProvisionerTask | None:
        """Give the task with a reference, None when there is certainly none (traps 10 and 15).

        Raises
        ------
        ProvisionerUnavailable
            Also when the list stays empty.
        """
        sighting = self.look(reference)
        for pause in (1.0, 2.0):
            if sighting.listed:
                return sighting.task
            # Drydock answers an empty list also when it cannot read its database (trap 15).
            self._sleep(pause)
            sighting = self.look(reference)
        if not sighting.listed:
            raise ProvisionerUnavailable("Drydock lists no tasks at all, as it does when it cannot read its database")
        return sighting.task

    def confirm_gone(self, task_id: str) -> None:
        """Ask the list of tasks, too, before it is believed that a task is gone.

        Raises
        ------
        ProvisionerUnavailable
            The list has it, cannot be had, or is empty, as when Drydock cannot read its database.
        """
        try:
            listed = task_ids(self._read())
        except AuthenticationFailed:
            raise
        except ProvisionerRefused as refusal:
            detail = f"task {task_id} is not found, and the list of tasks cannot be read: {refusal.detail}"
            raise ProvisionerUnavailable(detail, status=refusal.status) from refusal
        if not listed or task_id in listed:
            raise ProvisionerUnavailable(f"Drydock contradicts itself about task {task_id}", status=404)

    def is_dead(self, task_id: str) -> bool:
        """Say whether a running task will certainly never end (trap 17)."""
        return is_dead(self._read(), task_id)

    def _read(self) -> list[Any]:
        started = self._clock()
        try:
            data = self._http.get(self._path).data
        except ProvisionerUnavailable as trouble:
            if trouble.timed_out:
                hint = (
                    f"{trouble.detail}; Drydock lists all tasks that it ever had: {_PURGE}, or raise the read timeout"
                )
                raise ProvisionerUnavailable(
                    hint, status=trouble.status, retry_after=trouble.retry_after, timed_out=True
                ) from trouble
            raise
        if not isinstance(data, list):
            raise ProvisionerProtocolError("the list of tasks is not a list")
        took = self._clock() - started
        if took > SLOW:
            said = "GET /tasks took %.0f s: Drydock lists all %d tasks that it ever had, subtasks included; %s"
            log.warning(said, took, len(data), _PURGE)
        return data
