"""Drydock's list of all tasks that it ever had, the only place where a task is found by its reference.

One process at a time reads it, for all that need it by then (`provisioner_client/shared_lists.py`). What nobody looks
for in it is not shared.

It costs Drydock 3 to 5 ms for each of them, subtasks included, so it is read only where nothing else tells. It also
shows which running task is dead: its server was killed under it, and it stays `running` for ever.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from provisioner_client.drydock.submission import REFERENCE_KEY, Sighting
from provisioner_client.drydock.wire import list_of, reference_of, task_ids, tasks_with_reference
from provisioner_client.errors import (
    AuthenticationFailed,
    NoTaskListed,
    ProvisionerRefused,
    ProvisionerUnavailable,
    TaskNotFound,
)
from provisioner_client.http_errors import ErrorShape, ErrorText
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import HttpSettings
from provisioner_client.protocol import ACTIONS, ProvisionerTask
from provisioner_client.references import newest_reference
from provisioner_client.shared_lists import SharedLists

log = logging.getLogger(__name__)

API: Final = "/api/v1.0"

# What POST /tasks accepts. Other tasks without a parent run inside a root task, or beside it (the health check's noop).
_ROOT_ACTIONS: Final = frozenset({*ACTIONS.values(), "verify_nodes", "validate_design"})
_RUNNING: Final = frozenset({"running", "terminating"})
# One that was terminated may never have begun, and one that is queued has not.
_BEGUN: Final = frozenset({"running", "complete"})
# Several servers of one Drydock note the time of creation, each by its own clock.
_CLOCKS_DIFFER: Final = timedelta(seconds=1)


def is_dead(tasks: Iterable[object], task_id: str) -> bool:
    """Say whether a task will certainly never end, though it is said to run. Pure.

    Drydock runs one root task at a time, in order of creation. So a root task that was created later and has begun
    proves that an older one, though it is said to run, does not.

    Parameters
    ----------
    tasks : Drydock's list of all its tasks, in any order. What cannot be understood proves nothing.
    task_id : the task in question. False when the list does not have it, or has it as queued or over.
    """
    roots = [task for task in tasks if isinstance(task, Mapping) and _is_root(task)]
    this = [task for task in roots if task.get("task_id") == task_id and str(task.get("status")) in _RUNNING]
    begun = [task for task in roots if task.get("task_id") != task_id and str(task.get("status")) in _BEGUN]
    return len(this) == 1 and any(_is_newer(task, this[0]) for task in begun)


def _is_root(task: Mapping[str, Any]) -> bool:
    return not task.get("parent_task_id") and str(task.get("action")) in _ROOT_ACTIONS


def _is_newer(task: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Whether a task was certainly created later; times with and without a zone cannot be compared."""
    one, other = _moment(task.get("created")), _moment(than.get("created"))
    if one is None or other is None or (one.tzinfo is None) != (other.tzinfo is None):
        return False
    return one - other > _CLOCKS_DIFFER


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def task_data(http: HttpSession, task_id: str, params: Mapping[str, str]) -> Any:
    """Return what Drydock says of one task. Raises `TaskNotFound`: it says that there is none."""
    answer = http.get(f"{API}/tasks/{quote(task_id, safe='')}", params, accept=_unknown_task)
    if answer.status == 404:
        raise TaskNotFound(f"task {task_id}", status=404)
    return answer.data


def _unknown_task(status: int, error: ErrorText) -> bool:
    """Only Drydock itself can say that a task is gone; any other 404 is about the URL."""
    return status == 404 and error.shape is ErrorShape.DRYDOCK


SLOW: Final = 10.0
"""Seconds; a list that takes longer is warned about."""

_NOTHING: Final = "Drydock lists no tasks at all, as it does when it cannot read its database"
_PURGE: Final = "purge old ones with DELETE /api/v1.0/tasks?days=N"


# What is looked for in the task of a phase, and of any root task.
_FACTS: Final = ("task_id", "action", "status", "created")
_RESULTS: Final = ("status", "successes", "failures")


def shared_task(task: object) -> dict[str, Any]:
    """Return what of a task in the list is shared. Pure; what cannot be understood stays so.

    It has neither messages nor the address of the design, and of a subtask the id alone.
    """
    if not isinstance(task, Mapping):
        return {}
    if not _is_root(task):
        return {"task_id": task.get("task_id")}
    kept = {name: task.get(name) for name in _FACTS}
    wanted, result = task.get("node_filter"), task.get("result")
    if isinstance(wanted, Mapping) and REFERENCE_KEY in wanted:
        kept["node_filter"] = {REFERENCE_KEY: wanted[REFERENCE_KEY]}
        kept["result"] = {name: result.get(name) for name in _RESULTS} if isinstance(result, Mapping) else result
    return kept


class TaskList:
    """Looks into the list of tasks: each look into one that is asked for since.

    Parameters
    ----------
    http : where the list is.
    lists, name : how it is shared, and under which name.
    timeout : the seconds that it is waited for at least.
    settings : how to wait.
    """

    def __init__(
        self, http: HttpSession, lists: SharedLists, name: str, timeout: float, settings: HttpSettings
    ) -> None:
        self._http = http
        self._lists, self._name, self._timeout = lists, name, timeout
        self._sleep, self._clock = settings.sleep, settings.clock

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

        Raises `ProvisionerUnavailable`, also when the list stays empty.
        """
        sighting = self.look(reference)
        for pause in (1.0, 2.0):
            if sighting.listed:
                return sighting.task
            # Drydock answers an empty list also when it cannot read its database (trap 15).
            self._sleep(pause)
            sighting = self.look(reference)
        if not sighting.listed:
            raise ProvisionerUnavailable(_NOTHING)
        return sighting.task

    def newest_reference(self, store: str) -> str | None:
        """Return the reference of the newest operation of this store of which there is a task; None: there is none.

        Raises `ProvisionerUnavailable`; `NoTaskListed`: the list is empty.
        """
        tasks = self._read()
        if not tasks:
            raise NoTaskListed(_NOTHING)
        return newest_reference((reference_of(task) for task in tasks if isinstance(task, dict)), store)

    def confirm_gone(self, task_id: str) -> None:
        """Ask the list of tasks, too, before it is believed that a task is gone.

        Raises `ProvisionerUnavailable`: the list has it, cannot be had, or is empty, as when Drydock cannot read its
        database.
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

    def is_dead(self, task_id: str, age: float) -> bool:
        """Say whether a running task will certainly never end (trap 17): a list of so many seconds ago tells, too."""
        return is_dead(self._read(age), task_id)

    def _read(self, age: float = 0.0) -> list[Any]:
        data: list[Any] = json.loads(self._lists.read(self._name, self._ask, self._timeout, age))
        return data

    def _ask(self, timeout: float) -> str:
        started = self._clock()
        try:
            with self._http.slow_answers(timeout):
                data = list_of(self._http.get(f"{API}/tasks").data, "tasks")
        except ProvisionerUnavailable as trouble:
            if trouble.timed_out:
                hint = (
                    f"{trouble.detail}; Drydock lists all tasks that it ever had: {_PURGE}, or raise the read timeout"
                )
                raise ProvisionerUnavailable(
                    hint, status=trouble.status, retry_after=trouble.retry_after, timed_out=True
                ) from trouble
            raise
        took = self._clock() - started
        if took > SLOW:
            said = "GET /tasks took %.0f s: Drydock lists all %d tasks that it ever had, subtasks included; %s"
            log.warning(said, took, len(data), _PURGE)
        return json.dumps([shared_task(task) for task in data], separators=(",", ":"))
