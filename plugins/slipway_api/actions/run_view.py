"""The action of a DAG run with its groups and nodes, as the command line and the pages show it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.actions.dead_actions import action_for_display, has_unrecorded_end
from site_engine.actions.reports import reported_node
from site_engine.errors import AirflowApiError
from site_engine.groups.culprits import is_only_judged
from site_engine.trees.action import action_header
from site_engine.trees.batches import batches_of
from site_engine.trees.waiting import waits_for_person
from slipway_api import airflow_access as access
from slipway_api.actions.notes import NODE
from slipway_api.airflow_client import Airflow
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase, Reason
from strategy_lib.reports.report import from_dict
from strategy_lib.reports.report_text import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from site_store import ActionFacts, ActionRecord, ApprovalRecord, GroupRecord, SiteStore, StatusCount


class Criterion(BaseModel):
    """A criterion and how it was met."""

    phase: str = Field(examples=["prepare"])
    criterion: str = Field(examples=["minimum_successful_nodes"])
    needed: int = Field(examples=[2])
    actual: int | str = Field(examples=[3])
    met: bool = Field(examples=[True])


class ShownGroup(BaseModel):
    """A group of an action, with node counts and criteria."""

    name: str = Field(examples=["control"])
    critical: bool = Field(examples=[True])
    depends_on: list[str] = Field(examples=[["ntp"]])
    state: str = Field(examples=["running"])
    reason: str | None = Field(examples=[None])
    phase: str | None = Field(examples=["deploy"])
    attempt: int = Field(examples=[1])
    counts: dict[str, int] = Field(examples=[{"total": 3, "prepared": 1, "success": 1, "failure": 1}])
    criteria: list[Criterion]
    started: Moment | None
    ended: Moment | None = Field(examples=[None])
    map_index: int | None = Field(
        examples=[0], description="Of its task in Airflow; without one it had nothing to submit."
    )
    waits: str | None = Field(
        examples=[None], description="What it waits for that asks a person, with the command that answers."
    )
    batch: str | None = Field(
        examples=["batch 3 of about 11"], description="Which batch it is at; nothing where it goes in none."
    )


class ShownNode(BaseModel):
    """A node of an action."""

    name: str = Field(examples=["r1-control-2"])
    state: str = Field(examples=["failure"])
    groups: list[str] = Field(examples=[["control"]])
    message: str | None = Field(examples=["no PXE answer"])


class RunAction(BaseModel):
    """The action of a DAG run."""

    id: str = Field(examples=[EXAMPLE_ID])
    kind: str = Field(examples=["deploy_site"])
    site: str = Field(examples=["default"])
    revision: int | None = Field(examples=[3])
    parameters: dict[str, Any] = Field(examples=[{}])
    dag_id: str = Field(examples=["deploy_site"])
    run_id: str = Field(examples=[EXAMPLE_ID])
    user: str = Field(examples=["admin"])
    state: str = Field(examples=["running"])
    verdict: str | None = Field(examples=[None])
    left_alone: int = Field(
        examples=[0], description="Nodes of critical groups that a success has neither submitted nor proven."
    )
    step: str | None = Field(examples=["deploy_group"])
    paused: Moment | None = Field(examples=[None])
    created: Moment
    started: Moment | None
    ended: Moment | None = Field(examples=[None])
    elapsed: float | None = Field(
        examples=[725.0], description="Seconds from its start to its end, or to now; null before its start."
    )
    estimate: float | None = Field(
        examples=[2700.0], description="Seconds that its groups took in earlier actions; null where none tell."
    )


class Run(BaseModel):
    """The action of a DAG run with its groups, and its report once there is one."""

    action: RunAction
    groups: list[ShownGroup]
    nodes: dict[str, int] = Field(
        examples=[{"total": 3, "success": 1, "failure": 1, "unknown": 0}],
        description="Its nodes, each counted once: a group counts those that it shares as well.",
    )
    report: dict[str, Any] | None = Field(examples=[None])
    report_text: str | None = Field(examples=[None])


UNDER_WAY = frozenset({NodeState.PREPARING, NodeState.DEPLOYING})
"""States of a node that a provisioner task works on."""
_TROUBLED = frozenset({NodeState.FAILURE.value, NodeState.UNKNOWN.value})


def action_nodes(
    store: SiteStore, action: ActionRecord, groups: Sequence[Mapping[str, Any]], verbosity: int
) -> list[dict[str, Any]]:
    """Return the nodes that failed, were not submitted for a known reason, or of which nothing could be learnt.

    Each has its message: the provisioner's words, or the reason.

    Parameters
    ----------
    groups : with their node counts, as `run_view` shows them: nodes are read only if one of them has a message.
    verbosity : from 5 on all nodes are returned.
    """
    troubled = any(group["counts"].get(state) for group in groups for state in _TROUBLED)
    # Without groups it is an action on named nodes, which are few.
    if groups and not troubled and verbosity < NODE and not store.tasks.any_explained(action.id):
        return []
    report = store.reports.get(action.id) if action.has_report else None
    nodes = report["nodes"] if report else [asdict(reported_node(tasks)) for tasks in store.tasks.of_nodes(action.id)]
    if has_unrecorded_end(action):
        nodes = [_as_closed(node) for node in nodes]
    return [
        {key: node[key] for key in ShownNode.model_fields} for node in nodes if verbosity >= NODE or _has_message(node)
    ]


def _as_closed(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node as closing its action will leave it (rule 24)."""
    if node["state"] not in UNDER_WAY:
        return node
    message = node["message"] or "the action ended before its result was known"
    return {**node, "state": NodeState.UNKNOWN, "message": message}


