"""Create an action: everything that can be known to be wrong is said now; then its row, and only then its DAG run.

Its dry run is the code of its plan, on the provisioner's list that was read last.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastapi.responses import JSONResponse

from api_client.airflow import AirflowClient
from design_rendering.design import KeyedDesign
from design_rendering.redaction import Redactor
from provisioner_client.errors import ProvisionerError
from site_engine.admission import busy_site, judge_critical_groups, judge_design
from site_engine.errors import AirflowApiError, AirflowRefused, SettingsError
from site_engine.kinds import Override
from site_engine.node_lists import NodeList, last_list
from site_engine.parameters import CONTINUE_ON_FAIL
from site_engine.plans.plan import SitePlan
from site_engine.plans.site_plans import plan_request
from site_store import ActionRecord, ActionState, NewAction, SiteBusy, SiteStore
from slipway_api.actions.request import (
    ActionBody,
    ActionRequest,
    CheckedRequest,
    WantedAction,
    checked,
    design_of,
    is_over,
    require_in_use,
    require_none,
)
from slipway_api.documents.provisioner_check import NOT_ASKED
from slipway_api.documents.validation import Validated, validation_of_revision
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, Caller, CallerDep, longest_mapping
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError, plain_message
from slipway_api.http.bodies import json_body_of
from slipway_api.http.dependencies import Store, blocking_router, provisioners
from slipway_api.sites.site_plans import NAME, Fresh, ShownPlan, sentences_of, shown_plan
from slipway_api.sites.site_statuses import read_list
from strategy_lib.phase import Phase
from strategy_lib.warnings import NO_GROUPS, group_count_problem

router = blocking_router("actions")


@router.post(
    "/actions/plan",
    dependencies=[access.may_act],
    summary="A dry run of an action, without a DAG run",
    openapi_extra=json_body_of(ActionBody),
    responses=answers(ShownPlan),
)
def plan_route(
    wanted: WantedAction, store: Store, airflow: Airflow, caller: CallerDep, fresh: Fresh = False
) -> JSONResponse:
    """Say what an action would submit, group by group, if every node succeeded. Nothing is created.

    It uses the list of nodes that was read last, and says how old that is. Of a node on which an operation was
    over since, it counts how that left it. Where no list was ever read, the provisioner is asked. The design is not
    judged.
    """
    return JSONResponse(dry_run(wanted, store, airflow, caller, fresh=fresh))


def dry_run(
    request: ActionRequest, store: SiteStore, airflow: AirflowClient, caller: Caller, *, fresh: bool = False
) -> dict[str, Any]:
    """Return what an action would do, as `ShownPlan` describes it. Nothing is validated nor started.

    Parameters
    ----------
    fresh : the provisioner is asked for its list of nodes; otherwise only where none was ever read.

    Raises
    ------
    ApiError : 400: no such kind, wrong parameters, no committed revision, one that cannot be read, no such node. 403:
        the caller may not trigger this DAG. 409: commits were skipped, critical groups would fall short, or named
        nodes are out of use.
    ProvisionerError, SettingsError, ConnectionLookupFailed : the provisioner cannot be asked.
    """
    asked = checked(request, store, airflow, caller)
    design = design_of(store, asked.site, asked.revision)
    require_none(judge_design(asked.parameters, asked.site, asked.revision, design, ()))
    require_in_use(store, asked)
    listed = None if fresh else last_list(store, request.site)
    if listed is None:
        read = read_list(store, request.site)
        # With the time that everybody is told from now on.
        listed = last_list(store, request.site) or read
    plan, notes = judged_plan(store, asked, design, listed)
    # Where nothing is to be submitted Airflow maps no group at all.
    mapped = group_count_problem(plan.rehearsal.mapped, longest_mapping()) if plan.rehearsal.mapped else None
    problem = mapped if plan.groups else NO_GROUPS
    if problem is not None and asked.kind.has_groups:
        raise ApiError(400, problem, "Bad Request")
    shown = shown_plan(plan, with_unchanged=True, now=store.now())
    return shown | {"notes": [*notes, *asked.skipped, *shown["notes"]]}


def judged_plan(
    store: SiteStore, asked: CheckedRequest, design: KeyedDesign, listed: NodeList
) -> tuple[SitePlan, list[dict[str, Any]]]:
    """Return what an action would do, and as warnings what it sets aside that speaks against it.

    Raises `ApiError` 409: it takes critical groups down, or more nodes than the settings of the site allow.
    """
    conditions = {name: node.condition for name, node in listed.nodes.items()}
    users = store.user_states.in_force(asked.site)
    notes = require_none(judge_critical_groups(asked.kind, asked.parameters, design, conditions, users))
    plan = plan_request(store, asked.kind, asked.parameters, design, asked.site, asked.revision, listed)
    return plan, notes + require_none(plan.rehearsal.refusals)


log = logging.getLogger(__name__)

OVERRIDDEN = "overridden"
"""The kind of the event that says what an action was started in spite of."""

NOT_LISTED = "which nodes are deployed is not known: the provisioner does not list them"
_KEPT_MESSAGES = 200


def create(
    request: ActionRequest, store: SiteStore, airflow: AirflowClient, caller: Caller, *, run_id: str | None = None
) -> tuple[ActionRecord, list[Mapping[str, Any]]]:
    """Validate a request, write its action down, and trigger the DAG run; with a `run_id` that run, once.

    Returns the action, and what is to be said of it (messages in Airship's shape).

    Raises `ApiError` 400: no such kind, wrong parameters, no committed revision, a revision that is not valid, no such
    node. 403: the caller may not trigger this DAG. 409: it is switched off, commits were skipped, critical groups would
    fall short, named nodes are out of use, or another action is on the site. 503: it is not known whether Airflow
    started the run; the action is pending. 503: the provisioner could not be asked to check the design. Raises
    `ConnectionLookupFailed`: it is not known which provisioner is the site's: nothing was started.
    """
    asked = checked(request, store, airflow, caller)
    kind, site = asked.kind, asked.site
    prunes = asked.parameters.allows(Override.PRUNE)
    if prunes:
        # It destroys nodes: who asks for it has to have the right to do so.
        caller.require_create(Phase.DESTROY.value)
    _require_switched_on(airflow, kind.name)
    # Decided once: whatever becomes of the site's connections, this action uses no other.
    connection = provisioners().find_for_site(site)
    validated = validation_of_revision(site, asked.revision)
    overridden = _judge(validated, asked)
    if validated.design is not None:
        default = validated.design.settings.max_parallel_groups
        asked = replace(asked, parameters=asked.parameters.with_default(kind, default))
    follows = validated.design.configuration.after_success if validated.design is not None else None
    if follows and kind.steps_behind:
        # It runs with the rights of the run: who asks for the one has to have them for the other.
        caller.require_create(follows)
    require_none(judge_design(asked.parameters, site, asked.revision, validated.design, _exposed(validated)))
    require_in_use(store, asked)
    notes: list[dict[str, Any]] = []
    if validated.design is not None:
        listed = read_list(store, site) if kind.is_destructive or prunes else list_if_known(store, site)
        if listed is None:
            notes = [plain_message(NOT_LISTED, "Warning", name=NAME)]
        else:
            plan, in_spite = judged_plan(store, asked, validated.design, listed)
            overridden += in_spite
            notes = sentences_of(plan)
    parameters = asked.parameters
    new = NewAction(
        kind.name,
        site,
        asked.revision,
        parameters.to_record(),
        caller.name,
        dry_run=parameters.dry_run,
        whole_site=parameters.is_whole_site(kind),
        context_marker=request.context_marker,
        connection=None if connection is None else connection.id,
        steps=kind.planned_steps,
        node_step=kind.node_step,
        nodes=parameters.target_nodes or (),
    )
    action = _write_down(store, airflow, new, run_id)
    if overridden:
        said = f"started by {caller.name} in spite of {overridden[0]['message']}"
        more = f", and {len(overridden) - 1} more" if len(overridden) > 1 else ""
        data = {"user": caller.name, "messages": overridden[:_KEPT_MESSAGES]}
        store.events.add(action.site, OVERRIDDEN, said + more, action_id=action.id, data=data)
    store.actions.record_command(action.id, "invoke", caller.name)
    _start(store, airflow, action, asked.parameters.run_conf(site, asked.revision))
    warnings = tuple(message for message in validated.messages if not message["error"])
    return action, [*overridden, *asked.skipped, *notes, *warnings]


def list_if_known(store: SiteStore, site: str) -> NodeList | None:
    """Return what `read_list` does, None when the provisioner cannot be asked: for actions that destroy nothing."""
    try:
        return read_list(store, site)
    except (ProvisionerError, SettingsError) as error:
        log.warning("What is deployed on site %s is not known: %s", site, error)
        return None


def _require_switched_on(airflow: AirflowClient, kind: str) -> None:
    try:
        off = airflow.is_switched_off(kind)
    except AirflowApiError as error:
        # Then the trigger fails, and says so.
        log.warning("Whether the DAG %s is switched on is not known: %s", kind, error)
        return
    if off:
        text = f"the DAG {kind} is switched off (paused) in Airflow, so nothing would begin: switch it on there first"
        raise ApiError(409, text, "Switched off in Airflow")


def _exposed(validated: Validated) -> tuple[str, ...]:
    """Return a sentence for each secret in groups and settings, without the secrets themselves."""
    if validated.secrets is None or not validated.secrets.exposed:
        return ()
    redactor = Redactor(validated.secrets.texts)
    return tuple(map(redactor.redact, validated.secrets.exposed))


def _judge(validated: Validated, asked: CheckedRequest) -> list[dict[str, Any]]:
    """Return the errors that the caller chose to go on in spite of, as warnings."""
    errors = [message for message in validated.messages if message["error"]]
    if not errors:
        return []
    if not asked.parameters.continue_on_fail:
        if all(message["name"] == NOT_ASKED for message in errors):
            # Nothing is wrong with the documents: to mend them would not help.
            text = f"nothing was started: {errors[0]['message']}"
            raise ApiError(503, text, "Provisioner", validated.messages, retry=True)
        way_out = "Mend the documents and commit them, or name another revision"
        if validated.design is not None:
            way_out += f", or repeat this with the parameter {CONTINUE_ON_FAIL}=true (--{CONTINUE_ON_FAIL})"
        text = f"revision {asked.revision} of site {asked.site} is not valid: nothing was started. {way_out}"
        raise ApiError(400, text, "Validation", validated.messages)
    return [{**message, "error": False, "level": "Warning"} for message in errors]


def _write_down(store: SiteStore, airflow: AirflowClient, new: NewAction, run_id: str | None) -> ActionRecord:
    """Return the action's new row; the one that is on the site may turn out to be over (rule 24)."""
    for last in (False, True):
        try:
            return store.actions.create(new, exclusive=not new.dry_run, run_id=run_id)
        except SiteBusy as busy:
            if last or not is_over(store, airflow, busy.owner.action_id):
                raise _busy(store, busy) from busy
    raise AssertionError("the loop ends by returning or raising")


def _busy(store: SiteStore, busy: SiteBusy) -> ApiError:
    other = store.actions.get(busy.owner.action_id)
    refusal = busy_site(other)
    named = {"id": other.id, "name": other.kind, "user": other.user, "state": other.state.value}
    message = plain_message(refusal.text, name=refusal.ground.value) | {"action": named}
    return ApiError(409, refusal.text, "Site Busy", [message], retry=True)


def _start(store: SiteStore, airflow: AirflowClient, action: ActionRecord, conf: Mapping[str, Any]) -> None:
    """Trigger the run, whose id is the action's; a lost answer is looked into, and leaves no run without an action."""
    try:
        airflow.trigger(action.dag_id, conf, action.run_id)
    except AirflowRefused as refused:
        # A run of this id can only be ours: an earlier sending was taken, and its answer was lost.
        if refused.status == 409:
            return
        store.actions.close(action.id, ActionState.FAILED, f"Airflow refused to start it: {refused}")
        # That the DAG is not there is no fault of the request: Airflow has not read it (yet).
        status, retry = (503, True) if refused.status == 404 else (refused.status, False)
        raise ApiError(
            status, f"action {action.id} was not started: {refused}", "Refused by Airflow", retry=retry
        ) from refused
    except AirflowApiError as lost:
        if not _has_run(airflow, action):
            text = (
                f"whether action {action.id} was started is not known: {lost}. It is pending, and is closed by itself "
                "should its run not appear within two minutes"
            )
            raise ApiError(503, text, "Airflow unreachable", retry=True) from lost


def _has_run(airflow: AirflowClient, action: ActionRecord) -> bool:
    try:
        return action.run_id is not None and airflow.run_state(action.dag_id, action.run_id) is not None
    except AirflowApiError as error:
        log.warning("The run of action %s could not be looked for: %s", action.id, error)
        return False
