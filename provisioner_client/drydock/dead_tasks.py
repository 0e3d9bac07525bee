"""Which running task of Drydock is dead: its server was killed under it, and it stays `running` for ever. Pure.

Drydock runs one root task at a time, in order of creation. So a root task that was created later and has begun proves
that an older one, though it is said to run, does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from provisioner_client.protocol import TaskAction

# What POST /tasks accepts. Other tasks without a parent run inside a root task, or beside it (the health check's noop).
_ROOT_ACTIONS: Final = frozenset({*(str(action) for action in TaskAction), "validate_design"})
_RUNNING: Final = frozenset({"running", "terminating"})
# One that was terminated may never have begun, and one that is queued has not.
_BEGUN: Final = frozenset({"running", "complete"})
# Several servers of one Drydock note the time of creation, each by its own clock.
_CLOCKS_DIFFER: Final = timedelta(seconds=1)


def is_dead(tasks: Iterable[object], task_id: str) -> bool:
    """Say whether a task will certainly never end, though it is said to run.

    Parameters
    ----------
    tasks
        Drydock's list of all its tasks, in any order. What cannot be understood proves nothing.
    task_id
        The task in question. False when the list does not have it, or has it as queued or over.
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
