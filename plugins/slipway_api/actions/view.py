"""An action in Shipyard's words and shapes, with Slipway's own facts beside them: created, listed, described."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api_client.airflow import AirflowClient
from site_engine.actions.dead_actions import LIVE, action_for_display, has_unrecorded_end
from site_engine.errors import AirflowApiError
from site_engine.parameters import ALLOW_INTERMEDIATE, parameters_of
from site_engine.trees.status_trees import action_trees
from site_store import ActionListing, ActionRecord, ActionState, SiteStore
from slipway_api.actions.groups import ShownGroup, ShownNode, action_nodes, shown_groups
from slipway_api.actions.notes import Note, notes_by_subject
from slipway_api.actions.steps import ListedStep, derived_steps, shown_steps
from slipway_api.http.answers import EXAMPLE_ID, Moment, shown
from slipway_api.http.api_errors import Finding
from strategy_lib.phase import GroupState

log = logging.getLogger(__name__)


class ActionFacts(BaseModel):
    """What every answer about an action has."""

    id: str = Field(examples=[EXAMPLE_ID])
    name: str = Field(examples=["deploy_site"])
    parameters: dict[str, Any] = Field(examples=[{}])
    dag_id: str = Field(examples=["deploy_site"])
    dag_execution_date: Moment
    user: str = Field(examples=["admin"])
    datetime: Moment
    timestamp: Moment
    context_marker: str | None = Field(examples=["8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50"])
    committed_rev_id: int | None = Field(examples=[3])
    allow_intermediate_commits: bool = Field(examples=[False])
    action_lifecycle: Literal["Pending", "Processing", "Paused", "Complete", "Failed", "Undefined"] = Field(
        examples=["Processing"]
    )
    run_id: str | None = Field(examples=[f"default__{EXAMPLE_ID}"], description="None: no DAG run carries it out.")
    site: str = Field(examples=["default"])
    revision: int | None = Field(examples=[3])
    state: str = Field(
        examples=["running"],
        description="pending, running, success, failed or cancelled; a stored word that nobody knows stays.",
    )
    verdict: str | None = Field(examples=[None])
    left_alone: int = Field(
        examples=[0], description="Nodes of critical groups that a success has neither submitted nor proven."
    )
    started: Moment | None
    ended: Moment | None = Field(examples=[None])
    paused: Moment | None = Field(examples=[None])
    dag_status: str = Field(examples=["RUNNING"])
    steps: list[ListedStep]
    notes: list[Note]


class CreatedAction(ActionFacts):
    """An action that was just created."""

    warnings: list[Finding]


class ListedGroup(BaseModel):
    """A group, in a list of actions."""

    name: str = Field(examples=["control"])
    state: str = Field(examples=["running"])


class ListedAction(ActionFacts):
    """An action, in a list; with its status only where that is asked for."""

    groups: list[ListedGroup]
    status: str | None = Field(default=None, examples=["processing"])
    last_updated: Moment | None = Field(default=None)
    waits: str | None = Field(default=None, description="What its first group that asks a person waits for.")


class Command(BaseModel):
    """A command that was given to an action."""

    id: str = Field(examples=["01ARZ3NDEKTSV4RRFFQ69G5FB0"])
    action_id: str = Field(examples=[EXAMPLE_ID])
    command: str = Field(examples=["invoke"])
    user: str = Field(examples=["admin"])
    datetime: Moment


class DescribedAction(ActionFacts):
    """An action with all its details."""

    validations: list[dict[str, Any]] = Field(examples=[[]])
    command_audit: list[Command]
    groups: list[ShownGroup]
    nodes: list[ShownNode]


# Shipyard's word for an action, and Airflow's for its DAG run.
_WORDS = {
    ActionState.PENDING: ("Pending", "QUEUED"),
    ActionState.RUNNING: ("Processing", "RUNNING"),
    ActionState.SUCCESS: ("Complete", "SUCCESS"),
    # A cancelled one did not do what was asked for; its verdict says why.
    ActionState.FAILED: ("Failed", "FAILED"),
    ActionState.CANCELLED: ("Failed", "FAILED"),
}


def lifecycle(action: ActionRecord) -> str:
    """Return Pending, Processing, Paused, Complete or Failed. The store decides it, never Airflow's tasks.

    Undefined: this version does not know what is stored.
    """
    if action.unknown_state:
        return "Undefined"
    return "Paused" if is_paused(action) else _WORDS[action.state][0]


def is_paused(action: ActionRecord) -> bool:
    """Whether the action is to start no further group; one that is over is not paused any more."""
    return action.paused is not None and not action.state.is_end


def dag_status(action: ActionRecord) -> str:
    """Return the state of the action's DAG run, in Airflow's words and Shipyard's capitals, as the store knows it."""
    return "UNDEFINED" if action.unknown_state else _WORDS[action.state][1]


def created_view(action: ActionRecord) -> dict[str, Any]:
    """Return an action as it was just created."""
    return {**_facts(action), "dag_status": "SCHEDULED", "steps": [], "notes": []}


def listed_view(listing: ActionListing, verbosity: int) -> dict[str, Any]:
    """Return an action as the list shows it, from what one statement gives."""
    action = listing.action
    return {
        **_facts(action),
        "dag_status": dag_status(action),
        "steps": derived_steps(action, listing.groups, listing.steps),
        "notes": [_verdict_note(action)] if verbosity and action.verdict else [],
        "groups": [{"name": name, "state": str(state)} for name, state in listing.groups],
    }


