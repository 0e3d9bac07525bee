"""The dry run of an action in the API: the code of its plan, on the provisioner's list that was read last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.actions.admission import judge_critical_groups, judge_design, judge_redeploys
from site_engine.actions.reports import dry_run_verdict
from site_engine.plans.node_lists import last_list
from site_engine.plans.site_plans import explain
from site_engine.plans.site_rehearsals import SiteRehearsal, failing_groups, kept_nodes
from site_store import GroupGoal, SiteGoals
from site_store.trees.plan_facts import TIMED
from slipway_api import airflow_access as access
from slipway_api.actions.preview import Preview, ShownPreview, gates_of, messages_of, preview
from slipway_api.actions.request import (
    ActionBody,
    ActionRequest,
    WantedAction,
    design_of,
    kind_of_request,
    parameters_of_request,
    require_in_use,
    require_none,
    require_site_state,
    revision_of_request,
    settle_owner,
)
from slipway_api.airflow_client import Airflow, longest_mapping
from slipway_api.http.answers import Moment, answers
from slipway_api.http.api_errors import ApiError, Finding
from slipway_api.http.bodies import json_body_of
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.sites.site_plans import (
    ChangedGroup,
    ChangedNode,
    Fresh,
    ShownSchedule,
    UsedEdge,
    shown_changes,
    shown_schedule,
)
from slipway_api.sites.site_statuses import read_list
from strategy_lib.goals.update import TO_DO, Change
from strategy_lib.warnings import NO_GROUPS, group_count_problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from api_client.airflow import AirflowClient
    from site_engine.plans.site_plans import SitePlan
    from site_store import SiteStore
    from slipway_api.airflow_access import Caller

router = APIRouter(tags=["actions"], route_class=BlockingRoute)


class UsedList(BaseModel):
    """The provisioner's list of nodes that the dry run uses."""

    read_at: Moment
    age: float = Field(examples=[12.5], description="Seconds since it was read.")
    connection: str = Field(examples=["slipway_provisioner"])
    nodes: int = Field(examples=[3])


class PlannedGroup(BaseModel):
    """A group, in the order of processing."""

    name: str = Field(examples=["control"])
    critical: bool = Field(examples=[True])
    depends_on: list[str] = Field(examples=[[]])
    nodes: list[str] = Field(examples=[["node-1", "node-3"]])


class PlannedSubmission(BaseModel):
    """What would be submitted: nodes of a group for a phase. Without a phase there is nothing to submit."""

    group: str | None = Field(examples=["control"])
    phase: str | None = Field(examples=["prepare"])
    nodes: list[str] = Field(examples=[["node-3"]])


class PlannedChanges(BaseModel):
    """What has to be done to each node that the action considers, and why."""

    counts: dict[Change, int] = Field(examples=[{"change": 20, "none": 80}])
    groups: list[ChangedGroup]
    nodes: list[ChangedNode]
    order: list[list[str]] = Field(examples=[[["r7-compute-01"]]])
    edges: list[UsedEdge]


class PlannedAction(BaseModel):
    """A dry run: what the action would do if every node succeeded."""

    name: str = Field(examples=["deploy_site"])
    site: str = Field(examples=["default"])
    revision: int = Field(examples=[2])
    listed: UsedList
    verdict: str = Field(examples=["success"])
    verdict_text: str = Field(examples=["dry run: nothing was submitted"])
    groups: list[PlannedGroup]
    submissions: list[PlannedSubmission]
    schedule: ShownSchedule
    changes: PlannedChanges
    preview: ShownPreview
    notes: list[Finding]


