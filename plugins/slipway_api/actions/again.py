"""What a person decides about an action that is there: have what failed tried again, answer a group that waits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.actions.retry import RetryPlan, plan_retry, retry_action
from site_engine.groups.approvals import answer_gate, require_approver, waiting_approval
from site_store import ActionRecord, ApprovalRecord, SiteStore
from slipway_api.actions.lookup import ActionId, find_action, take_version
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_client import Airflow
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers, shown
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of, names_in
from slipway_api.http.dependencies import Store, blocking_router
from slipway_api.http.etags import IfMatch, etag_headers

router = blocking_router("actions")

_LONGEST_NAME = 300
LONGEST_COMMENT = 2000
APPROVED, REFUSED = "approved", "refused"


class LeftOutNode(BaseModel):
    """A node that does not go again."""

    name: str = Field(examples=["node-2"])
    reason: str = Field(examples=["set to maintenance by ann: new disk"])


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
    left_out: list[LeftOutNode] = Field(
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
def get_retry(action_id: ActionId, store: Store, caller: access.CallerDep, groups: Groups = None) -> JSONResponse:
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
    action_id: ActionId,
    body: JsonObject,
    store: Store,
    airflow: Airflow,
    caller: access.CallerDep,
    if_match: IfMatch = None,
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
    caller: access.CallerDep,
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


def asked_of(store: SiteStore, caller: access.Caller, action: ActionRecord, group: str) -> ApprovalRecord:
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
