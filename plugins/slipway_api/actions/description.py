"""One action with its steps, groups and notes; one step, and its log. Airflow is asked once, and may be away."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from site_engine.dead_actions import action_for_display
from site_engine.errors import AirflowApiError, AirflowRefused
from slipway_api.actions.nodes import action_nodes
from slipway_api.actions.notes import notes_of_action
from slipway_api.actions.run_view import run_view
from slipway_api.actions.steps import StepTask, airflow_steps, derived_steps, task_of
from slipway_api.actions.view import described_view
from slipway_api.http.api_errors import ApiError
from strategy_lib.phase import GroupState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from api_client.airflow import AirflowClient
    from site_store import ActionRecord, SiteStore

log = logging.getLogger(__name__)


def describe(store: SiteStore, airflow: AirflowClient, action: ActionRecord, verbosity: int) -> dict[str, Any]:
    """Return an action with all its details; while Airflow does not answer, as the store knows it."""
    run_state: str | None = None
    instances: list[dict[str, Any]] = []
    try:
        if not action.state.is_end:
            run_state = airflow.run_state(action.dag_id, action.run_id)
            action = action_for_display(store, action.id, run_state)
        instances = airflow.task_instances(action.dag_id, action.run_id)
    except AirflowRefused as refused:
        # Its run was deleted, or never was: the store still knows how the action ended.
        log.info("The tasks of action %s are not in Airflow: %s", action.id, refused)
    except AirflowApiError as error:
        log.warning("Action %s is shown as it stands in the store: %s", action.id, error)
    view = run_view(store, action, with_report=False)
    groups = _states(view["groups"])
    steps = airflow_steps(action, groups, instances) if instances else derived_steps(action, groups)
    notes = _notes(store, action, verbosity)
    for step in steps:
        step["notes"] = notes[f"step/{action.id}/{step['id']}"]
    return described_view(
        action,
        run_state=run_state,
        steps=steps,
        notes=notes[f"action/{action.id}"],
        groups=view["groups"],
        nodes=action_nodes(store, action, view["groups"], verbosity),
        audits=store.audits(action.id),
    )


def describe_step(
    store: SiteStore, airflow: AirflowClient, action: ActionRecord, step: str, verbosity: int
) -> dict[str, Any]:
    """Return a step as Airflow knows its task; as the store knows it, while Airflow does not answer.

    Raises
    ------
    ApiError
        404: the action has no such step (yet).
    """
    groups = _states(run_view(store, action, with_report=False)["groups"])
    task = _task(action, groups, step)
    instances: list[dict[str, Any]] = []
    try:
        instances = airflow.task_instances(action.dag_id, action.run_id)
    except AirflowApiError as error:
        log.warning("Step %s of action %s is shown as it stands in the store: %s", step, action.id, error)
    listed = airflow_steps(action, groups, instances) if instances else derived_steps(action, groups)
    place = next((one for one in listed if one["id"] == step), None)
    found = next((one for one in instances if (one["task_id"], one["map_index"]) == (task.task_id, task.map_index)), {})
    return {
        **{field: found.get(field) for field in _TASK_FIELDS},
        "task_id": step,
        "dag_id": action.dag_id,
        "dag_run_id": action.run_id,
        "map_index": task.map_index,
        "state": place["state"] if place else found.get("state"),
        "index": place["index"] if place else None,
        "notes": _notes(store, action, verbosity)[f"step/{action.id}/{step}"],
    }


def step_log(store: SiteStore, airflow: AirflowClient, action: ActionRecord, step: str, attempt: int | None) -> str:
    """Return the log of one try of a step, the last one by default.

    Raises
    ------
    ApiError
        404: the action has no such step (yet), or it has not been tried so often.
    AirflowApiError
        Airflow does not give it.
    """
    groups = store.group_standings(action.id)
    task = _task(action, [(group.name, group.state) for group in groups], step)
    waits = task.map_index >= 0 and groups[task.map_index].attempt_key is None
    tries = attempt if attempt is not None else _last_try(airflow, action, task, waits=waits)
    if not tries:
        raise ApiError(404, f"step {step} of action {action.id} has not begun: it has no log yet", "Step not found")
    try:
        return airflow.log(action.dag_id, action.run_id, task.task_id, tries, task.map_index)
    except AirflowRefused as refused:
        if refused.status == 404:
            text = f"step {step} of action {action.id} has no try {tries}"
            raise ApiError(404, text, "Step not found") from refused
        raise


# What is told of Airflow's task beside its state; its rendered fields and the like are Airflow's own business.
_TASK_FIELDS = (
    "scheduled_when",
    "queued_when",
    "start_date",
    "end_date",
    "duration",
    "try_number",
    "max_tries",
    "operator",
    "hostname",
)


def _notes(store: SiteStore, action: ActionRecord, verbosity: int) -> defaultdict[str, list[dict[str, Any]]]:
    """Return the action's notes by what they are about."""
    notes = defaultdict[str, list[dict[str, Any]]](list)
    for note in notes_of_action(store, action.id, verbosity):
        notes[note["assoc_id"]].append(note)
    return notes


def _states(groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, GroupState]]:
    return [(group["name"], GroupState(group["state"])) for group in groups]


def _task(action: ActionRecord, groups: Sequence[tuple[str, GroupState]], step: str) -> StepTask:
    task = task_of(action, groups, step)
    if task is None:
        raise ApiError(404, f"action {action.id} has no step {step[:200]!r} (yet)", "Step not found")
    return task


def _last_try(airflow: AirflowClient, action: ActionRecord, task: StepTask, *, waits: bool) -> int:
    """Return the number of the last try, 0 when there was none; `waits`: it is a group that has not begun."""
    for instance in airflow.task_instances(action.dag_id, action.run_id):
        if (instance["task_id"], instance["map_index"]) == (task.task_id, task.map_index):
            # When a run is stopped, Airflow gives a try, and even a beginning, also to groups that never began.
            return 0 if waits and not instance["hostname"] else int(instance["try_number"])
    return 0
