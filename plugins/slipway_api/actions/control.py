"""What a person decides about an action that is there: stop, pause, retry what failed, answer a group that waits.

Shipyard's words where a command comes at the wrong time.
"""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api_client.airflow import AirflowClient
from site_engine.actions.dead_actions import close_without_report, reconcile
from site_engine.actions.retry import RetryPlan, plan_retry, retry_action
from site_engine.errors import AirflowApiError
from site_engine.groups.approvals import answer_gate, require_approver, waiting_approval
from site_engine.kinds import kind_of
from site_engine.process import CONTROL, STOP
from site_store import ActionRecord, ActionState, ApprovalRecord, SiteStore
from slipway_api.actions.lookup import ActionId, find_action, take_version
from slipway_api.actions.view import dag_status, is_paused
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, Caller, CallerDep
from slipway_api.http.answers import EXAMPLE_ID, LeftOut, Moment, answers, shown
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of, names_in
from slipway_api.http.dependencies import IfMatch, Store, blocking_router, etag_headers

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


router = blocking_router("actions")

_LONGEST_NAME = 300
LONGEST_COMMENT = 2000
APPROVED, REFUSED = "approved", "refused"


class RetriedGroup(BaseModel):
    """A group that is tried again, with the nodes that go again."""

    name: str = Field(examples=["compute"])
    position: int = Field(examples=[1])
    nodes: list[str] = Field(examples=[["node-3"]])
    blocked_by: str | None = Field(examples=["control"], description="Because of which group it did not run.")


class Retry(BaseModel):
    """What a retry does."""

    action_id: str = Field(examples=[EXAMPLE_ID])
    site: str = Field(examples=["default"])
    groups: list[RetriedGroup]
    steps: list[str] = Field(examples=[["report", "release"]])
    nodes: list[str] = Field(examples=[["node-3"]], description="All that go again.")
    left_out: list[LeftOut] = Field(
        examples=[[]], description="Nodes out of use, each with the reason: they do not go again."
    )
    warnings: list[str] = Field(examples=[[]])


class RetryBody(BaseModel):
    """Which groups; without any, all that failed."""

    groups: list[str] | None = Field(default=None, examples=[["compute"]])


class ApprovalBody(BaseModel):
    """The answer."""

    answer: Literal["approved", "refused"]
    comment: str | None = Field(default=None, examples=["the racks are cabled"])


class Approval(BaseModel):
    """An approval, and the answer that counts."""

    action_id: str = Field(examples=[EXAMPLE_ID])
    group: str = Field(examples=["compute"])
    attempt: int = Field(examples=[1])
    moment: str = Field(examples=["before"])
    text: str = Field(examples=["Are the racks cabled?"])
    approvers: list[str] = Field(examples=[[]])
    asked: Moment
    deadline: Moment | None = Field(examples=[None])
    answer: str | None = Field(examples=["approved"])
    answered: Moment | None
    answered_by: str | None = Field(examples=["admin"])
    comment: str | None = Field(examples=["the racks are cabled"])


GroupName = Annotated[str, Path(max_length=_LONGEST_NAME, description="The group.", examples=["compute"])]
Groups = Annotated[
    list[str] | None,
    Query(alias="group", max_length=1000, description="Only these groups, with those in their way or behind them."),
]


@router.get(
    "/actions/{action_id}/retry",
    dependencies=[access.may_read],
    summary="What a retry would do",
    responses=answers(Retry),
)
def get_retry(action_id: ActionId, store: Store, caller: CallerDep, groups: Groups = None) -> JSONResponse:
    """Say which groups and steps would run again, and which nodes go again. Nothing is done.

    The `ETag` is the version of the action: a POST with it does what this says, or nothing.
    """
    action = find_action(store, caller, action_id)
    return JSONResponse(shown_retry(plan_retry(store, action.id, groups or ())), headers=etag_headers(action.version))


@router.post(
    "/actions/{action_id}/retry",
    status_code=202,
    dependencies=[access.may_control],
    summary="Try again what failed",
    openapi_extra=json_body_of(RetryBody),
    responses=answers(Retry, 202),
)
def post_retry(
    action_id: ActionId, body: JsonObject, store: Store, airflow: Airflow, caller: CallerDep, if_match: IfMatch = None
) -> JSONResponse:
    """Clear the groups that failed, those that were skipped because of them, and the tasks behind them (rule 23).

    Nodes that succeeded are left alone. The user's name is kept with the action.
    """
    action = find_action(store, caller, action_id)
    caller.require_control(action.dag_id)
    names = names_in(body, "groups") or ()
    take_version(store, action, if_match)
    plan = retry_action(store, airflow, action.id, caller.name, names)
    return JSONResponse(shown_retry(plan), 202, headers=etag_headers(store.actions.get(action.id).version))


@router.post(
    "/actions/{action_id}/approvals/{group}",
    dependencies=[access.may_read],
    summary="Answer a group that waits for an approval",
    openapi_extra=json_body_of(ApprovalBody),
    responses=answers(Approval),
)
def post_approval(
    action_id: ActionId,
    group: GroupName,
    body: JsonObject,
    store: Store,
    airflow: Airflow,
    caller: CallerDep,
    if_match: IfMatch = None,
) -> JSONResponse:
    """Approve or refuse what a group waits for. A refusal fails the group, with the comment as its reason.

    Who may: those that the group names, else who may change the runs of `deploy_site` and start such an action.
    """
    action = find_action(store, caller, action_id)
    answer, comment = body.get("answer"), body.get("comment")
    if answer not in (APPROVED, REFUSED):
        raise ApiError(400, f"answer must be {APPROVED!r} or {REFUSED!r}", "Bad Request")
    if comment is not None and (not isinstance(comment, str) or len(comment) > LONGEST_COMMENT):
        raise ApiError(400, f"comment must be a text of at most {LONGEST_COMMENT} characters", "Bad Request")
    asked_of(store, caller, action, group)
    take_version(store, action, if_match)
    given = answer_gate(
        store, airflow, action.id, group, caller.name, approved=answer == APPROVED, comment=comment or None
    )
    return JSONResponse(shown(Approval, given))


def asked_of(store: SiteStore, caller: Caller, action: ActionRecord, group: str) -> ApprovalRecord:
    """Return what a group asks the caller. Raises `MayNotAnswer`: it asks others; `NotAsked`: it asks nothing now."""
    asked = waiting_approval(store, action.id, group)
    require_approver(asked, caller.name)
    if not asked.approvers:
        caller.require_control(access.COMMIT_DAG)
        caller.require_create(action.kind)
    return asked


def shown_retry(plan: RetryPlan) -> dict[str, Any]:
    """Return what a retry does, as `Retry` describes it."""
    groups = [shown(RetriedGroup, group) for group in plan.groups]
    left_out = [{"name": name, "reason": why} for name, why in plan.left_out.items()]
    return shown(Retry, plan, groups=groups, left_out=left_out)
