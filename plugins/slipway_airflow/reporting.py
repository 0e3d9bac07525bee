"""From what the store knows of an action to its report. Pure but for reading the values it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from site_store.events import EventKind
from slipway_airflow.node_step_report import StepStanding, report_step
from slipway_airflow.steps import has_groups
from strategy_lib.deployment import counts_of
from strategy_lib.node import NodeState
from strategy_lib.phase import Reason
from strategy_lib.report import (
    FailedStep,
    Report,
    ReportedAction,
    ReportedGroup,
    ReportedNode,
    build_report,
)

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import EventRecord, GroupRecord, NodeTasks, ReportInput

STEP_FAILED = "step_failed"
STEP_WARNING = "step_warning"

_MOST_LATE = 100


def failed_steps(states: Mapping[str, str | None], events: Iterable[EventRecord]) -> list[FailedStep]:
    """Return the steps before the groups that failed, with the last thing that was said about each.

    Parameters
    ----------
    states
        Airflow's state of every step, in the DAG's order. A step that was not reached is not named.
    events
        The action's events, oldest first.
    """
    said = {event.data.get("step"): event.message for event in events if event.kind == STEP_FAILED}
    return [
        FailedStep(step, said.get(step, "its task failed; see its log"))
        for step, state in states.items()
        if state == "failed"
    ]


def report_of(
    data: ReportInput, step_states: Mapping[str, str | None], ended: datetime, node_step: StepStanding | None = None
) -> Report:
    """Make the report (rules 19, 20, 25).

    Parameters
    ----------
    data
        What the store knows.
    step_states
        Airflow's state of each of the action's steps, in order.
    ended
        When the action ended.
    node_step
        How the action's step on nodes stands, if it has one. Where the action has a plan, that tells about the nodes.
    """
    action = data.action
    failed = failed_steps(step_states, data.events)
    groups, nodes = _planned(data)
    on_nodes = report_step(data, node_step) if node_step is not None and not groups else None
    if node_step is not None and on_nodes is not None:
        group, nodes = on_nodes[0], list(on_nodes[1])
        groups = [group]
        if group.reason is Reason.NODE_STEP and not has_groups(action.kind):
            # Its nodes say why, and better.
            failed = [step for step in failed if step.step != node_step.step]
    return build_report(
        ReportedAction(
            id=action.id,
            site=action.site,
            kind=action.kind,
            revision=action.revision,
            dag_id=action.dag_id,
            run_id=action.run_id,
            user=action.user,
            started=action.started or action.created,
            ended=ended,
        ),
        groups,
        nodes,
        failed,
        _notes(data.events),
    )


def _planned(data: ReportInput) -> tuple[list[ReportedGroup], list[ReportedNode]]:
    """Return the groups of the plan, and all nodes that it considers."""
    states: defaultdict[str, list[NodeState]] = defaultdict(list)
    for tasks in data.nodes:
        for name in tasks.groups:
            states[name].append(tasks.state)
    groups = [_group(group, states[group.name]) for group in data.groups]
    return groups, [_node(tasks) for tasks in data.nodes]


def _notes(events: Iterable[EventRecord]) -> list[str]:
    """Return warnings of the steps, and results that came late (rule 14)."""
    notes: dict[str, None] = {}
    late = 0
    for event in events:
        if event.kind == STEP_WARNING:
            notes[event.message] = None
        elif event.kind == EventKind.LATE_RESULT:
            late += 1
            if late <= _MOST_LATE:
                notes[f"{event.node}: {event.message}"] = None
    if late > _MOST_LATE:
        notes[f"and {late - _MOST_LATE} more late results"] = None
    return list(notes)


def _group(group: GroupRecord, states: list[NodeState]) -> ReportedGroup:
    return ReportedGroup(
        name=group.name,
        critical=group.critical,
        state=group.state,
        reason=group.reason,
        depends_on=group.definition.depends_on,
        criteria=group.criteria,
        counts=counts_of(states),
        attempt=max(group.attempt, 1),
        started=group.started,
        ended=group.ended,
    )


def _node(tasks: NodeTasks) -> ReportedNode:
    # Deploy comes later, so what was said of it counts more.
    message = tasks.deploy.error or tasks.prepare.error
    return ReportedNode(tasks.node, tasks.state, tasks.groups, message)
