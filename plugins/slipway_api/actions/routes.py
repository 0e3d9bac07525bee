"""The routes of actions, at Shipyard's paths: list, create, describe, steps and their logs, control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
from fastapi import Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from slipway_api.actions.control import COMMANDS, give_command
from slipway_api.actions.creation import create
from slipway_api.actions.lookup import ID_LENGTH, ActionId, actions_of_run, find_action, take_version
from slipway_api.actions.request import ActionBody, WantedAction
from slipway_api.actions.steps import Step, describe_step, step_log
from slipway_api.actions.view import (
    CreatedAction,
    DescribedAction,
    ListedAction,
    add_statuses,
    created_view,
    describe,
    listed_view,
    listings_for_display,
)
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, CallerDep
from slipway_api.http.answers import PlainText, answers, text_answer
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import json_body_of
from slipway_api.http.concurrency import in_thread
from slipway_api.http.dependencies import (
    DEFAULT_SITE,
    DEFAULT_VERBOSITY,
    IfMatch,
    SiteName,
    Store,
    Verbosity,
    blocking_router,
    etag_headers,
    link_to_next,
)
from slipway_api.http.long_polls import LONG_POLLS, Since, Wait

router = blocking_router("actions")

_LONGEST_PAGE = 1000
_MOST_JUDGED = 100
# Airflow keeps it in a column of 32 bits.
_LARGEST_TRY = 2**31 - 1


Limit = Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many actions at most.")]
Before = Annotated[
    str | None,
    Query(
        pattern="^[0-9A-Za-z]{26}$",
        description="Only actions older than the one of this id: the header `Link` has it for the next page.",
    ),
]
StepName = Annotated[
    str, Path(description="A step of it: a task's name, or `deploy_group.` and a group's name.", examples=["acquire"])
]
Verb = Annotated[str, Path(description="The command.", json_schema_extra={"enum": ["stop", "pause", "unpause"]})]
Try = Annotated[
    int | None,
    Query(alias="try", ge=1, le=_LARGEST_TRY, description="Which try of the step; by default the last one."),
]


@dataclass(frozen=True, slots=True)
class ActionList:
    """Which actions are listed, and how."""

    site: SiteName = DEFAULT_SITE
    limit: Limit = _LONGEST_PAGE
    before: Before = None
    verbosity: Verbosity = DEFAULT_VERBOSITY
    status: Annotated[
        bool, Query(description=f"With the status of each, and when it was updated last; {_MOST_JUDGED} at most.")
    ] = False
    since: Since = None
    wait: Wait = 0.0


@router.get(
    "/actions",
    dependencies=[access.may_read],
    summary="List actions",
    responses={**answers(list[ListedAction]), 204: {"description": "Nothing is different from `since`."}},
)
async def list_actions(
    request: Request, store: Store, airflow: Airflow, caller: CallerDep, asked: Annotated[ActionList, Depends()]
) -> Response:
    """Return the newest actions of a site, newest first: one query, and at most one call to Airflow.

    Airflow is asked only for actions that look open; one whose DAG run is over or gone is shown as over. Actions of
    DAGs that the caller may not see are left out. With `since` and `wait` the answer comes as soon as one is different.
    """

    def read_token() -> str:
        return store.trees.site_token(asked.site)

    tag: dict[str, str] = {}
    if asked.since is not None:
        if asked.wait > 0:
            await LONG_POLLS.get().newer((store, "site", asked.site), read_token, asked.since, asked.wait)
        # Read before the list: what changes meanwhile is told of by the next request.
        token = await in_thread(read_token)
        tag = {"ETag": f'"{token}"', "Cache-Control": "private, no-cache"}
        if asked.since == token:
            return Response(status_code=204, headers=tag)

    def work() -> Response:
        most = min(asked.limit, _MOST_JUDGED) if asked.status else asked.limit
        listings = store.actions.newest(asked.site, most + 1, asked.before)
        page, more = listings[:most], len(listings) > most
        headers = link_to_next(request, limit=most, before=page[-1].action.id) if more else {}
        readable = {dag_id for dag_id in {listing.action.dag_id for listing in page} if caller.may_read(dag_id)}
        # Airflow does not list the runs of other DAGs for this caller: their actions would look over.
        page = listings_for_display(store, airflow, [one for one in page if one.action.dag_id in readable])
        shown = [listed_view(listing, asked.verbosity) for listing in page]
        if asked.status:
            add_statuses(store, shown)
        # The largest of our answers: megabytes for a thousand actions, and msgspec writes them many times as fast.
        return Response(msgspec.json.encode(shown), media_type="application/json", headers={**headers, **tag})

    return await in_thread(work)


@router.post(
    "/actions",
    status_code=201,
    dependencies=[access.may_act],
    summary="Create an action",
    openapi_extra=json_body_of(ActionBody),
    responses=answers(CreatedAction, 201),
)
def create_action(
    request: Request, wanted: WantedAction, store: Store, airflow: Airflow, caller: CallerDep
) -> JSONResponse:
    """Validate what is asked for, write the action down, and trigger the DAG run of the same name and id.

    An answer that is lost leaves no run without an action: asking again says that the site is busy with it (409).
    """
    action, warnings = create(wanted, store, airflow, caller)
    shown = created_view(action) | {"warnings": warnings}
    return JSONResponse(shown, 201, headers={"Location": f"{request.url.path}/{action.id}"})


@router.get(
    "/actions/{action_id}",
    dependencies=[access.may_read],
    summary="Describe an action",
    responses=answers(DescribedAction),
)
def get_action(
    action_id: ActionId, store: Store, airflow: Airflow, caller: CallerDep, verbosity: Verbosity = DEFAULT_VERBOSITY
) -> JSONResponse:
    """Return an action with its steps, groups, notes, and the commands that were given to it."""
    action = find_action(store, caller, action_id)
    action, shown = describe(store, airflow, action, verbosity)
    return JSONResponse(shown, headers=etag_headers(action.version))


@router.get(
    "/actions/{action_id}/steps/{step:path}/logs",
    dependencies=[access.may_read],
    summary="The log of a step",
    response_class=Response,
    responses=text_answer("[2026-03-01T12:00:00Z] INFO Site default is held.\n"),
)
def get_step_log(
    action_id: ActionId, step: StepName, store: Store, airflow: Airflow, caller: CallerDep, attempt: Try = None
) -> PlainText:
    """Return what Airflow has logged for one try of a step."""
    if len(action_id) != ID_LENGTH and not actions_of_run(store, action_id):
        raise ApiError(400, f"the id of an action has {ID_LENGTH} characters", "Bad Request")
    action = find_action(store, caller, action_id)
    caller.require_read_logs(action.dag_id)
    return PlainText(step_log(store, airflow, action, step, attempt))


@router.get(
    "/actions/{action_id}/steps/{step:path}",
    dependencies=[access.may_read],
    summary="Describe a step",
    responses=answers(Step),
)
def get_step(
    action_id: ActionId,
    step: StepName,
    store: Store,
    airflow: Airflow,
    caller: CallerDep,
    verbosity: Verbosity = DEFAULT_VERBOSITY,
) -> JSONResponse:
    """Return a step as Airflow knows its task, with its place and its notes."""
    action = find_action(store, caller, action_id)
    return JSONResponse(describe_step(store, airflow, action, step, verbosity))


@router.get(
    "/actions/{action_id}/validations/{validation_id}",
    dependencies=[access.may_read],
    # There is no good answer to describe.
    status_code=404,
    summary="Describe a failed validation",
)
def get_validation(action_id: ActionId, validation_id: str, store: Store, caller: CallerDep) -> JSONResponse:
    """Answer 404: an action that fails its validation is not created, and says everything at once instead."""
    find_action(store, caller, action_id)
    raise ApiError(404, f"action {action_id} has no failed validation {validation_id[:64]!r}: none are kept")


@router.post(
    "/actions/{action_id}/control/{verb}",
    status_code=202,
    dependencies=[access.may_act],
    summary="Stop, pause or unpause an action",
    response_class=Response,
)
def control_action(
    action_id: ActionId, verb: Verb, store: Store, airflow: Airflow, caller: CallerDep, if_match: IfMatch = None
) -> Response:
    """Give a command to an action: `stop`, `pause` (no new group starts, the one at work ends), `unpause`."""
    if verb not in COMMANDS:
        text = f"Control not supported: {verb[:64]!r}; use {', '.join(COMMANDS)}"
        raise ApiError(404, text, "Control not supported")
    action = find_action(store, caller, action_id)
    caller.require_control(action.dag_id)
    take_version(store, action, if_match)
    give_command(store, airflow, action, verb, caller.name)
    # Shipyard's client reads the header before it looks whether there is a body.
    headers = etag_headers(store.actions.get(action.id).version)
    return Response(status_code=202, media_type="text/plain", headers=headers)
