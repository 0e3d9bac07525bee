"""A group that a person has cleared begins a new attempt: its nodes are eligible again (rule 23)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, or_, select, update

from site_store.nodes.unsent import forget_numbers
from site_store.operations.claims import to_be_fixed
from site_store.operations.node_tasks import both_tasks, deploy, members_of, prepare
from site_store.operations.operation_rows import LIVE
from site_store.operations.operations import abandon_operations
from site_store.records import GroupRecord
from site_store.sql.postgresql import among, whole_joins
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import operation, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import Phase

_PAST = ("status", "op", "error", "started", "ended")
_STARTED_AGAIN = (NodeState.FAILURE, NodeState.UNKNOWN, NodeState.PREPARING, NodeState.DEPLOYING)
_BEGUN_ANEW: Final[Mapping[str, Any]] = {
    "status": TaskStatus.PENDING,
    "op": None,
    "owner_group": None,
    "error": None,
    "started": None,
    "ended": None,
    "held": None,
    "tries": 1,
    "fixed": to_be_fixed,
}


def start_again(tx: Connection, now: datetime, site: str, found: GroupRecord) -> None:
    """Make the group's nodes eligible again, and keep what came of them in the history."""
    abandon_operations(tx, now, found.action_id, group=found.name)
    facts = [table.c[fact].label(f"{table.name}_{fact}") for table in (prepare, deploy) for fact in _PAST]
    query = both_tasks(select(prepare.c.node, *facts), found.action_id, found.name)
    with whole_joins(tx):
        rows = tx.execute(
            query.where(deploy.c.status != TaskStatus.SUCCESS).with_for_update(of=[prepare, deploy])
        ).all()
    live = set(
        tx.scalars(select(operation.c.op).where(operation.c.action_id == found.action_id, operation.c.status.in_(LIVE)))
    )
    again = [row for row in rows if _starts_again(row, live)]
    tx.execute(
        update(task)
        .where(task.c.action_id == found.action_id, among(task.c.node, [row.node for row in again]))
        .values(**_BEGUN_ANEW, found=None)
    )
    members = members_of(found.action_id, found.name)
    _ask_again(tx, found.action_id, members, live)
    # What kept them from being submitted may be over: that is judged anew.
    tx.execute(
        update(task)
        .where(task.c.action_id == found.action_id, task.c.status == TaskStatus.WITHHELD, task.c.node.in_(members))
        .values(status=TaskStatus.PENDING, error=None, held=None, started=None, ended=None)
    )
    tx.execute(
        update(task)
        .where(
            task.c.action_id == found.action_id,
            task.c.status == TaskStatus.PENDING,
            task.c.held.is_not(None),
            task.c.node.in_(members),
        )
        .values(error=None, held=None)
    )
    forget_numbers(tx, found.action_id, members)
    verdict = NewEvent(
        EventKind.NEW_ATTEMPT,
        f"attempt {found.attempt + 1} begins with {len(again)} nodes again; attempt {found.attempt} ended with "
        f"{found.state}" + (f" ({found.reason})" if found.reason else ""),
        found.name,
        data={
            "attempt": found.attempt,
            "state": found.state,
            "reason": found.reason,
            "counts": dict(found.counts),
            "seconds": (found.ended - found.started).total_seconds() if found.started and found.ended else None,
        },
    )
    earlier = [
        NewEvent(
            EventKind.EARLIER_RESULT,
            f"attempt {found.attempt}: prepare {row.prepare_status}, deploy {row.deploy_status}",
            found.name,
            row.node,
            {phase: {fact: getattr(row, f"{phase}_{fact}") for fact in _PAST} for phase in (prepare.name, deploy.name)},
        )
        for row in again
    ]
    write_events(tx, now, site, found.action_id, [verdict, *earlier])


def _ask_again(tx: Connection, action_id: str, members: Any, live: set[int]) -> None:
    """Have nodes that were deployed and not ready asked again: they are not deployed again for that (rule 58)."""
    at_work = and_(task.c.status == TaskStatus.PROCESSING, task.c.op.not_in(live))
    tx.execute(
        update(task)
        .where(
            task.c.action_id == action_id,
            task.c.phase == Phase.READY,
            task.c.node.in_(members),
            or_(task.c.status.in_((TaskStatus.ERROR, TaskStatus.UNKNOWN)), at_work),
        )
        .values(**_BEGUN_ANEW)
    )


def _starts_again(row: Row[*tuple[Any, ...]], live: set[int]) -> bool:
    """Whether a node is to start from the beginning: not a prepared one, and not one that is at work right now."""
    if node_state(TaskStatus(row.prepare_status), TaskStatus(row.deploy_status)) not in _STARTED_AGAIN:
        return False
    in_hand = {
        op
        for op, status in ((row.prepare_op, row.prepare_status), (row.deploy_op, row.deploy_status))
        if status == TaskStatus.PROCESSING
    }
    return not in_hand & live
