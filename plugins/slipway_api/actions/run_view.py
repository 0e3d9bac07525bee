"""The action of a DAG run as the command line and the pages show it: plain JSON from the store."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from site_engine.dead_actions import action_for_display, has_unrecorded_end
from site_engine.errors import AirflowApiError
from slipway_api import airflow_access as access
from slipway_api.actions.answers import Run
from slipway_api.actions.examples import RUN
from slipway_api.actions.nodes import UNDER_WAY
from slipway_api.airflow_client import Airflow
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.blocking_route import BlockingRoute
from slipway_api.http.dependencies import Store
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.report import from_dict
from strategy_lib.report_text import render

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import ActionRecord, GroupRecord, SiteStore

log = logging.getLogger(__name__)
router = APIRouter(tags=["actions"], route_class=BlockingRoute)


@router.get(
    "/runs/{dag_id}/{run_id:path}",
    dependencies=[access.may_read_run],
    summary="The action of a DAG run",
    responses=answers(Run, RUN),
)
def run(
    dag_id: str,
    run_id: str,
    store: Store,
    airflow: Airflow,
    report: Annotated[bool, Query(description="With the report, which is large for a large site.")] = True,
) -> JSONResponse:
    """Show the action of a DAG run: its groups with counts and criteria, and its report once there is one."""
    action = store.action_of_run(dag_id, run_id)
    if action is None:
        raise ApiError(404, f"run {run_id!r} of DAG {dag_id!r} has no action (yet)")
    try:
        if not action.state.is_end:
            action = action_for_display(store, action.id, airflow.run_state(dag_id, run_id))
    except AirflowApiError as error:
        log.warning("Action %s is shown as it stands: %s", action.id, error)
    return JSONResponse(run_view(store, action, with_report=report))


def run_view(store: SiteStore, action: ActionRecord, *, with_report: bool = True) -> dict[str, Any]:
    """Return the action with its groups in processing order and its report (None before there is one, and unwanted)."""
    # Counted by the database: this is asked for twice a second, and a site may have 100,000 nodes.
    counts = store.node_counts(action.id)
    groups = store.plan(action.id)
    if has_unrecorded_end(action):
        groups = [as_closed(group) for group in groups]
        counts = {name: _counts_as_closed(states) for name, states in counts.items()}
    report = store.report(action.id) if with_report and action.has_report else None
    text = render(from_dict(report)) if report else None
    return {
        "action": {
            "id": action.id,
            "kind": action.kind,
            "site": action.site,
            "revision": action.revision,
            "parameters": dict(action.parameters),
            "dag_id": action.dag_id,
            "run_id": action.run_id,
            "user": action.user,
            "state": action.state.value,
            "verdict": action.verdict,
            "step": action.step,
            "paused": _time(action.paused),
            "created": _time(action.created),
            "started": _time(action.started),
            "ended": _time(action.ended),
        },
        "groups": [_group(group, counts[group.name]) for group in groups],
        "report": report,
        "report_text": text,
    }


def as_closed(group: GroupRecord) -> GroupRecord:
    """Return a group as closing its action will leave it (rule 24)."""
    if group.state is not GroupState.RUNNING:
        return group
    return replace(group, state=GroupState.FAILURE, reason=Reason.INTERRUPTED)


def _counts_as_closed(states: Mapping[NodeState, int]) -> dict[NodeState, int]:
    under_way = sum(states[state] for state in UNDER_WAY)
    return {**states, **dict.fromkeys(UNDER_WAY, 0), NodeState.UNKNOWN: states[NodeState.UNKNOWN] + under_way}


def _group(group: GroupRecord, states: Mapping[NodeState, int]) -> dict[str, Any]:
    phase = None
    if group.state.value == "running":
        phase = "deploy" if Phase.PREPARE in group.phases_done or states[NodeState.DEPLOYING] else "prepare"
    return {
        "name": group.name,
        "critical": group.critical,
        "depends_on": list(group.definition.depends_on),
        "state": group.state.value,
        "reason": group.reason.value if group.reason else None,
        "phase": phase,
        "attempt": group.attempt,
        "counts": {"total": len(group.nodes), **{state.value: number for state, number in states.items()}},
        "criteria": [
            {
                "phase": result.phase.value,
                "criterion": result.criterion,
                "needed": result.needed,
                "actual": result.actual,
                "met": result.met,
            }
            for result in group.criteria
        ],
        "started": _time(group.started),
        "ended": _time(group.ended),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
