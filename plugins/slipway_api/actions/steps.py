"""The steps of an action in Shipyard's shape, one per group (``deploy_group.<group>``), and their logs in Airflow."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, Field

from api_client.airflow import AirflowClient
from site_engine.errors import AirflowApiError, AirflowRefused
from site_engine.kinds import BEGIN_ACTION, DEPLOY_GROUP, KINDS, PLAN_GROUPS, RELEASE, REPORT, SITE_STEPS
from site_engine.kinds import task_of as task_of_step
from site_engine.parameters import parameters_of
from site_store import ActionRecord, ActionState, SiteStore, StepRecord, StepState
from slipway_api.actions.notes import Note, notes_by_subject
from slipway_api.http.answers import EXAMPLE_ID, Moment
from slipway_api.http.api_errors import ApiError
from strategy_lib.phase import GroupState

Groups = Sequence[tuple[str, str]]


log = logging.getLogger(__name__)

_PREFIX = f"{DEPLOY_GROUP}."
# Airflow's words for a task.
_GROUP_STATE: Mapping[str, str | None] = {
    GroupState.PENDING: None,
    GroupState.RUNNING: "running",
    GroupState.SUCCESS: "success",
    GroupState.FAILURE: "failed",
}


class ListedStep(BaseModel):
    """A step of an action."""

    url: str = Field(examples=[f"/actions/{EXAMPLE_ID}/steps/deploy_group.control"])
    state: str | None = Field(examples=["running"])
    id: str = Field(examples=["deploy_group.control"])
    index: int = Field(examples=[7])
    notes: list[Note] = Field(examples=[[]])


class Step(BaseModel):
    """A step, as Airflow knows its task."""

    task_id: str = Field(examples=["deploy_group.control"])
    dag_id: str = Field(examples=["deploy_site"])
    dag_run_id: str | None = Field(examples=[f"default__{EXAMPLE_ID}"])
    map_index: int = Field(examples=[0])
    state: str | None = Field(examples=["running"])
    message: str | None = Field(examples=[None], description="Why its newest attempt failed or was skipped.")
    index: int | None = Field(examples=[7])
    scheduled_when: Moment | None
    queued_when: Moment | None
    start_date: Moment | None
    end_date: Moment | None = Field(examples=[None])
    duration: float | None = Field(examples=[None])
    try_number: int | None = Field(examples=[1])
    max_tries: int | None = Field(examples=[5])
    operator: str | None = Field(examples=["DeployGroupOperator"])
    hostname: str | None = Field(examples=["worker-1"])
    notes: list[Note] = Field(examples=[[]])


# Shown as Airflow gives them; rendered fields and the like are not shown.
_OWN_FIELDS = {"task_id", "dag_id", "dag_run_id", "map_index", "state", "message", "index", "notes"}
_TASK_FIELDS = Step.model_fields.keys() - _OWN_FIELDS


class StepTask(NamedTuple):
    """Which task of the DAG run a step is; ``map_index`` is -1 for a task that is not mapped."""

    task_id: str
    map_index: int = -1


def derived_steps(
    action: ActionRecord,
    groups: Groups,
    noted: Mapping[str, str] = MappingProxyType({}),
    blocked: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the steps as far as the store knows them, without asking Airflow.

    Parameters
    ----------
    groups : the states of the groups in processing order; empty before there is a plan.
    noted : the states that the tasks of steps without a group have noted.
    blocked : groups that were skipped because another one has failed.
    """
    steps: list[tuple[str, str | None]] = []
    for name in _order(action.kind):
        if name == DEPLOY_GROUP:
            steps += [(f"{_PREFIX}{name}", _group_state(action, state, name in blocked)) for name, state in groups]
        else:
            steps.append((name, _state(action, name, noted.get(name, StepState.PENDING))))
    address = f"/actions/{action.id}/steps/"
    return [
        {"url": address + _quoted(name), "state": state, "id": name, "index": index, "notes": ()}
        for index, (name, state) in enumerate(steps, 1)
    ]


def _begun(action: ActionRecord) -> int:
    """Return the place of the step that began last, -1 when none has."""
    order = _order(action.kind)
    return order.index(action.step) if action.step in order else -1


def _is_current(action: ActionRecord, name: str) -> bool:
    # A person who clears a step clears those behind it, too: what they have noted is of before.
    order = _order(action.kind)
    return action.state.is_end or (name in order and order.index(name) <= _begun(action))


def _state(action: ActionRecord, name: str, noted: str) -> str | None:
    has_ended = not isinstance(noted, StepState) or noted.is_end
    if action.state is ActionState.SUCCESS and not has_ended and name in (REPORT, RELEASE):
        # They close the action before they note their own end.
        return StepState.SUCCESS.value
    if noted == StepState.PENDING:
        # A dry run leaves out what submits, and the site may name nothing to come behind its groups.
        return StepState.SKIPPED.value if action.state is ActionState.SUCCESS else None
    if not _is_current(action, name):
        return None
    # The process of a step that still stands as at work when its action is over was killed.
    return str(noted) if has_ended or not action.state.is_end else StepState.FAILED.value


def _group_state(action: ActionRecord, state: str, blocked: bool) -> str | None:
    if action.dry_run and action.state is ActionState.SUCCESS:
        return "skipped"
    if blocked and state == GroupState.FAILURE:
        return "skipped"
    # A stopped action leaves the group that was at work without a verdict.
    if action.state.is_end and state == GroupState.RUNNING:
        return "failed"
    return _GROUP_STATE.get(state, state)


