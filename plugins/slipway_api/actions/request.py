"""A request for an action as it is checked: its kind, its parameters, its revision, and what speaks against it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import BaseModel, Field, ValidationError

from api_client.airflow import AirflowClient
from design_rendering.design import KeyedDesign, read_design
from site_engine.actions.dead_actions import reconcile
from site_engine.admission import (
    Ground,
    Refusal,
    judge_named_nodes,
    judge_parameters,
    judge_revision,
    passed_over,
    requested_kind,
)
from site_engine.designs import read_revision
from site_engine.errors import AirflowApiError, StepError
from site_engine.kinds import ActionKind
from site_engine.parameters import ActionParameters, ParameterError, parse_parameters
from site_engine.plans.differences import left_to_others
from site_store import SiteStore
from slipway_api.http.airflow_access import Caller
from slipway_api.http.api_errors import ApiError, StatesVersion, plain_message
from slipway_api.http.bodies import JsonObject
from slipway_api.http.dependencies import DEFAULT_SITE, SiteName, context_marker
from strategy_lib.errors import StrategyLibError
from strategy_lib.node_states.publication import NOTHING_PUBLISHED
from strategy_lib.node_states.publication import Version as SiteVersion

log = logging.getLogger(__name__)

# The status and its reason.
_ANSWERS = {
    Ground.NO_KIND: (400, "Bad Request"),
    Ground.KIND: (400, "Unsupported Action"),
    Ground.TARGETS: (400, "Bad Request"),
    Ground.REVISION: (400, "Bad Request"),
    Ground.INTERMEDIATE_COMMITS: (409, "Intermediate Commits"),
    Ground.SECRETS: (400, "Secrets"),
    Ground.CRITICAL_GROUPS: (409, "Critical Groups"),
    Ground.REDEPLOYS: (409, "Many Redeploys"),
    Ground.OUT_OF_USE: (409, "Out of Use"),
}


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A request for an action, not yet checked."""

    kind: object
    parameters: object
    site: str
    allow_intermediate: bool
    context_marker: str
    site_state: SiteVersion | None = None


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """What a request asks for. `skipped` names, as messages, revisions that are passed over."""

    kind: ActionKind
    parameters: ActionParameters
    site: str
    revision: int
    skipped: Sequence[Mapping[str, Any]]


def checked(request: ActionRequest, store: SiteStore, airflow: AirflowClient, caller: Caller) -> CheckedRequest:
    """Return what a request asks for. An action on the site that is over is closed (rule 24).

    Raises `ApiError` 400: no such kind, wrong parameters, no committed revision. 403: the caller may not trigger this
    DAG. 409: the states of nodes are of another version than expected, or commits were skipped.
    """
    kind = requested_kind(request.kind)
    if isinstance(kind, Refusal):
        raise refused_by([kind])
    caller.require_create(kind.name)
    parameters = parameters_of_request(kind, request)
    require_site_state(store, request)
    # Only ended actions count when skipped commits are looked for.
    owner = store.locks.owner(request.site)
    if owner is not None:
        is_over(store, airflow, owner.action_id)
    versions = store.sites.versions(request.site)
    revision, refusals = judge_revision(kind, parameters, request.site, versions)
    require_none(refusals)
    said = passed_over(kind, parameters, request.site, versions, revision)
    skipped = [] if said is None else [plain_message(said, "Info", name=Ground.INTERMEDIATE_COMMITS.value)]
    return CheckedRequest(kind, parameters, request.site, revision, skipped)


class ActionBody(BaseModel):
    """The kind of action, and its parameters."""

    name: str = Field(examples=["redeploy_server"])
    parameters: dict[str, Any] | None = Field(default=None, examples=[{"target_nodes": ["r1-control-1"]}])
    site_state: StatesVersion | None = Field(
        default=None,
        examples=[None],
        description="The published states of nodes that the request expects: 409 where a newer version is published.",
    )


def _wanted_action(
    request: Request,
    body: JsonObject,
    site: SiteName = DEFAULT_SITE,
    allow_intermediate: Annotated[
        bool,
        Query(
            alias="allow-intermediate-commits",
            description="Go on although revisions were committed since the last site action and never deployed. "
            "deploy_site asks for it; update_site passes such revisions over, and names them.",
        ),
    ] = False,
) -> ActionRequest:
    return ActionRequest(
        kind=body.get("name"),
        parameters=body.get("parameters"),
        site=site,
        allow_intermediate=allow_intermediate,
        context_marker=context_marker(request),
        site_state=_version_of(body.get("site_state")),
    )


