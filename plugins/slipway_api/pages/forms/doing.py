"""What an operator does: start, pause, go on, stop, retry, approve. Each says first what it will do, and is confirmed.

A GET shows the question and changes nothing; the form's POST does it. Both need the right to do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Query, Request
from fastapi.responses import Response

from provisioner_client.errors import ProvisionerError
from site_engine.actions.retry import RETRY, RetryPlan, plan_retry, retry_action
from site_engine.errors import ConnectionLookupFailed, SettingsError
from site_engine.groups.approvals import answer_gate
from site_engine.kinds import KINDS
from site_engine.parameters import PARALLEL_GROUPS
from site_engine.plans.plan import next_step
from site_engine.plans.site_plans import plan_site
from site_engine.process import STOP
from site_store import ActionRecord, SiteStore
from slipway_api.actions.control import LONGEST_COMMENT, PAUSE, UNPAUSE, asked_of, give_command
from slipway_api.actions.creation import create, dry_run
from slipway_api.actions.lookup import find_action
from slipway_api.actions.request import ActionRequest
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, Caller, CallerDep
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import RawBody
from slipway_api.http.dependencies import Store, context_marker, require_site
from slipway_api.pages.rendering import page, page_router, to_page
from slipway_api.pages.sites import plan_values
from slipway_api.pages.wording import counted
from strategy_lib.phase import Verdict
from strategy_lib.strategy import ApprovalMoment

router = page_router()

_MOST_FIELDS = 50


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before something is done to an action.

    Attributes
    ----------
    heading, button : what will be done, as a title and as a command.
    effects : sentences that say what follows from it.
    parts : what is done one after the other, where there are parts.
    nodes : those that it is about; `about` says how.
    danger : it cannot be undone.
    """

    heading: str
    button: str
    effects: Sequence[str]
    parts: Sequence[str] = ()
    nodes: Sequence[str] = ()
    about: str = ""
    warnings: Sequence[str] = ()
    danger: bool = False


@router.get("/actions/{action_id}/do/{verb}", dependencies=[access.may_act])
def ask(request: Request, action_id: str, verb: str, store: Store, caller: CallerDep) -> Response:
    """Say what a command to an action will do, and ask."""
    action = _controllable(store, caller, action_id, verb)
    groups = request.query_params.getlist("group")
    values = {"action": action, "verb": verb, "groups": groups, "question": _question(store, action, verb, groups)}
    return page(request, "confirm.html", values)


@router.post("/actions/{action_id}/do/{verb}", dependencies=[access.may_act])
def do(
    request: Request, action_id: str, verb: str, body: RawBody, store: Store, airflow: Airflow, caller: CallerDep
) -> Response:
    """Give a command to an action."""
    action = _controllable(store, caller, action_id, verb)
    fields = form_fields(body)
    if verb == RETRY:
        retry_action(store, airflow, action.id, caller.name, fields.get("group", ()))
    elif verb in (PAUSE, UNPAUSE, STOP):
        give_command(store, airflow, action, verb, caller.name)
    else:
        raise _no_verb(verb)
    return to_page(request, "actions", action.id)


@router.get("/sites/{site}/start/{kind}", dependencies=[access.may_act])
def start(request: Request, site: str, kind: str, store: Store, caller: CallerDep) -> Response:
    """Ask how an action is to be started; what it would do is shown next."""
    _startable(store, caller, site, kind)
    given = {name: [value] for name, value in request.query_params.items() if name in ("target_nodes", "revision")}
    values = _form(site, kind, given)
    if request.query_params.get("next") == "yes":
        # It leads here with all that it has to be told, so that it leaves nobody alone.
        step = next_step(plan_site(store, site, explained=0))
        if step is not None and step.kind == kind:
            values["given"] |= dict.fromkeys(step.parameters, "true")
            values["why"] = step.why
    return page(request, "start.html", values)


@router.post("/sites/{site}/start/{kind}", dependencies=[access.may_act])
def start_it(
    request: Request, site: str, kind: str, body: RawBody, store: Store, airflow: Airflow, caller: CallerDep
) -> Response:
    """Show what an action would do; or, once that is confirmed, start it."""
    _startable(store, caller, site, kind)
    fields = form_fields(body)
    wanted = _request(request, site, kind, fields)
    if fields.get("confirmed") == ["yes"]:
        action, _ = create(wanted, store, airflow, caller)
        return to_page(request, "actions", action.id)
    values = _form(site, kind, fields)
    try:
        plan = dry_run(wanted, store, airflow, caller, fresh=fields.get("fresh") == ["yes"])
    except (ProvisionerError, SettingsError, ConnectionLookupFailed) as error:
        return page(
            request, "start.html", {**values, "problem": f"what it would do cannot be said: {error}", "unknown": True}
        )
    except ApiError as error:
        if error.status in (401, 403):
            raise
        return page(request, "start.html", {**values, "problem": error.message})
    return page(
        request, "plan.html", {**plan_values(plan), **values, "outlook": _outlook(plan), "fields": _kept(fields)}
    )


def form_fields(body: bytes) -> Mapping[str, list[str]]:
    """Return the fields of a form that a browser sent. Raises `ApiError` 400: it is none."""
    try:
        text = body.decode()
        return parse_qs(text, strict_parsing=bool(text), max_num_fields=_MOST_FIELDS, encoding="utf-8", errors="strict")
    except ValueError as error:
        raise ApiError(400, "the form was not sent as a browser sends it: open its page again") from error


def _controllable(store: SiteStore, caller: Caller, action_id: str, verb: str) -> ActionRecord:
    action = find_action(store, caller, action_id)
    caller.require_control(action.dag_id)
    if verb == RETRY:
        caller.require_control(access.COMMIT_DAG)
    return action


