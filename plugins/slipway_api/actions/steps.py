"""The steps of an action: Airflow's tasks, with one step per group (``deploy_group.<group>``). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from site_engine.actions.kinds import DEPLOY_GROUP, RELEASE, REPORT, STEPS, find_kind
from site_store import ActionState
from strategy_lib.phase import GroupState

if TYPE_CHECKING:
    from site_store import ActionRecord

    Groups = Sequence[tuple[str, GroupState]]

_PREFIX = f"{DEPLOY_GROUP}."
_CLOSING = (REPORT, RELEASE)
# Airflow's words for a task.
_GROUP_STATE: Mapping[GroupState, str | None] = {
    GroupState.PENDING: None,
    GroupState.RUNNING: "running",
    GroupState.SUCCESS: "success",
    GroupState.FAILURE: "failed",
}


@dataclass(frozen=True, slots=True)
class StepTask:
    """Which task of the DAG run a step is; ``map_index`` is -1 for a task that is not mapped."""

    task_id: str
    map_index: int = -1


def step_data(action_id: str, step: str, index: int, state: str | None) -> dict[str, Any]:
    """Return a step as Shipyard lists it. ``state`` is Airflow's word, None for a task that has none yet."""
    return {
        "url": f"/actions/{action_id}/steps/{_quoted(step)}",
        "state": state,
        "id": step,
        "index": index,
        "notes": (),
    }


def derived_steps(action: ActionRecord, groups: Groups) -> list[dict[str, Any]]:
    """Return the steps as far as the store knows them, without asking Airflow.

    What is not known has no state: of an action that failed before it had a plan, only its report and its events say
    which step failed.

    Parameters
    ----------
    groups
        The states of the groups in processing order; empty before there is a plan.
    """
    order = _order(action.kind)
    steps: list[tuple[str, str | None]] = []
    begun = order.index(action.step) if action.step in order else -1
    for place, name in enumerate(order):
        if name == DEPLOY_GROUP:
            steps += [(f"{_PREFIX}{group}", _group_state(action, state)) for group, state in groups]
        else:
            steps.append((name, _state(action, name, place, begun, planned=bool(groups))))
    return [step_data(action.id, name, index, state) for index, (name, state) in enumerate(steps, 1)]


def _state(action: ActionRecord, name: str, place: int, begun: int, *, planned: bool) -> str | None:
    if action.state is ActionState.SUCCESS:
        return "skipped" if action.dry_run and STEPS[name].submits else "success"
    over = action.state.is_end
    if over and name == RELEASE and begun >= 0:
        # A teardown: once anything has begun it runs whatever happened, and is as red as the action.
        return "failed"
    if place > begun:
        return None
    if place == begun:
        return "failed" if over else "running"
    # What failed, when the report was made without a plan, is one of the steps before it.
    return None if over and not planned and action.step in _CLOSING else "success"


def _group_state(action: ActionRecord, state: GroupState) -> str | None:
    if action.dry_run and action.state is ActionState.SUCCESS:
        return "skipped"
    # A stopped action leaves the group that was at work without a verdict.
    if action.state.is_end and state is GroupState.RUNNING:
        return "failed"
    return _GROUP_STATE[state]


def airflow_steps(action: ActionRecord, groups: Groups, instances: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps with the states that Airflow gives its task instances.

    Of an action that is over, a group's step is what became of the group: Airflow marks every group of a stopped run
    failed, also those that had succeeded, and those that never began.

    Parameters
    ----------
    groups
        As in `derived_steps`; a group's place is the map index of its task.
    instances
        All task instances of the DAG run, as Airflow's REST API lists them.
    """
    places = {name: place for place, name in enumerate(_order(action.kind))}
    found = []
    for instance in instances:
        task_id, map_index, state = instance["task_id"], int(instance.get("map_index", -1)), instance.get("state")
        if task_id == DEPLOY_GROUP:
            # Not mapped yet: it stands for no group.
            if map_index < 0:
                continue
            name = f"{_PREFIX}{_group_name(groups, map_index, instance)}"
            if action.state.is_end and map_index < len(groups):
                state = _group_state(action, groups[map_index][1])
        else:
            name = task_id if map_index < 0 else f"{task_id}.{map_index}"
        found.append((places.get(task_id, len(places)), map_index, name, state))
    found.sort(key=lambda each: each[:3])
    return [step_data(action.id, name, index, state) for index, (_, _, name, state) in enumerate(found, 1)]


def _group_name(groups: Groups, map_index: int, instance: Mapping[str, Any]) -> str:
    if map_index < len(groups):
        return groups[map_index][0]
    return str(instance.get("rendered_map_index") or map_index)


def task_of(action: ActionRecord, groups: Groups, step: str) -> StepTask | None:
    """Return the task that a step is, None when the action has no such step (yet)."""
    if step.startswith(_PREFIX):
        names = [name for name, _ in groups]
        name = step.removeprefix(_PREFIX)
        return StepTask(DEPLOY_GROUP, names.index(name)) if name in names else None
    return StepTask(step) if step in _order(action.kind) and step != DEPLOY_GROUP else None


def step_of(task_id: str, group: str | None) -> str:
    """Return the step that something was said in: the group's own, else the task's."""
    return f"{_PREFIX}{group}" if group else task_id


# A list of actions has thousands of steps, and few names.
@lru_cache(maxsize=4096)
def _quoted(step: str) -> str:
    return quote(step, safe="")


def _order(kind: str) -> tuple[str, ...]:
    """Return the task ids of a kind of action in their order; none of a kind that this version does not know."""
    known = find_kind(kind)
    return known.task_ids if known is not None else ()
