"""The report's part about a step on nodes: one critical group of the target nodes, of which every one counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from site_engine.actions.kinds import kind_of
from site_engine.actions.parameters import parameters_of
from site_store import OperationStatus
from strategy_lib.criteria import EVERY_NODE, evaluate
from strategy_lib.deployment import counts_of
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, NodeStep, Reason
from strategy_lib.report import ReportedGroup, ReportedNode
from strategy_lib.strategy import TARGET_GROUP
from strategy_lib.task_state import TaskStatus

if TYPE_CHECKING:
    from site_store import ReportInput, TaskRecord

StepTasks = Sequence[tuple[str, "TaskRecord"]]

# The provisioner task came to something, or was given up: the step has judged its nodes.
_JUDGED = (OperationStatus.COMPLETE, OperationStatus.TIMED_OUT)
_STATES = {
    TaskStatus.PENDING: NodeState.NOT_STARTED,
    TaskStatus.PROCESSING: NodeState.UNKNOWN,
    TaskStatus.SUCCESS: NodeState.SUCCESS,
    TaskStatus.ERROR: NodeState.FAILURE,
    TaskStatus.UNKNOWN: NodeState.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class StepStanding:
    """How a step on nodes stands when the report is made.

    ``airflow_state`` is that of its task. ``judged`` are the nodes as its verdict saw them, ``tasks`` as they are now,
    after what came late.
    """

    step: NodeStep
    airflow_state: str | None
    judged: StepTasks
    tasks: StepTasks


def report_step(data: ReportInput, standing: StepStanding) -> tuple[ReportedGroup, tuple[ReportedNode, ...]] | None:
    """Return the group of the step's nodes and the nodes themselves; None when nothing was ever begun.

    In an action that was to deploy the nodes afterwards, one that was destroyed is not a success: it is not deployed.
    """
    if not standing.tasks:
        return None
    targets = sorted({*(parameters_of(data.action).target_nodes or ()), *(name for name, _ in standing.tasks)})
    deploys = kind_of(data.action.kind).has_groups
    records = dict(standing.tasks)
    nodes = tuple(_node(name, records.get(name), deploys=deploys) for name in targets)
    judged = {name for name, record in standing.judged if record.status is TaskStatus.SUCCESS}
    criteria = evaluate(EVERY_NODE, standing.step, len(targets), len(judged.intersection(targets)))
    good = all(result.met for result in criteria) and standing.airflow_state == "success"
    state, reason = _verdict(data, standing, good=good and not deploys)
    if state is GroupState.FAILURE and all(result.met for result in criteria) and not deploys:
        # It became known too late: the verdict stays, and what it was judged by is not to be seen any more (rule 14).
        criteria = ()
    begun = [record.started for record in records.values() if record.started is not None]
    ended = [record.ended for record in records.values() if record.ended is not None]
    attempts = sum(1 for operation in data.operations if operation.phase.value == standing.step.value)
    group = ReportedGroup(
        name=TARGET_GROUP,
        critical=True,
        state=state,
        reason=reason,
        criteria=criteria,
        counts=counts_of(node.state for node in nodes),
        attempt=max(attempts, 1),
        started=min(begun, default=None),
        ended=max(ended, default=None),
    )
    return group, nodes


def _verdict(data: ReportInput, standing: StepStanding, *, good: bool) -> tuple[GroupState, Reason | None]:
    if good:
        return GroupState.SUCCESS, None
    latest = max(
        (operation for operation in data.operations if operation.phase.value == standing.step.value),
        key=lambda operation: operation.op,
        default=None,
    )
    came_to_an_end = latest is None or latest.status in _JUDGED
    if standing.airflow_state == "failed" and came_to_an_end:
        return GroupState.FAILURE, Reason.NODE_STEP
    return GroupState.FAILURE, Reason.INTERRUPTED


def _node(name: str, record: TaskRecord | None, *, deploys: bool) -> ReportedNode:
    if record is None:
        return ReportedNode(name, NodeState.NOT_STARTED, (TARGET_GROUP,), "not submitted")
    if deploys and record.status is TaskStatus.SUCCESS:
        return ReportedNode(name, NodeState.NOT_STARTED, (TARGET_GROUP,), "destroyed, and not deployed again")
    return ReportedNode(name, _STATES[record.status], (TARGET_GROUP,), record.error)