def _startable(store: SiteStore, caller: Caller, site: str, kind: str) -> None:
    require_site(store, site)
    if kind not in KINDS:
        raise ApiError(404, f"there is no kind of action {kind[:64]!r}")
    caller.require_create(kind)


def _question(store: SiteStore, action: ActionRecord, verb: str, groups: Sequence[str]) -> Question:
    if verb == RETRY:
        return _of_retry(plan_retry(store, action.id, groups))
    if verb == PAUSE:
        return Question(
            "Pause this action?",
            "Pause",
            [_at_work(store, action.id), "No further group starts until somebody lets it go on."],
        )
    if verb == UNPAUSE:
        return Question("Let this action go on?", "Go on", ["The next group starts as soon as Airflow can."])
    if verb == STOP:
        effects = ["Nothing more is submitted, and the action ends as cancelled."]
        at_work = [one for one in store.operations.of_action(action.id) if one.over is None]
        nodes = sorted({name for one in at_work for name in one.nodes})
        if nodes:
            effects.append("What was submitted goes on at the provisioner. The outcome of its nodes is then unknown.")
        else:
            effects.append("Nothing of it is under way at the provisioner now.")
        return Question("Stop this action?", "Stop", effects, (), nodes, "under way at the provisioner", danger=True)
    raise _no_verb(verb)


def _at_work(store: SiteStore, action_id: str) -> str:
    """Say what goes on in an action that is paused, and until when."""
    for one in store.approvals.of_action(action_id):
        if one.answer is None and one.moment is ApprovalMoment.BEFORE:
            return f"Group {one.group} waits for approval. It begins when it is approved and the action goes on."
    running = [group.name for group in store.groups.of_action(action_id) if group.state.value == "running"]
    return f"Group {running[0]} is at work and goes on to its end." if running else "No group is at work."


def _of_retry(plan: RetryPlan) -> Question:
    effects = []
    parts = []
    if plan.groups:
        effects.append(f"{counted(len(plan.groups), 'group')} will be tried again, in the order below.")
        for group in plan.groups:
            why = f", which did not run because of {group.blocked_by}" if group.blocked_by else ""
            parts.append(f"{group.name}{why}: {counted(len(group.nodes), 'node')}")
    if plan.steps:
        effects.append(f"Steps that run again: {', '.join(plan.steps)}.")
    effects.append("Nodes that succeeded are left alone.")
    return Question("Try again what failed?", "Retry", effects, parts, plan.nodes, "tried again", plan.warnings)


def _no_verb(verb: str) -> ApiError:
    return ApiError(404, f"nothing called {verb[:64]!r} can be done to an action")


def _request(request: Request, site: str, kind: str, fields: Mapping[str, list[str]]) -> ActionRequest:
    known = {"target_nodes", "revision", "dry_run", "continue-on-fail", PARALLEL_GROUPS}
    known.update(each.value for each in KINDS[kind].overrides)
    given = {name: value[0] for name, value in fields.items() if name in known}
    parameters: dict[str, Any] = {name: value for name, value in given.items() if value.strip()}
    if "target_nodes" in parameters:
        parameters["target_nodes"] = parameters["target_nodes"].replace("\n", ",")
    allow = fields.get("allow-intermediate-commits") == ["true"]
    return ActionRequest(kind, parameters, site, allow, context_marker(request))


def _form(site: str, kind: str, fields: Mapping[str, list[str]]) -> dict[str, Any]:
    return {
        "site": site,
        "kind": KINDS[kind],
        "given": {name: value[0] for name, value in fields.items() if value},
        "overrides": KINDS[kind].overrides,
        "problem": "",
        "why": "",
        "unknown": False,
    }


def _outlook(plan: Mapping[str, Any]) -> str:
    """Return what the page says of the verdict of a plan."""
    if plan["verdict"] == Verdict.SUCCESS and any(one["nodes"] for one in plan["submissions"]):
        return "If every node succeeds, the action succeeds."
    said = plan["verdict_text"].removeprefix("dry run: ")
    return f"{said[:1].upper()}{said[1:]}."


def _kept(fields: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in fields.items() if name not in ("confirmed", "fresh") for value in values]


@router.get("/actions/{action_id}/approval", dependencies=[access.may_read])
def ask_approval(
    request: Request, action_id: str, store: Store, caller: CallerDep, group: Annotated[str, Query()]
) -> Response:
    """Say what a group waits for, and ask for the answer."""
    action = find_action(store, caller, action_id)
    asked = asked_of(store, caller, action, group)
    nodes = store.groups.get(action.id, group).nodes
    return page(request, "approval.html", {"action": action, "asked": asked, "nodes": sorted(nodes)})


@router.post("/actions/{action_id}/approval", dependencies=[access.may_read])
def answer(
    request: Request,
    action_id: str,
    body: RawBody,
    store: Store,
    airflow: Airflow,
    caller: CallerDep,
    group: Annotated[str, Query()],
) -> Response:
    """Answer a group that waits."""
    action = find_action(store, caller, action_id)
    asked_of(store, caller, action, group)
    fields = form_fields(body)
    said = fields.get("answer", [""])[0]
    if said not in ("approve", "refuse"):
        raise ApiError(400, "say whether it is approved or refused")
    comment = fields.get("comment", [""])[0].strip()[:LONGEST_COMMENT]
    approved = said == "approve"
    answer_gate(store, airflow, action.id, group, caller.name, approved=approved, comment=comment or None)
    return to_page(request, "actions", action.id)
