"""What other groups of an action have in hand while one is at work beside them (rules 8, 11 and 15)."""

from __future__ import annotations

from sqlalchemy import Connection, select

from site_store.node_records import OthersAtWork
from site_store.operations.node_tasks import TROUBLED, both_tasks, deploy, members_of, prepare
from site_store.records import OperationStatus
from site_store.sql.postgresql import whole_joins
from site_store.tables import group_run, operation, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GroupState, Phase

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
