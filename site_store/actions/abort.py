"""Ending an action or a group that goes on no longer: nothing may look as if it were still going on (rule 24)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, update

from site_store.actions.action_rows import read_action, write_audit
from site_store.nodes.node_errors import write_errors
from site_store.nodes.node_status import follow_tasks
from site_store.nodes.unsent import number_never_begun
from site_store.operations.operations import abandon_operations
from site_store.records import OPEN, ActionState
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.outbox import write_notification
from site_store.tables import action, group_run, node, site_lock, task
from strategy_lib.node import TaskStatus
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.words import Status

CLOSE = "close"
"""The command of a process that ends an action unasked, among the commands to the action."""


def close_action(
    tx: Connection,
    now: datetime,
    action_id: str,
    state: ActionState,
    verdict: str,
    by: str | None = None,
    left_alone: int = 0,
) -> bool:
    """Carry out `Actions.close` in the caller's transaction."""
    closing = read_action(tx, action_id)
    # First of all: from here on the action can begin nothing, and what it began is visible to what follows.
    tx.execute(delete(site_lock).where(site_lock.c.action_id == action_id))
    allowed = OPEN if state is ActionState.CANCELLED else tuple(ActionState)
    decided = tx.execute(
        update(action)
        .where(action.c.id == action_id, action.c.state.in_(allowed))
        .values(
            state=state,
            verdict=verdict,
            left_alone=left_alone,
            ended=now,
            paused=None,
            noted=None,
            version=action.c.version + 1,
        )
    ).rowcount
    interrupt_work(tx, now, action_id)
    interrupt_groups(tx, now, closing.site, action_id)
    number_never_begun(tx, action_id)
    if decided and not closing.dry_run and (closing.state, closing.verdict) != (state, verdict):
        facts = {"kind": closing.kind, "revision": closing.revision, "user": closing.user}
        data = {**facts, "state": state, "verdict": verdict, "left_alone": left_alone}
        write_notification(tx, now, closing.site, NotificationKind.VERDICT, action_id=action_id, data=data)
    if decided:
        ended = NewEvent(EventKind.ACTION_CLOSED, f"action {state}: {verdict}")
        write_events(tx, now, closing.site, action_id, [ended])
    if decided and by is not None:
        write_audit(tx, now, action_id, CLOSE, by)
    return bool(decided) or closing.state is state


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
    these = [task.c.action_id == action_id, task.c.status == TaskStatus.UNKNOWN, node.c.status == Status.PROCESSING]
    write_errors(tx, now, *these)
    follow_tasks(tx, now, *these)


def interrupt_groups(tx: Connection, now: datetime, site: str, action_id: str, group: str | None = None) -> bool:
    """Judge as `interrupted` the running groups of an action, or this one of them, begun or not."""
    this = [group_run.c.action_id == action_id, group_run.c.state == GroupState.RUNNING]
    if group is not None:
        this = [
            group_run.c.action_id == action_id,
            group_run.c.name == group,
            group_run.c.state.in_((GroupState.PENDING, GroupState.RUNNING)),
        ]
    judged = tx.execute(
        update(group_run)
        .where(*this)
        .values(state=GroupState.FAILURE, reason=Reason.INTERRUPTED, ended=now)
        .returning(group_run.c.name, group_run.c.critical)
    ).all()
    for name, critical in judged:
        if critical:
            tell_group_failed(tx, now, site, action_id, name, Reason.INTERRUPTED)
    return bool(judged)


def tell_group_failed(
    tx: Connection,
    now: datetime,
    site: str,
    action_id: str,
    group: str,
    reason: Reason | None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Tell in the caller's transaction that a critical group has failed."""
    data = {"reason": reason, **(facts or {})}
    write_notification(
        tx, now, site, NotificationKind.CRITICAL_GROUP_FAILED, action_id=action_id, group=group, data=data
    )