def shown_steps(action: ActionRecord, groups: Groups, noted: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return the steps of one action as the store knows them; Airflow is not asked."""
    states = {row.name: row.state for row in noted if row.group is None}
    blocked = frozenset(row.group for row in noted if row.group is not None and row.state is StepState.SKIPPED)
    return derived_steps(action, groups, states, blocked)


def task_of(action: ActionRecord, groups: Mapping[str, int | None], step: str) -> StepTask:
    """Return the task that a step is. Raises `ApiError` 404: the action has no such step (yet).

    Parameters
    ----------
    groups : the map index of each group's task; None where the group was judged with the plan. Then it is the task that
        plans: its log says how.
    """
    name = step.removeprefix(_PREFIX)
    if step.startswith(_PREFIX) and name in groups:
        place = groups[name]
        return StepTask(PLAN_GROUPS) if place is None else StepTask(parameters_of(action).group_task, place)
    if step not in _order(action.kind) or step == DEPLOY_GROUP:
        raise ApiError(404, f"action {action.id} has no step {step[:200]!r} (yet)", "Step not found")
    return StepTask(task_of_step(step))


# A list of actions has thousands of steps, and few names.
@lru_cache(maxsize=4096)
def _quoted(step: str) -> str:
    return quote(step, safe="")


def _order(kind: str) -> tuple[str, ...]:
    """Return the steps of a kind of action in their order; none of a kind that this version does not know."""
    known = KINDS.get(kind)
    return known.all_steps if known is not None else ()


def describe_step(
    store: SiteStore, airflow: AirflowClient, action: ActionRecord, step: str, verbosity: int
) -> dict[str, Any]:
    """Return a step as Airflow knows its task; as the store knows it, while Airflow does not answer.

    Raises `ApiError` 404: the action has no such step (yet).
    """
    instances: list[dict[str, Any]] = []
    try:
        if action.run_id is not None:
            instances = airflow.task_instances(action.dag_id, action.run_id)
    except AirflowApiError as error:
        log.warning("Step %s of action %s is shown as it stands in the store: %s", step, action.id, error)
    with store.at_one_moment() as at:
        standings, noted = at.groups.standings(action.id), at.steps.of_action(action.id)
        notes = notes_by_subject(at, action.id, verbosity)
    task = task_of(action, {group.name: group.map_index for group in standings}, step)
    listed = shown_steps(action, [(group.name, group.state) for group in standings], noted)
    place = next((one for one in listed if one["id"] == step), None)
    found = _instance(instances, task)
    name, _, group = step.partition(".")
    rows = (one for one in noted if (one.name, one.group) == (name, group or None))
    row = next((one for one in rows if _is_attempt_shown(action, one, found)), None)
    known: Mapping[str, Any] = {} if row is None else _noted_fields(row)
    if task.task_id in (BEGIN_ACTION, SITE_STEPS):
        # Its task has other steps, too: their times are not its own.
        found = {**found, **known}
    return {
        **{field: found.get(field, known.get(field)) for field in _TASK_FIELDS},
        "task_id": step,
        "dag_id": action.dag_id,
        "dag_run_id": action.run_id,
        "map_index": task.map_index,
        "state": place["state"] if place else found.get("state"),
        "message": known.get("message"),
        "index": place["index"] if place else None,
        "notes": notes[f"step/{action.id}/{step}"],
    }


def _is_attempt_shown(action: ActionRecord, row: StepRecord, instance: Mapping[str, Any]) -> bool:
    """Whether a row is of the attempt that Airflow's task instance shows; without an instance, of no older one."""
    if not instance:
        return _is_current(action, row.name)
    # A cleared task has no state, and still the number of its last try.
    return instance["state"] is not None and row.attempt == instance["try_number"]


def _noted_fields(row: StepRecord) -> dict[str, Any]:
    duration = None if row.started is None or row.ended is None else row.ended - row.started
    return {
        "start_date": None if row.started is None else row.started.isoformat(),
        "end_date": None if row.ended is None else row.ended.isoformat(),
        "duration": None if duration is None else duration.total_seconds(),
        "try_number": row.attempt,
        "message": row.message,
    }


def step_log(store: SiteStore, airflow: AirflowClient, action: ActionRecord, step: str, attempt: int | None) -> str:
    """Return the log of one try of a step, the last one by default.

    Raises `ApiError` 404: the action has no such step (yet), or it has not been tried so often; `AirflowApiError`:
    Airflow does not give it.
    """
    groups = store.groups.standings(action.id)
    task = task_of(action, {group.name: group.map_index for group in groups}, step)
    if action.run_id is None:
        raise ApiError(404, f"no DAG run carries action {action.id} out: its steps have no log", "Step not found")
    waits = any(group.attempt_key is None for group in groups if group.map_index == task.map_index)
    instances = airflow.task_instances(action.dag_id, action.run_id) if attempt is None else []
    tries = attempt if attempt is not None else _last_try(instances, task, waits=waits)
    if not tries:
        raise ApiError(404, f"step {step} of action {action.id} has not begun: it has no log yet", "Step not found")
    try:
        return airflow.log(action.dag_id, action.run_id, task.task_id, tries, task.map_index)
    except AirflowRefused as refused:
        if refused.status == 404:
            text = f"step {step} of action {action.id} has no try {tries}"
            raise ApiError(404, text, "Step not found") from refused
        raise


def _last_try(instances: Sequence[Mapping[str, Any]], task: StepTask, *, waits: bool) -> int:
    """Return the number of the last try, 0 when there was none; `waits`: it is a group that has not begun."""
    found = _instance(instances, task)
    # When a run is stopped, Airflow gives a try, and even a beginning, also to groups that never began.
    return 0 if not found or (waits and not found["hostname"]) else int(found["try_number"])


def _instance(instances: Sequence[Mapping[str, Any]], task: StepTask) -> Mapping[str, Any]:
    """Return Airflow's instance of a task; empty where there is none."""
    return next((one for one in instances if (one["task_id"], one["map_index"]) == task), {})
