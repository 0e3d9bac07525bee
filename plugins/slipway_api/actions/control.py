"""Commands to an action that is under way: stop, pause, unpause. Shipyard's words where one comes at the wrong time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from site_engine.actions.kinds import kind_of
from site_engine.dead_actions import reconcile
from site_engine.process import STOP
from site_store import ActionState
from slipway_api.actions.view import dag_status, is_paused
from slipway_api.http.api_errors import ApiError

if TYPE_CHECKING:
    from api_client.airflow import AirflowClient
    from site_store import ActionRecord, SiteStore

CONTROL = "control"
"""The kind of the event that says who gave which command."""


def stop(store: SiteStore, airflow: AirflowClient, action: ActionRecord, user: str) -> None:
    """End the action's DAG run. What was submitted goes on at the provisioner; its nodes become `unknown`.

    Raises `ApiError` 409: the action is over, or its run is not there yet (then it can be tried again).
    """
    _require_open(action, STOP)
    state = airflow.run_state(action.dag_id, action.run_id)
    if state in ("success", "failed"):
        reconcile(store, action.id, lambda *_: state)
        raise _wrong_time(STOP, "running", state)
    if state is None:
        reconcile(store, action.id, lambda *_: None)
        if not store.actions.get(action.id).state.is_end:
            text = f"the run of action {action.id} is not there yet, and may be on its way; try again in a moment"
            raise ApiError(409, text, "Unable to stop action", retry=True)
        _note(store, action, STOP, user)
    else:
        # First, so that the action is closed with the name of the user who stopped it.
        _note(store, action, STOP, user)
        airflow.fail_run(action.dag_id, action.run_id)
        if action.state is ActionState.PENDING:
            # Its tasks never began, so none of them will close it.
            store.actions.close(action.id, ActionState.CANCELLED, f"stopped by {user} before it began")


def pause(store: SiteStore, action: ActionRecord, user: str) -> None:
    """Let no further group of the action start; the one at work ends.

    Raises `ApiError` 409: the action is over or paused, or has no groups.
    """
    _require_open(action, "pause")
    if not kind_of(action.kind).has_groups:
        raise ApiError(409, f"{action.kind} has no groups, so there is nothing to hold back", "Unable to pause action")
    if is_paused(action):
        raise _wrong_time("pause", "running", "paused")
    if not store.actions.set_paused(action.id, True):
        raise _wrong_time("pause", "running", dag_status(store.actions.get(action.id)).lower())
    _note(store, action, "pause", user)


def unpause(store: SiteStore, action: ActionRecord, user: str) -> None:
    """Let the action go on. Raises `ApiError` 409: it is not paused."""
    if not is_paused(action):
        raise _wrong_time("unpause", "paused", dag_status(action).lower())
    if not store.actions.set_paused(action.id, False):
        raise _wrong_time("unpause", "paused", dag_status(store.actions.get(action.id)).lower())
    _note(store, action, "unpause", user)


def _require_open(action: ActionRecord, verb: str) -> None:
    if action.state.is_end:
        raise _wrong_time(verb, "running", dag_status(action).lower())


def _wrong_time(verb: str, wanted: str, found: str) -> ApiError:
    return ApiError(409, f"dag_run state must be {wanted}, but is {found}", f"Unable to {verb} action")


def _note(store: SiteStore, action: ActionRecord, verb: str, user: str) -> None:
    store.actions.record_command(action.id, verb, user)
    store.events.add(action.site, CONTROL, f"{verb} by {user}", action_id=action.id, data={"user": user})
