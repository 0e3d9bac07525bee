"""Groups that have nothing to submit: they are judged with the plan, and Airflow gets no task for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, select, update

from site_store.actions.abort import tell_group_failed
from site_store.groups.plans import NewPlan, criteria_data
from site_store.nodes.unsent import write_dependencies
from site_store.records import ActionRecord, IdleGroup
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import group_run
from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.leaf import blocked_by


def judge_idle(tx: Connection, now: datetime, its: ActionRecord, plan: NewPlan) -> None:
    """Write the verdicts of groups that have nothing to submit: each is its first attempt."""
    action_id, site, idle = its.id, its.site, plan.idle
    if not idle:
        return
    facts = [
        {
            "of_action": action_id,
            "of_name": group.name,
            "state": group.state,
            "reason": group.reason,
            "criteria": criteria_data(group.criteria),
            "counts": dict(group.counts),
            "attempt": 1,
            "attempt_key": plan.plan_key,
            "started": now,
            "ended": now,
        }
        for group in idle
    ]
    this = and_(group_run.c.action_id == bindparam("of_action"), group_run.c.name == bindparam("of_name"))
    columns = ("state", "reason", "criteria", "counts", "attempt", "attempt_key", "started", "ended")
    tx.execute(update(group_run).where(this).values({name: bindparam(name) for name in columns}), facts)
    verdicts = [
        NewEvent(
            EventKind.GROUP_FINISHED,
            f"nothing to submit: {group.state}" + (f" ({group.reason})" if group.reason else ""),
            group.name,
            data={"criteria": criteria_data(group.criteria)},
        )
        for group in idle
    ]
    write_events(tx, now, site, action_id, verdicts)
    for name, why in _blocked(tx, action_id, idle).items():
        write_dependencies(tx, now, site, action_id, name, why)
    critical = {planned.group.name for planned in plan.groups if planned.group.critical}
    for group in idle:
        if group.state is GroupState.FAILURE and group.name in critical:
            told = {"criteria": criteria_data(group.criteria), "counts": dict(group.counts)}
            tell_group_failed(tx, now, site, action_id, group.name, group.reason, told)


def _blocked(tx: Connection, action_id: str, idle: Sequence[IdleGroup]) -> dict[str, str]:
    """Return the groups that stand behind a failed one, each with the one at the root and why it failed."""
    failed = {group.name: group for group in idle if group.state is GroupState.FAILURE}
    if not any(group.reason is Reason.DEPENDENCY for group in failed.values()):
        return {}
    query = select(group_run.c.name, group_run.c.definition).where(group_run.c.action_id == action_id)
    needed = {row.name: row.definition["depends_on"] for row in tx.execute(query)}
    blocked: dict[str, str] = {}
    for name, group in failed.items():
        if group.reason is Reason.DEPENDENCY:
            first = next((other for other in needed[name] if other in failed), name)
            blocked[name] = blocked.get(first) or blocked_by(first, str(failed[first].reason))
    return blocked