def _version_of(given: object) -> SiteVersion | None:
    """Return the version that a body names. Raises `ApiError` 400: it is none."""
    if given is None:
        return None
    try:
        found = StatesVersion.model_validate(given, strict=True)
    except ValidationError as error:
        text = 'site_state must be a version of the states of nodes, such as {"epoch": 1763836800, "version": 7}'
        raise ApiError(400, text, "Bad Request") from error
    return SiteVersion(found.epoch, found.version)


WantedAction = Annotated[ActionRequest, Depends(_wanted_action)]
"""What a request asks for whose body is an `ActionBody`."""


def parameters_of_request(kind: ActionKind, request: ActionRequest) -> ActionParameters:
    """Return the parameters. Raises `ApiError` 400: they cannot be used."""
    try:
        parameters = parse_parameters(request.parameters, kind, allow_intermediate=request.allow_intermediate)
    except ParameterError as error:
        messages = [plain_message(problem, name="parameters") for problem in error.problems]
        raise ApiError(400, f"the parameters cannot be used: {error}", "Bad Request", messages) from error
    require_none(judge_parameters(kind, parameters))
    return parameters


def require_none(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """Answer with all that speaks against the action; return, as warnings, what its parameters set aside."""
    refused = [refusal for refusal in refusals if not refusal.is_overridden]
    if refused:
        raise refused_by(refused)
    return [{**message, "error": False, "level": "Warning"} for each in refusals for message in _messages(each)]


def refused_by(refusals: Sequence[Refusal]) -> ApiError:
    """Return the answer that says all that speaks against an action."""
    status, reason = _ANSWERS[refusals[0].ground]
    messages = [message for refusal in refusals for message in _messages(refusal)]
    return ApiError(status, "; ".join(refusal.text for refusal in refusals), reason, messages)


def _messages(refusal: Refusal) -> list[dict[str, Any]]:
    return [plain_message(said, name=refusal.ground.value) for said in refusal.details or (refusal.text,)]


def require_site_state(store: SiteStore, request: ActionRequest) -> None:
    """Refuse a request that expects another version of the states of nodes than the published one.

    Raises `ApiError` 409: a newer one is published, which the answer has, or there is no such one.
    """
    given = request.site_state
    if given is None:
        return
    newest = store.site_views.version(request.site)
    if given == newest != NOTHING_PUBLISHED:
        return
    message: dict[str, Any] = {}
    if newest == NOTHING_PUBLISHED:
        text = f"site_state is {given}, and no version of the states of the nodes of site {request.site} is published"
    elif newest.replaces(given):
        text = (
            f"version {newest} of the states of the nodes of site {request.site} was published since {given}: read it "
            "(`slipway get site-state`), and repeat this with it"
        )
        message = {"site_state": {"epoch": newest.epoch, "version": newest.number}}
    else:
        text = f"site {request.site} has no version {given} of the states of its nodes: the newest is {newest}"
        message = {"site_state": {"epoch": newest.epoch, "version": newest.number}}
    raise ApiError(409, text, "Site State", [plain_message(text, name="SiteState") | message])


def require_in_use(store: SiteStore, asked: CheckedRequest) -> None:
    """Refuse an action that names nodes which are out of use, or somebody else's. Raises `ApiError` 409."""
    if asked.parameters.target_nodes:
        left_out = store.user_states.left_out(asked.site, asked.kind.name)
        theirs = left_to_others(store.nodes.of_site(asked.site))
        require_none(judge_named_nodes(asked.kind, asked.parameters, asked.site, left_out, theirs))


def is_over(store: SiteStore, airflow: AirflowClient, action_id: str) -> bool:
    """Close an action whose run is over or gone (rule 24); tell whether it is over. Airflow may not know."""
    try:
        reconcile(store, action_id, airflow.run_state)
    except AirflowApiError as error:
        log.warning("Whether action %s is still going on is not known: %s", action_id, error)
    return store.actions.get(action_id).state.is_end


def design_of(store: SiteStore, site: str, revision: int) -> KeyedDesign:
    """Return the design of a revision. Raises `ApiError` 400: it cannot be read."""
    try:
        return read_design(read_revision(store, site, revision)[1]).keyed(store.secret_texts.digest_key())
    except StepError as error:
        raise ApiError(400, str(error)) from error
    except StrategyLibError as error:
        raise ApiError(400, f"revision {revision} of site {site} cannot be read: {error}") from error
