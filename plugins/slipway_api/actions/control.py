"""Commands to an action that is under way: stop, pause, unpause. Shipyard's words where one comes at the wrong time."""

from __future__ import annotations

import logging

from api_client.airflow import AirflowClient
from site_engine.actions.dead_actions import close_without_report, reconcile
from site_engine.errors import AirflowApiError
from site_engine.kinds import kind_of
from site_engine.process import CONTROL, STOP
from site_store import ActionRecord, ActionState, SiteStore
from slipway_api.actions.view import dag_status, is_paused
from slipway_api.http.api_errors import ApiError

log = logging.getLogger(__name__)

PAUSE, UNPAUSE = "pause", "unpause"
COMMANDS = (STOP, PAUSE, UNPAUSE)


def give_command(store: SiteStore, airflow: AirflowClient, action: ActionRecord, verb: str, user: str) -> None:
    """Give one of `COMMANDS` to an action. One whose DAG run is over or gone is closed first, and is over (rule 24).

    While Airflow does not answer, an action can be paused and unpaused, and not stopped.

    Raises `ApiError` 409: the command does not fit the action's state, or its run is not there yet (then it can be
    tried again).
    """
    state: str | None = None
    if not action.state.is_end and action.run_id is not None:
        try:
            state = airflow.run_state(action.dag_id, action.run_id)
            reconcile(store, action.id, lambda *_: state)
        except AirflowApiError as error:
            if verb == STOP:
                raise
            log.warning("Whether action %s is still going on is not known: %s", action.id, error)
        action = store.actions.get(action.id)
    if verb == STOP:
        _stop(store, airflow, action, state, user)
    elif verb == PAUSE:
        _pause(store, action, user)
    else:
        _unpause(store, action, user)


def _stop(store: SiteStore, airflow: AirflowClient, action: ActionRecord, run_state: str | None, user: str) -> None:
    """End the action's DAG run. What was submitted goes on at the provisioner; its nodes become `unknown`."""
    _require_open(action, STOP)
    if action.run_id is None:
        # From here on the process that carries it out can submit nothing.
        _note(store, action, STOP, user)
        close_without_report(store, action.id)
        return
    if run_state is None:
        text = f"the run of action {action.id} is not there yet, and may be on its way; try again in a moment"
        raise ApiError(409, text, "Unable to stop action", retry=True)
    # First, so that the action is closed with the name of the user who stopped it.
    _note(store, action, STOP, user)
    airflow.fail_run(action.dag_id, action.run_id)
    if action.state is ActionState.PENDING:
        # Its tasks never began, so none of them will close it.
        store.actions.close(action.id, ActionState.CANCELLED, f"stopped by {user} before it began")


def _pause(store: SiteStore, action: ActionRecord, user: str) -> None:
    """Let no further group of the action start; the one at work ends."""
    _require_open(action, PAUSE)
    if not kind_of(action.kind).has_groups:
        raise ApiError(409, f"{action.kind} has no groups, so there is nothing to hold back", "Unable to pause action")
    if is_paused(action):
        raise _wrong_time(PAUSE, "running", "paused")
    if not store.actions.set_paused(action.id, True):
        raise _wrong_time(PAUSE, "running", dag_status(store.actions.get(action.id)).lower())
    _note(store, action, PAUSE, user)


def _unpause(store: SiteStore, action: ActionRecord, user: str) -> None:
    """Let the action go on."""
    if not is_paused(action):
        raise _wrong_time(UNPAUSE, "paused", dag_status(action).lower())
    if not store.actions.set_paused(action.id, False):
        raise _wrong_time(UNPAUSE, "paused", dag_status(store.actions.get(action.id)).lower())
    _note(store, action, UNPAUSE, user)


def _require_open(action: ActionRecord, verb: str) -> None:
    if action.state.is_end:
        raise _wrong_time(verb, "running", dag_status(action).lower())


def _wrong_time(verb: str, wanted: str, found: str) -> ApiError:
    return ApiError(409, f"dag_run state must be {wanted}, but is {found}", f"Unable to {verb} action")


def _note(store: SiteStore, action: ActionRecord, verb: str, user: str) -> None:
    store.actions.record_command(action.id, verb, user)
    store.events.add(action.site, CONTROL, f"{verb} by {user}", action_id=action.id, data={"user": user})
