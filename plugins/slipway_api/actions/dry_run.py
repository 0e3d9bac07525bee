"""The dry run of an action in the API: the code of its plan, on the provisioner's list that was read last."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse

from api_client.airflow import AirflowClient
from design_rendering.design import Design
from site_engine.admission import judge_critical_groups, judge_design
from site_engine.node_lists import NodeList, last_list
from site_engine.plans.plan import SitePlan
from site_engine.plans.site_plans import plan_request
from site_store import SiteStore
from slipway_api.actions.request import (
    ActionBody,
    ActionRequest,
    CheckedRequest,
    WantedAction,
    checked,
    design_of,
    require_in_use,
    require_none,
)
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Caller
from slipway_api.http.airflow_client import Airflow, longest_mapping
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import json_body_of
from slipway_api.http.dependencies import Store, blocking_router
from slipway_api.sites.site_plans import Fresh, ShownPlan, shown_plan
from slipway_api.sites.site_statuses import read_list
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
    store: SiteStore, asked: CheckedRequest, design: Design, listed: NodeList
) -> tuple[SitePlan, list[dict[str, Any]]]:
    """Return what an action would do, and as warnings what it sets aside that speaks against it.

    Raises `ApiError` 409: it takes critical groups down, or more nodes than the settings of the site allow.
    """
    conditions = {name: node.condition for name, node in listed.nodes.items()}
    users = store.user_states.in_force(asked.site)
    notes = require_none(judge_critical_groups(asked.kind, asked.parameters, design, conditions, users))
    plan = plan_request(store, asked.kind, asked.parameters, design, asked.site, asked.revision, listed)
    return plan, notes + require_none(plan.rehearsal.refusals)
