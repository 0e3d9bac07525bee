"""What the tasks of nodes say, read by node: its prepare, its deploy, and whether it was ready (rules 10 and 58).

And what other groups of its action have in hand meanwhile (rules 8, 11 and 15).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from site_store.records import OperationStatus
from site_store.sql.postgresql import whole_joins
from site_store.tables import group_node, group_run, operation, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GroupState, Phase


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One phase of one node in an action: which operation has it, and what came of it.

    `owner` is who is expected to do it, `fixed` what had to be repeated before it succeeded, and when.
    """

    status: TaskStatus
    owner_group: str | None = None
    op: int | None = None
    error: str | None = None
    provisioner_task: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    owner: str | None = None
    fixed: str | None = None

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has come of it: it stands there since the action was planned."""
        return self.status is TaskStatus.PENDING and self.error is None


@dataclass(frozen=True, slots=True)
class NodeTasks:
    """A node in an action: its phases, the groups that it is in, and the state they add up to (rule 10).

    `ready` is None where no group of the node asks whether it is ready.
    """

    node: str
    groups: tuple[str, ...]
    prepare: TaskRecord
    deploy: TaskRecord
    state: NodeState
    ready: TaskRecord | None = None


@dataclass(frozen=True, slots=True)
class OthersAtWork:
    """The nodes of a group as one of its attempts sees them, while other groups are at work beside it (rule 11).

    Attributes
    ----------
    states : of each node (rule 10).
    phases : nodes that another group has in hand at this moment, each with the phase.
    ops : the operations that have them in hand.
    """

    states: Mapping[str, NodeState]
    phases: Mapping[str, Phase] = field(default_factory=dict)
    ops: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Readiness:
    """Nodes of a group that were deployed, and are to be ready (rule 58).

    Attributes
    ----------
    awaited : it is not known yet whether they are.
    not_ready : they were not ready in time, or nobody asked them to the end.
    """

    awaited: frozenset[str] = frozenset()
    not_ready: frozenset[str] = frozenset()


prepare = task.alias("prepare")
deploy = task.alias("deploy")

TROUBLED = (TaskStatus.ERROR.value, TaskStatus.UNKNOWN.value)
"""The condition of the index on troubles."""
_FACTS = ("status", "owner_group", "op", "error", "started", "ended")


def both_tasks(query: Select[Any], action_id: str, group: str | None) -> Select[Any]:
    """Join the two tasks of each node of a group, or of the whole action when `group` is None."""
    pair = and_(deploy.c.action_id == prepare.c.action_id, deploy.c.node == prepare.c.node)
    joined = prepare.join(deploy, and_(pair, deploy.c.phase == Phase.DEPLOY))
    query = query.where(prepare.c.action_id == action_id, prepare.c.phase == Phase.PREPARE)
    query = query.select_from(joined)
    if group is None:
        return query
    return query.where(prepare.c.node.in_(members_of(action_id, group)))


def members_of(action_id: str, group: str) -> Select[str]:
    """Return the query of the nodes of a group."""
    members = group_node.alias("members")
    return select(members.c.node).where(members.c.action_id == action_id, members.c.group_name == group)


def read_node_tasks(tx: Connection, action_id: str, group: str | None = None) -> list[NodeTasks]:
    """Return the nodes of an action, or of one of its groups, by name, in three statements."""
    columns = [table.c[fact].label(f"{table.name}_{fact}") for table in (prepare, deploy) for fact in _FACTS]
    # A few operations, but many nodes: their provisioner tasks are looked up here and not joined to every row.
    names = select(operation.c.op, operation.c.provisioner_task).where(operation.c.action_id == action_id)
    provisioner_tasks: dict[int | None, str] = {row.op: row.provisioner_task for row in tx.execute(names)}
    member = select(group_node.c.node, group_node.c.group_name).where(group_node.c.action_id == action_id)
    if group is not None:
        member = member.where(group_node.c.node.in_(members_of(action_id, group)))
    memberships: defaultdict[str, list[str]] = defaultdict(list)
    for member_name, name in tx.execute(member):
        memberships[member_name].append(name)
    with whole_joins(tx):
        rows = tx.execute(both_tasks(select(prepare.c.node, *columns), action_id, group)).all()
    asked = _ready_tasks(tx, action_id, group, provisioner_tasks)
    found = [
        NodeTasks(
            node=row.node,
            groups=tuple(sorted(memberships[row.node])),
            prepare=_task(row, "prepare", provisioner_tasks),
            deploy=_task(row, "deploy", provisioner_tasks),
            state=node_state(
                TaskStatus(row.prepare_status),
                TaskStatus(row.deploy_status),
                asked[row.node].status if row.node in asked else TaskStatus.PENDING,
            ),
            ready=asked.get(row.node),
        )
        for row in rows
    ]
    return sorted(found, key=lambda tasks: tasks.node)


def _ready_tasks(
    tx: Connection, action_id: str, group: str | None, provisioner_tasks: dict[int | None, str]
) -> dict[str, TaskRecord]:
    """Return what came of asking the nodes whether they are ready, of those that some group asks."""
    query = select(task.c.node, *(task.c[fact].label(f"ready_{fact}") for fact in _FACTS))
    query = query.where(task.c.action_id == action_id, task.c.phase == Phase.READY)
    if group is not None:
        query = query.where(task.c.node.in_(members_of(action_id, group)))
    return {row.node: _task(row, "ready", provisioner_tasks) for row in tx.execute(query)}


def only_not_ready(query: Select[Any], action_id: str, group: str | None) -> Select[Any]:
    """Narrow a query of tasks to those in which a node was not ready; the index on troubles finds them."""
    query = query.where(task.c.action_id == action_id, task.c.status.in_(TROUBLED), task.c.phase == Phase.READY)
    return query if group is None else query.where(task.c.node.in_(members_of(action_id, group)))


def read_not_ready(tx: Connection, action_id: str, group: str | None = None) -> dict[str, tuple[NodeState, str | None]]:
    """Return state and error of the nodes of an action, or of a group, that were deployed and not ready in time.

    There are few of them, and mostly none: they are found by the index on troubles, and not by a third join.
    """
    query = only_not_ready(select(task.c.node, task.c.status, task.c.error), action_id, group)
    success = TaskStatus.SUCCESS
    rows = tx.execute(query)
    return {row.node: (node_state(success, success, TaskStatus(row.status)), row.error) for row in rows}


def _task(row: Row[*tuple[Any, ...]], phase: str, provisioner_tasks: dict[int | None, str]) -> TaskRecord:
    facts = {fact: getattr(row, f"{phase}_{fact}") for fact in _FACTS}
    facts["status"] = TaskStatus(facts["status"])
    return TaskRecord(**facts, provisioner_task=provisioner_tasks.get(facts["op"]))


_LIVE = (OperationStatus.INTENDED, OperationStatus.SUBMITTED)
_MOST_READINGS = 3
"""A task that ends between two statements of one reading is read again."""


def read_others_at_work(tx: Connection, action_id: str, group: str, attempt: int) -> OthersAtWork:
    """Return the states of a group's nodes, and which of them another group that is at work has in hand.

    A node that an operation is at which nobody waits for any more is `unknown`: what comes of it will never be this
    attempt's to learn.
    """
    for last in (*[False] * (_MOST_READINGS - 1), True):
        found, is_sure = _read(tx, action_id, group, attempt)
        if is_sure or last:
            return found
    raise AssertionError("the loop ends by returning")


def _read(tx: Connection, action_id: str, group: str, attempt: int) -> tuple[OthersAtWork, bool]:
    facts = (prepare.c.node, prepare.c.status, deploy.c.status, prepare.c.op, deploy.c.op)
    with whole_joins(tx):
        both = tx.execute(both_tasks(select(*facts), action_id, group)).all()
    asked = select(task.c.node, task.c.status, task.c.op).where(
        task.c.action_id == action_id,
        task.c.phase == Phase.READY,
        task.c.status.in_((*TROUBLED, TaskStatus.PROCESSING)),
        task.c.node.in_(members_of(action_id, group)),
    )
    ready = {row.node: row for row in tx.execute(asked)}
    own, live = _operations(tx, action_id, group, attempt)
    states: dict[str, NodeState] = {}
    phases: dict[str, Phase] = {}
    ops: set[int] = set()
    is_sure = True
    for name, prepared, deployed, prepare_op, deploy_op in both:
        seen = {Phase.PREPARE: TaskStatus(prepared), Phase.DEPLOY: TaskStatus(deployed)}
        for phase, op in ((Phase.PREPARE, prepare_op), (Phase.DEPLOY, deploy_op)):
            if seen[phase] is not TaskStatus.PROCESSING or op in own:
                continue
            if op in live:
                phases[name] = phase
                ops.add(op)
            else:
                seen[phase] = TaskStatus.UNKNOWN
                is_sure = False
        states[name] = node_state(seen[Phase.PREPARE], seen[Phase.DEPLOY])
        if name not in ready or states[name] is not NodeState.SUCCESS:
            continue
        if ready[name].status != TaskStatus.PROCESSING:
            states[name] = node_state(TaskStatus.SUCCESS, TaskStatus.SUCCESS, TaskStatus(ready[name].status))
        elif ready[name].op in live:
            phases[name] = Phase.READY
            ops.add(ready[name].op)
    return OthersAtWork(states, phases, frozenset(ops)), is_sure


def _operations(tx: Connection, action_id: str, group: str, attempt: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers of the attempt's own operations, and of those that other groups are at."""
    rows = tx.execute(
        select(operation.c.op, operation.c.group_name, operation.c.attempt, operation.c.status).where(
            operation.c.action_id == action_id, operation.c.group_name.is_not(None)
        )
    ).all()
    at_work = {
        (row.name, row.attempt)
        for row in tx.execute(
            select(group_run.c.name, group_run.c.attempt).where(
                group_run.c.action_id == action_id, group_run.c.state == GroupState.RUNNING
            )
        )
    }
    own = frozenset(row.op for row in rows if (row.group_name, row.attempt) == (group, attempt))
    live = frozenset(
        row.op for row in rows if row.status in _LIVE and (row.group_name, row.attempt) in at_work and row.op not in own
    )
    return own, live
