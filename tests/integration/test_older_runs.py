"""Runs that an earlier release began go on with the DAGs of now: they find what Airflow has stored of them.

Bundles are local and have no versions: a run has the tasks of the DAG as it is now. Airflow keeps ids of tasks, and of
one that waits its trigger's path and arguments, and the method that it goes on with.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest

from slipway_airflow.group_trigger import GroupTrigger
from slipway_airflow.triggers import NodesReadyTrigger, ProvisionerTaskTrigger
from tests.support.releases import Release, releases

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag

_TRIGGERS = (GroupTrigger, NodesReadyTrigger, ProvisionerTaskTrigger)
_RESUMED_BY = ("answered", "execute", "execute_complete", "resume")

# Tasks that a later version has added, by DAG, each with what it does in a run that an older one has planned.
ADDED: dict[str, dict[str, str]] = {}


def shape(bag: DagBag) -> dict[str, Any]:
    """Return what Airflow stores of runs, as a release's `dags.json` has it."""
    tasks = {
        dag_id: {
            task.task_id: {
                "upstream": sorted(task.upstream_task_ids),
                "methods": sorted(name for name in _RESUMED_BY if hasattr(_operator(task), name)),
            }
            for task in dag.tasks
        }
        for dag_id, dag in bag.dags.items()
    }
    triggers = {f"{one.__module__}.{one.__qualname__}": _arguments(one) for one in _TRIGGERS}
    return {"tasks": tasks, "triggers": triggers}


def _operator(task: Any) -> type:
    # A mapped task has its operator as a class.
    found: type = getattr(task, "operator_class", type(task))
    return found


def _arguments(trigger: type) -> dict[str, bool]:
    """Return the arguments of a trigger, and whether each must be given."""
    given = inspect.signature(trigger).parameters.values()
    return {one.name: one.default is inspect.Parameter.empty for one in given}


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_rule_60_a_run_of_an_earlier_release_has_all_its_tasks_in_the_same_order(
    release: Release, dagbag: DagBag
) -> None:
    then, now = json.loads(release.file("dags.json").read_text()), shape(dagbag)
    assert set(then["tasks"]) <= set(now["tasks"]), "a run's DAG is gone: its tasks never end"
    for dag_id, tasks in then["tasks"].items():
        added = ADDED.get(dag_id, {})
        found = {name: task for name, task in now["tasks"][dag_id].items() if name not in added}
        found = {name: {**task, "upstream": sorted(set(task["upstream"]) - set(added))} for name, task in found.items()}
        assert found == tasks, f"{dag_id}: think of the runs of {release.version}, then name what was added in ADDED"


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_rule_60_triggers_that_an_earlier_release_stored_can_be_made_again(release: Release) -> None:
    then = json.loads(release.file("dags.json").read_text())["triggers"]
    now = {f"{one.__module__}.{one.__qualname__}": _arguments(one) for one in _TRIGGERS}
    for path, arguments in then.items():
        assert set(arguments) <= set(now[path]), f"{path}: Airflow gives it all that it was stored with"
        assert {name for name, is_needed in now[path].items() if is_needed} <= set(arguments), path