@router.post(
    "/actions/plan",
    dependencies=[access.may_act],
    summary="A dry run of an action, without a DAG run",
    openapi_extra=json_body_of(ActionBody),
    responses=answers(PlannedAction),
)
def plan_route(
    wanted: WantedAction, store: Store, airflow: Airflow, caller: access.CallerDep, fresh: Fresh = False
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
    """Return what an action would do, as `PlannedAction` describes it. Nothing is validated nor started.

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
    kind = kind_of_request(request.kind)
    caller.require_create(kind.name)
    parameters = parameters_of_request(kind, request)
    require_site_state(store, request)
    settle_owner(store, airflow, request.site)
    revision, skipped = revision_of_request(store, kind, parameters, request.site)
    design = design_of(store, request.site, revision)
    require_none(judge_design(parameters, request.site, revision, design, ()))
    require_in_use(store, kind, parameters, request.site)
    listed = None if fresh else last_list(store, request.site)
    if listed is None:
        read = read_list(store, request.site)
        # With the time that everybody is told from now on.
        listed = last_list(store, request.site) or read
    conditions = {name: node.condition for name, node in listed.nodes.items()}
    users = store.user_states.in_force(request.site)
    notes = require_none(judge_critical_groups(kind, parameters, design, conditions, users))
    found = preview(store, kind.name, parameters, design, request.site, listed.nodes)
    notes += require_none(
        judge_redeploys(kind, parameters, design.settings, found.redeploy, found.serving, found.removed)
    )
    # Where nothing is to be submitted Airflow maps no group at all.
    mapped = group_count_problem(found.mapped, longest_mapping()) if found.mapped else None
    problem = mapped if found.groups else NO_GROUPS
    if problem is not None and kind.has_groups:
        raise ApiError(400, problem, "Bad Request")
    assert found.rehearsal is not None
    kept_back = bool(found.withheld or found.refused or found.out_of_use)
    verdict, text = dry_run_verdict(found.rehearsal, groups=bool(found.groups), withheld=kept_back)
    at_once = parameters.with_default(kind, design.settings.max_parallel_groups).places
    plan = _plan(store, request.site, revision, found, design.edges, listed.read_at, at_once)
    return {
        "name": kind.name,
        "site": request.site,
        "revision": revision,
        "listed": {
            "read_at": listed.read_at.isoformat(),
            "age": max(0.0, (store.now() - listed.read_at).total_seconds()),
            "connection": listed.connection,
            "nodes": len(listed.nodes),
        },
        "verdict": verdict.value,
        "verdict_text": text,
        "groups": [
            {
                "name": planned.group.name,
                "critical": planned.group.critical,
                "depends_on": [*planned.group.depends_on],
                "nodes": [*planned.nodes],
            }
            for planned in found.groups
        ],
        "submissions": [
            {"group": submission.group, "phase": submission.phase, "nodes": [*submission.nodes]}
            for submission in found.rehearsal.submissions
        ],
        "schedule": shown_schedule(plan),
        "changes": shown_changes(plan, with_unchanged=True),
        "preview": found.to_data(),
        "notes": [*notes, *skipped, *messages_of(kind.name, found), *gates_of(found)],
    }


def _plan(
    store: SiteStore,
    site: str,
    revision: int,
    found: Preview,
    edges: Mapping[str, tuple[str, ...]],
    listed_at: datetime,
    at_once: int,
) -> SitePlan:
    """Return what has to be done to each node; none is left out."""
    groups = tuple(
        GroupGoal(each.group.name, each.group.critical, each.group.depends_on, len(each.nodes), each.nodes)
        for each in found.groups
    )
    records = {record.name: record for record in store.nodes.of_site(site) if record.name in found.differences}
    members = {each.group.name: each.nodes for each in found.groups}
    to_do = {name for name, each in found.differences.items() if each.change in TO_DO}
    kept = kept_nodes(found.rehearsal, members, to_do) if found.rehearsal is not None else {}
    failing = failing_groups(found.rehearsal) if found.rehearsal is not None else {}
    kept |= found.refused or {}
    rehearsal = SiteRehearsal(
        frozenset(found.submitted), kept, found.redeploy, failing=failing, released=found.released
    )
    goals = SiteGoals(revision, {}, records, groups, edges)
    usual = store.operations.usual_seconds(site, TIMED)
    return explain(store, site, goals, found.differences, listed_at, rehearsal, at_once=at_once, usual=usual)
