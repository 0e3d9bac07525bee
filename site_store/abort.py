"""What becomes of work that stops without a result: nothing may look as if it were still going on (rule 24)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, func, update

from site_store.operations import abandon_operations
from site_store.tables import group_run, task
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GroupState, Reason


def interrupt_work(tx: Connection, now: datetime, action_id: str, group: str | None = None) -> None:
    """Abandon the live operations of an action, or of one of its groups; their unfinished nodes become `unknown`."""
    abandon_operations(tx, now, action_id, group)
    unfinished = update(task).where(task.c.action_id == action_id, task.c.status == TaskStatus.PROCESSING)
    if group is not None:
        unfinished = unfinished.where(task.c.owner_group == group)
    what = "action" if group is None else "group"
    tx.execute(
        unfinished.values(
            status=TaskStatus.UNKNOWN,
            ended=now,
            error=func.coalesce(task.c.error, f"the {what} ended before its result was known"),
        )
    )


def interrupt_groups(tx: Connection, now: datetime, action_id: str, group: str | None = None) -> bool:
    """Judge as `interrupted` the running groups of an action, or this one of them, begun or not."""
    this = [group_run.c.action_id == action_id, group_run.c.state == GroupState.RUNNING]
    if group is not None:
        this = [
            group_run.c.action_id == action_id,
            group_run.c.name == group,
            group_run.c.state.in_((GroupState.PENDING, GroupState.RUNNING)),
        ]
    judged = tx.execute(
        update(group_run).where(*this).values(state=GroupState.FAILURE, reason=Reason.INTERRUPTED, ended=now)
    )
    return judged.rowcount > 0
