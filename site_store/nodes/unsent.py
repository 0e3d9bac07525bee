"""Nodes that no operation of their own decided: each has a number all the same, and its error says why (rule 35).

A node that is as wanted has the number of the operation that it was done by. What was not submitted has one from the
sequence of operations, so that it is newer than all that was done before; the node itself stays with the operation that
has left it as it is (rule 11).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, literal, or_, select, text, update

from site_store.nodes.node_errors import write_rows
from site_store.sql.postgresql import among, pairs
from site_store.tables import action, group_node, node, node_error, task
from strategy_lib.goals.node_errors import ErrorCode, ReportState
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, Phase


def next_op(tx: Connection) -> int:
    """Take a number for something that is no operation of an action: it is newer than all that was done before."""
    return int(tx.execute(text("SELECT nextval(pg_get_serial_sequence('operation', 'op'))")).scalar_one())


def move_past(tx: Connection, least: int) -> int:
    """Have the next number above this one, and above the last one; return above which."""
    op = max(next_op(tx), least)
    tx.execute(text("SELECT setval(pg_get_serial_sequence('operation', 'op'), :op)"), {"op": op})
    return op


def write_unsent(
    tx: Connection,
    now: datetime,
    site: str,
    action_id: str,
    phase: Phase,
    reasons: Mapping[str, str],
    code: ErrorCode,
) -> None:
    """Keep in the caller's transaction that nothing is sent for these nodes: an error with a number of its own.

    A dry run sends nothing, and keeps no error.
    """
    if not reasons or tx.scalar(select(action.c.dry_run).where(action.c.id == action_id)):
        return
    op = next_op(tx)
    why = pairs(reasons)
    facts: dict[str, ColumnElement[Any]] = {
        "site": node.c.site,
        "node": node.c.name,
        "op": literal(op, node_error.c.op.type),
        "code": literal(str(code)),
        "text": why.c.value,
        "phase": literal(str(phase)),
        "action_id": literal(action_id),
        "wanted_version": func.coalesce(task.c.wanted_version, node.c.wanted_version),
        "time": literal(now, node_error.c.time.type),
        "state": literal(str(ReportState.FAILED)),
    }
    of_node = and_(task.c.node == node.c.name, task.c.action_id == action_id, task.c.phase == str(phase))
    source = node.join(why, why.c.key == node.c.name).join(task, of_node)
    write_rows(tx, facts, select(*facts.values()).select_from(source).where(node.c.site == site))
    unsent = (task.c.action_id == action_id, task.c.op.is_(None), among(task.c.node, reasons))
    tx.execute(update(task).where(*unsent, task.c.phase.in_(GROUP_PHASES)).values(done_op=op))


def write_dependencies(
    tx: Connection, now: datetime, site: str, action_id: str, group: str, blocked: str | None = None
) -> None:
    """Keep in the caller's transaction that nodes of a group were not sent because of others that failed.

    Parameters
    ----------
    blocked : which group stands in the way of the whole group, and why; None: only of nodes that are held for nodes.
    """
    members = select(group_node.c.node).where(group_node.c.action_id == action_id, group_node.c.group_name == group)
    told = exists().where(
        node_error.c.site == site,
        node_error.c.node == task.c.node,
        node_error.c.action_id == action_id,
        node_error.c.code == str(ErrorCode.DEPENDENCY),
        node_error.c.state != str(ReportState.CLEARED),
    )
    due = [
        task.c.action_id == action_id,
        task.c.phase.in_(GROUP_PHASES),
        task.c.status == TaskStatus.PENDING,
        task.c.node.in_(members),
        ~told,
    ]
    if blocked is None:
        due.append(task.c.held.is_not(None))
    rows = tx.execute(select(task.c.node, task.c.phase, task.c.held).where(*due)).all()
    found: dict[str, tuple[Phase, str]] = {}
    for row in rows:
        # Its first phase that was not sent.
        phase = Phase(row.phase)
        if row.node not in found or GROUP_PHASES.index(phase) < GROUP_PHASES.index(found[row.node][0]):
            found[row.node] = (phase, row.held or blocked or "")
    for phase in GROUP_PHASES:
        reasons = {name: why for name, (its, why) in found.items() if its is phase}
        write_unsent(tx, now, site, action_id, phase, reasons, ErrorCode.DEPENDENCY)


def number_as_wanted(
    tx: Connection, site: str, action_id: str, phases: Collection[Phase], nodes: Collection[str]
) -> None:
    """Give tasks of nodes that are as wanted the number of the operation that those were done by, and the revision.

    One without any gets a number of its own.
    """
    if not nodes:
        return
    these = (
        task.c.action_id == action_id,
        task.c.phase.in_([str(phase) for phase in phases]),
        task.c.status == TaskStatus.SUCCESS,
        task.c.op.is_(None),
        among(task.c.node, nodes),
    )
    done = update(task).where(*these, node.c.site == site, node.c.name == task.c.node)
    tx.execute(done.values(done_op=node.c.op, done_revision=node.c.done_revision))
    _number(tx, *these)


def number_never_begun(tx: Connection, action_id: str) -> None:
    """Give what an action that is over never began a number, too."""
    _number(tx, task.c.action_id == action_id, task.c.status == TaskStatus.PENDING)


def _number(tx: Connection, *which: ColumnElement[bool]) -> None:
    without = (*which, task.c.op.is_(None), task.c.done_op.is_(None))
    if tx.execute(select(task.c.node).where(*without).limit(1)).first() is not None:
        op = next_op(tx)
        tx.execute(update(task).where(*without).values(done_op=op))


def forget_numbers(tx: Connection, action_id: str, nodes: Any) -> None:
    """Forget the numbers of tasks that wait for their phase again.

    Parameters
    ----------
    nodes : a statement that selects the names of the nodes.
    """
    again = or_(task.c.status == TaskStatus.PENDING, task.c.status == TaskStatus.WITHHELD)
    tx.execute(
        update(task)
        .where(task.c.action_id == action_id, task.c.node.in_(nodes), again, task.c.done_op.is_not(None))
        .values(done_op=None, done_revision=None)
    )