def _has_message(node: Mapping[str, Any]) -> bool:
    # Reports of earlier versions do not say which nodes were withheld.
    return str(node["state"]) in _TROUBLED or bool(node.get("withheld"))


log = logging.getLogger(__name__)
router = APIRouter(tags=["actions"], route_class=BlockingRoute)


@router.get(
    "/runs/{dag_id}/{run_id:path}",
    dependencies=[access.may_read_run],
    summary="The action of a DAG run",
    responses=answers(Run),
)
def run(
    dag_id: str,
    run_id: str,
    store: Store,
    airflow: Airflow,
    report: Annotated[bool, Query(description="With the report, which is large for a large site.")] = True,
) -> JSONResponse:
    """Show the action of a DAG run: its groups with counts and criteria, and its report once there is one."""
    action = store.actions.of_run(dag_id, run_id)
    if action is None:
        raise ApiError(404, f"run {run_id!r} of DAG {dag_id!r} has no action (yet)")
    run_state, is_told = None, False
    try:
        if not action.state.is_end:
            run_state, is_told = airflow.run_state(dag_id, run_id), True
    except AirflowApiError as error:
        log.warning("Action %s is shown as it stands: %s", action.id, error)
    with store.at_one_moment() as at:
        action = action_for_display(at, action.id, run_state) if is_told else at.actions.get(action.id)
        view, facts = run_view(at, action, with_report=report), at.trees.action(action.id)
    header = action_header(facts)
    view["action"]["elapsed"] = header["elapsed"] if action.started is not None else None
    view["action"]["estimate"] = header["estimate"]
    view["nodes"] = counts_of_nodes(facts.counts)
    batches = _batches(facts)
    add_waits(view["groups"], facts.approvals, action)
    for group in view["groups"]:
        group["batch"] = batches.get(group["name"])
    return JSONResponse(view)


def add_waits(groups: Iterable[dict[str, Any]], asked: Iterable[ApprovalRecord], action: ActionRecord) -> None:
    """Add to shown groups for which person's answer they wait; in an action that is over nobody waits."""
    waits = {} if action.state.is_end else {gate.group: said for gate in asked if (said := waits_for_person(gate))}
    for group in groups:
        group["waits"] = waits.get(group["name"])


def _batches(facts: ActionFacts) -> dict[str, str]:
    """Return at which batch groups are that go in batches and are at work."""
    found = {}
    for group in facts.groups:
        cells = (cell for cell in facts.counts if (cell.group, cell.phase) == (group.name, Phase.PREPARE))
        batches = batches_of(group, cells) if group.has_batches else None
        if batches is not None and batches.short:
            found[group.name] = batches.short
    return found


def counts_of_nodes(counts: Iterable[StatusCount]) -> dict[str, int]:
    """Return how many nodes are deployed, have failed, and are unknown, each node once."""
    numbers: Counter[str] = Counter()
    total = 0
    for cell in counts:
        if not cell.group and cell.phase in GROUP_PHASES:
            if cell.phase == Phase.READY:
                # It was deployed.
                lost = cell.records if cell.status in (TaskStatus.ERROR, TaskStatus.UNKNOWN) else 0
                numbers[cell.status] += lost
                numbers[TaskStatus.SUCCESS] -= lost
                continue
            deploys = cell.phase == Phase.DEPLOY
            total += cell.records if deploys else 0
            # One that failed in prepare never gets to its deploy.
            numbers[cell.status] += cell.records if deploys or cell.status != TaskStatus.SUCCESS else 0
    return {
        "total": total,
        "success": numbers[TaskStatus.SUCCESS],
        "failure": numbers[TaskStatus.ERROR],
        "unknown": numbers[TaskStatus.UNKNOWN],
    }


def run_view(store: SiteStore, action: ActionRecord, *, with_report: bool = True) -> dict[str, Any]:
    """Return the action with its groups in processing order and its report (None before there is one, and unwanted)."""
    # The database counts: clients poll this twice a second, and a site may have 100,000 nodes.
    counts = store.tasks.node_counts(action.id)
    groups = store.groups.of_action(action.id)
    if has_unrecorded_end(action):
        groups = [as_closed(group) for group in groups]
        counts = {name: _counts_as_closed(states) for name, states in counts.items()}
    report = store.reports.get(action.id) if with_report and action.has_report else None
    text = render(from_dict(report)) if report else None
    groups = [_as_blocked(group, groups, counts[group.name]) for group in groups]
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
            "left_alone": action.left_alone,
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


def _as_blocked(group: GroupRecord, groups: Sequence[GroupRecord], counts: Mapping[NodeState, int]) -> GroupRecord:
    """Return a group that is opened only to be judged as one that has not begun (rule 28)."""
    if group.state is not GroupState.RUNNING or group.unknown_state:
        return group
    has_sent = bool(group.phases_done) or any(counts[state] for state in UNDER_WAY)
    states = {one.name: one.state for one in groups}
    if not is_only_judged(group.state, group.definition.depends_on, states, has_sent=has_sent):
        return group
    return replace(group, state=GroupState.PENDING, started=None)


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
    if group.stored_state == GroupState.RUNNING:
        phase = "deploy" if Phase.PREPARE in group.phases_done or states[NodeState.DEPLOYING] else "prepare"
        if group.definition.has_batches and states[NodeState.PREPARING]:
            phase = "prepare"
        elif group.definition.ready is not None and Phase.DEPLOY in group.phases_done:
            phase = "ready" if not states[NodeState.DEPLOYING] else phase
    return {
        "name": group.name,
        "critical": group.critical,
        "depends_on": list(group.definition.depends_on),
        "state": group.stored_state,
        "reason": group.stored_reason,
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
        "map_index": group.map_index,
        "waits": None,
        "batch": None,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
