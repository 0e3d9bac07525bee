"""From what the store knows of an action to its report, also of its step on nodes. Pure: values in, values out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from site_engine.kinds import STEP_FAILED, STEP_WARNING, kind_of
from site_engine.parameters import parameters_of
from site_engine.plans.plan import dry_run_verdict
from site_engine.plans.site_rehearsals import DryRun
from site_store import ActionRecord, EventRecord, GroupRecord, NodeTasks, OperationStatus, ReportInput, TaskRecord
from site_store.status.events import EventKind
from strategy_lib.groups.batch_words import announcements
from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.reports.report import (
    FailedStep,
    Report,
    ReportedAction,
    ReportedGroup,
    ReportedNode,
    build_report,
)
from strategy_lib.strategy import EVERY_NODE, TARGET_GROUP
from strategy_lib.verdict import counts_of, evaluate

_MOST_LATE = 100


def failed_steps(
    states: Mapping[str, str | None], events: Iterable[EventRecord], behind: Collection[str] = ()
) -> list[FailedStep]:
    """Return the steps before the groups that failed, with the last thing that was said about each.

    Parameters
    ----------
    states : Airflow's state of every step, in the DAG's order. A step that was not reached is not named.
    events : the action's events, oldest first.
    behind : the steps behind the groups.
    """
    said = {event.data.get("step"): event.message for event in events if event.kind == STEP_FAILED}
    return [
        FailedStep(step, said.get(step, "its task failed; see its log"), behind=step in behind)
        for step, state in states.items()
        if state == "failed"
    ]


def make_report(
    data: ReportInput,
    step_states: Mapping[str, str | None],
    ended: datetime,
    node_step: NodeStepStatus | None = None,
    found: Mapping[Phase, StepTasks] = MappingProxyType({}),
) -> Report:
    """Make the report (rules 19, 20, 25).

    Parameters
    ----------
    data : what the store knows.
    step_states : Airflow's state of each of the action's steps, in order.
    ended : when the action ended.
    node_step : how the action's step on nodes stands, if it has one. Where the action has a plan, that tells about the
        nodes.
    found : what came of nodes that the plan has found for steps of their own: new labels, removals.
    """
    action = data.action
    failed = failed_steps(step_states, data.events, kind_of(action.kind).steps_behind)
    relabelled = _of_step(found, Phase.RELABEL)
    groups, nodes = _planned(data, {node.name for node in relabelled if node.state is NodeState.SUCCESS})
    on_nodes = report_node_step(data, node_step) if node_step is not None and not groups else None
    if node_step is not None and on_nodes is not None:
        group, nodes = on_nodes[0], list(on_nodes[1])
        groups = [group]
        if group.reason is Reason.NODE_STEP and not kind_of(action.kind).has_groups:
            # Its nodes say why, and better.
            failed = [step for step in failed if step.step != node_step.step]
    removed = _of_step(found, Phase.DESTROY)
    return build_report(
        _action(action, ended), groups, nodes, failed, _notes(data.events), relabelled=relabelled, removed=removed
    )


def _of_step(found: Mapping[Phase, StepTasks], step: Phase) -> tuple[ReportedNode, ...]:
    """Return the nodes of such a step, in no group."""
    return tuple(ReportedNode(name, _STATES[task.status], (), task.error) for name, task in found.get(step, ()))


def make_dry_run_report(
    data: ReportInput, step_states: Mapping[str, str | None], ended: datetime, rehearsal: DryRun
) -> Report:
    """Make the report of a dry run: what would be submitted and what not, unless a step before the groups failed."""
    failed = failed_steps(step_states, data.events, kind_of(data.action.kind).steps_behind)
    planned = bool(data.groups) or not kind_of(data.action.kind).has_groups
    withheld = tuple(reported_node(tasks) for tasks in data.nodes if tasks.prepare.status is TaskStatus.WITHHELD)
    verdict, text = dry_run_verdict(
        rehearsal, failed, planned=planned, groups=bool(data.groups), withheld=bool(withheld)
    )
    shown = () if failed or not planned else rehearsal.submissions
    sizes = ((group.definition, len(group.nodes)) for group in data.groups)
    notes = (*_notes(data.events), *announcements(sizes, shown))
    action = _action(data.action, ended)
    return Report(
        action, verdict, text, nodes=withheld, failed_steps=tuple(failed), notes=notes, rehearsal=tuple(shown)
    )


def _action(action: ActionRecord, ended: datetime) -> ReportedAction:
    return ReportedAction(
        id=action.id,
        site=action.site,
        kind=action.kind,
        revision=action.revision,
        dag_id=action.dag_id,
        run_id=action.run_id,
        user=action.user,
        started=action.started or action.created,
        ended=ended,
    )


def _planned(data: ReportInput, relabelled: Collection[str] = ()) -> tuple[list[ReportedGroup], list[ReportedNode]]:
    """Return the groups of the plan, and all nodes that it considers.

    Parameters
    ----------
    relabelled : nodes that the action gave new labels: it did not find them as wanted.
    """
    members: defaultdict[str, list[NodeTasks]] = defaultdict(list)
    for tasks in data.nodes:
        for name in tasks.groups:
            members[name].append(tasks)
    groups = [_group(group, members[group.name]) for group in data.groups]
    nodes = [reported_node(tasks) for tasks in data.nodes]
    return groups, [replace(node, as_wanted=False) if node.name in relabelled else node for node in nodes]


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


def _group(group: GroupRecord, members: list[NodeTasks]) -> ReportedGroup:
    prepared = sum(tasks.prepare.status is TaskStatus.SUCCESS for tasks in members)
    return ReportedGroup(
        name=group.name,
        critical=group.critical,
        state=group.state,
        reason=group.reason,
        depends_on=group.definition.depends_on,
        criteria=group.criteria,
        counts=replace(counts_of(tasks.state for tasks in members), prepared=prepared),
        attempt=max(group.attempt, 1),
        started=group.started,
        ended=group.ended,
    )


def reported_node(tasks: NodeTasks) -> ReportedNode:
    """Return a node as the report has it."""
    # Deploy comes later, so what was said of it counts more; what was said of the prepare of a deployed node is past.
    message = tasks.ready.error if tasks.ready is not None and tasks.ready.error else tasks.deploy.error
    if tasks.state is not NodeState.SUCCESS:
        # A prepare that failed is the cause; the deploy only says what kept it from starting.
        is_cause = tasks.deploy.op is None and tasks.prepare.status in (TaskStatus.ERROR, TaskStatus.UNKNOWN)
        message = (tasks.prepare.error or message) if is_cause else (message or tasks.prepare.error)
    # A success that no operation brought about was one before (rule 21).
    as_wanted = tasks.state is NodeState.SUCCESS and tasks.prepare.op is None and tasks.deploy.op is None
    withheld = any(
        task.status is TaskStatus.WITHHELD or (task.status is TaskStatus.PENDING and task.error is not None)
        for task in (tasks.prepare, tasks.deploy, *(() if tasks.ready is None else (tasks.ready,)))
    )
    return ReportedNode(tasks.node, tasks.state, tasks.groups, message, as_wanted, withheld)


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
class NodeStepStatus:
    """How a step on nodes stands when the report is made.

    ``airflow_state`` is that of its task. ``judged`` are the nodes as its verdict saw them, ``tasks`` as they are now,
    after what came late.
    """

    step: Phase
    airflow_state: str | None
    judged: StepTasks
    tasks: StepTasks


def report_node_step(
    data: ReportInput, status: NodeStepStatus
) -> tuple[ReportedGroup, tuple[ReportedNode, ...]] | None:
    """Return the group of the step's nodes and the nodes themselves; None when nothing was ever begun.

    In an action that was to deploy the nodes afterwards, one that was destroyed is not a success: it is not deployed.
    """
    if not status.tasks:
        return None
    targets = sorted({*(parameters_of(data.action).target_nodes or ()), *(name for name, _ in status.tasks)})
    deploys = kind_of(data.action.kind).has_groups
    records = dict(status.tasks)
    nodes = tuple(_node(name, records.get(name), deploys=deploys) for name in targets)
    judged = {name for name, record in status.judged if record.status is TaskStatus.SUCCESS}
    criteria = evaluate(EVERY_NODE, status.step, len(targets), len(judged.intersection(targets)))
    good = all(result.met for result in criteria) and status.airflow_state == "success"
    state, reason = _verdict(data, status, good=good and not deploys)
    if state is GroupState.FAILURE and all(result.met for result in criteria) and not deploys:
        # It became known too late: the verdict stays, and what it was judged by is not to be seen any more (rule 14).
        criteria = ()
    begun = [record.started for record in records.values() if record.started is not None]
    ended = [record.ended for record in records.values() if record.ended is not None]
    attempts = sum(1 for operation in data.operations if operation.phase is status.step)
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


def _verdict(data: ReportInput, status: NodeStepStatus, *, good: bool) -> tuple[GroupState, Reason | None]:
    if good:
        return GroupState.SUCCESS, None
    latest = max(
        (operation for operation in data.operations if operation.phase is status.step),
        key=lambda operation: operation.op,
        default=None,
    )
    came_to_an_end = latest is None or latest.status in _JUDGED
    if status.airflow_state == "failed" and came_to_an_end:
        return GroupState.FAILURE, Reason.NODE_STEP
    return GroupState.FAILURE, Reason.INTERRUPTED


def _node(name: str, record: TaskRecord | None, *, deploys: bool) -> ReportedNode:
    if record is None:
        return ReportedNode(name, NodeState.NOT_STARTED, (TARGET_GROUP,), "not submitted")
    if deploys and record.status is TaskStatus.SUCCESS:
        return ReportedNode(name, NodeState.NOT_STARTED, (TARGET_GROUP,), "destroyed, and not deployed again")
    return ReportedNode(name, _STATES[record.status], (TARGET_GROUP,), record.error)