def add_statuses(store: SiteStore, shown: Sequence[dict[str, Any]]) -> None:
    """Add to listed actions how each stands, and when it was updated last: the top of its tree."""
    trees = {tree.root.name: tree for tree in action_trees(store, [one["id"] for one in shown])}
    for one in shown:
        tree = trees.get(one["id"])
        one["status"] = None if tree is None or tree.root.status is None else tree.root.status.value
        one["last_updated"] = None if tree is None else _time(tree.root.last_updated)
        one["waits"] = None if tree is None else tree.header["waits"]


def listings_for_display(store: SiteStore, airflow: AirflowClient, page: list[ActionListing]) -> list[ActionListing]:
    """Return a page with the actions whose run is over or gone as they will be closed (rule 24)."""
    runs = {run for one in page if (run := _open_run(one.action)) is not None}
    if not runs:
        return page
    try:
        states = airflow.run_states(runs)
    except AirflowApiError as error:
        log.warning("Actions are listed as they stand in the store: %s", error)
        return page
    shown = []
    for listing in page:
        run = _open_run(listing.action)
        state = states.get(run) if run is not None else None
        if run is not None and state not in LIVE:
            action = action_for_display(store, listing.action.id, state)
            groups = listing.groups
            if has_unrecorded_end(action):
                failed = GroupState.FAILURE
                groups = tuple((name, failed if at == GroupState.RUNNING else at) for name, at in groups)
            listing = replace(listing, action=action, groups=groups)
        shown.append(listing)
    return shown


def _open_run(action: ActionRecord) -> tuple[str, str] | None:
    """Return the DAG run that Airflow is asked for: that of an action that looks open, where it has one."""
    is_open = not action.state.is_end and not action.unknown_state
    return (action.dag_id, action.run_id) if is_open and action.run_id is not None else None


def describe(
    store: SiteStore, airflow: AirflowClient, action: ActionRecord, verbosity: int
) -> tuple[ActionRecord, dict[str, Any]]:
    """Return an action with all its details, of one moment; while Airflow does not answer, as the store knows it."""
    run_state, is_told = None, False
    try:
        if action.run_id is not None and not action.state.is_end:
            run_state, is_told = airflow.run_state(action.dag_id, action.run_id), True
    except AirflowApiError as error:
        log.warning("Action %s is shown as it stands in the store: %s", action.id, error)
    with store.at_one_moment() as at:
        action = action_for_display(at, action.id, run_state) if is_told else at.actions.get(action.id)
        return action, _described(at, action, run_state, verbosity)


def _described(store: SiteStore, action: ActionRecord, run_state: str | None, verbosity: int) -> dict[str, Any]:
    groups = shown_groups(store, action)
    states = [(group["name"], group["state"]) for group in groups]
    steps = shown_steps(action, states, store.steps.of_action(action.id))
    notes = notes_by_subject(store, action.id, verbosity)
    for step in steps:
        step["notes"] = notes[f"step/{action.id}/{step['id']}"]
    return {
        **_facts(action),
        "dag_status": run_state.upper() if run_state else dag_status(action),
        "steps": steps,
        "notes": [*_waiting_notes(action, groups), *notes[f"action/{action.id}"]],
        "validations": [],
        "command_audit": [
            shown(Command, audit, datetime=_time(audit.at)) for audit in store.actions.commands(action.id)
        ],
        "groups": groups,
        "nodes": action_nodes(store, action, groups, verbosity),
    }


def _facts(action: ActionRecord) -> dict[str, Any]:
    parameters = {name: value for name, value in action.parameters.items() if name != ALLOW_INTERMEDIATE}
    return {
        # Shipyard's.
        "id": action.id,
        "name": action.kind,
        "parameters": parameters,
        "dag_id": action.dag_id,
        "dag_execution_date": _time(action.created),
        "user": action.user,
        "datetime": _time(action.created),
        "timestamp": _time(action.created),
        "context_marker": action.context_marker,
        "committed_rev_id": action.revision,
        "allow_intermediate_commits": parameters_of(action).allow_intermediate,
        "action_lifecycle": lifecycle(action),
        # Slipway's.
        "run_id": action.run_id,
        "site": action.site,
        "revision": action.revision,
        "state": action.stored_state,
        "verdict": action.verdict,
        "left_alone": action.left_alone,
        "started": _time(action.started),
        "ended": _time(action.ended),
        "paused": _time(action.paused) if is_paused(action) else None,
    }


def _waiting_notes(action: ActionRecord, groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what Shipyard's clients are told first of an action that waits for a person."""
    said = "; ".join(f"group {group['name']} {group['waits']}" for group in groups if group["waits"])
    return [_note(action, said, action.started, "")] if said else []


def _verdict_note(action: ActionRecord) -> dict[str, Any]:
    details = f"Details at notedetails/{action.id}" if action.has_report else ""
    return _note(action, action.verdict, action.ended, details)


def _note(action: ActionRecord, said: str | None, at: datetime | None, details: str) -> dict[str, Any]:
    return {
        "assoc_id": f"action/{action.id}",
        "subject": action.id,
        "sub_type": "action",
        "note_val": said,
        "verbosity": 1,
        "note_id": action.id,
        "note_timestamp": _time(at),
        "resolved_url_value": details or None,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
