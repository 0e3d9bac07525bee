"""Steps of actions: how each stands and what it said last, written by the tasks that carry them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Text, and_, bindparam, case, cast, func, literal, or_, select, update

from site_store.nodes.node_status import done_again
from site_store.records import IdleGroup, StepRecord, StepState
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert
from site_store.sql.rows import filled
from site_store.tables import action, action_step
from site_store.tables.if_newest import STEPS
from strategy_lib.phase import GroupState, Reason

AIRFLOW_OWNER = "airflow:"


def plan_steps(
    tx: Connection, action_id: str, owner: str | None, places: Mapping[str, int], groups: Sequence[str] = ("",)
) -> None:
    """Write in the caller's transaction that these steps are to come; what has begun stays as it is.

    Parameters
    ----------
    owner : who is expected to write them: `airflow:<dag>`; None where no DAG run carries the action out.
    places : the place of each step among those of the action.
    groups : the groups that each of them is carried out for; "" is none.
    """
    facts = {"action_id": action_id, "state": StepState.PENDING, "attempt": 0, "owner": owner}
    rows = [
        {**facts, "name": name, "group_name": group, "position": place}
        for name, place in places.items()
        for group in groups
    ]
    if not rows:
        return
    planned = insert(action_step)
    key = ["action_id", "name", "group_name"]
    known = planned.on_conflict_do_update(
        index_elements=key,
        set_={"owner": planned.excluded.owner, "position": planned.excluded.position},
        where=action_step.c.position.is_(None),
    )
    tx.execute(known, rows)


def end_group_steps(tx: Connection, now: datetime, action_id: str, name: str, idle: Sequence[IdleGroup]) -> None:
    """Write in the caller's transaction how the step of groups ended that had nothing to submit."""
    if not idle:
        return
    this = and_(
        action_step.c.action_id == action_id,
        action_step.c.name == name,
        action_step.c.group_name == bindparam("of_group"),
    )
    ended = (
        update(action_step)
        .where(this)
        .values(state=bindparam("how"), message=bindparam("said"), started=now, ended=now)
    )
    tx.execute(ended, [{"of_group": group.name, "how": _idle_end(group), "said": _IDLE} for group in idle])


_IDLE = "nothing to submit: judged with the plan"


def _idle_end(group: IdleGroup) -> StepState:
    if group.reason is Reason.DEPENDENCY:
        return StepState.SKIPPED
    return StepState.SUCCESS if group.state is GroupState.SUCCESS else StepState.FAILED


class Steps(Repository):
    """Steps of actions; one that is carried out for each group has a row for each."""

    def begin(self, action_id: str, name: str, attempt: int, group: str | None = None) -> None:
        """Note that an attempt of a step is at work; an older attempt than the one that is known changes nothing.

        An attempt that comes back, after it was deferred or rescheduled, keeps the time at which it started.
        """
        key = {"action_id": action_id, "name": name, "group_name": group or ""}

        def work(tx: Connection) -> None:
            facts = {"state": StepState.RUNNING, "attempt": attempt, "started": self._shared_now(tx)}
            run = select(action.c.dag_id).where(action.c.id == action_id, action.c.run_id.is_not(None))
            owner = literal(AIRFLOW_OWNER) + run.scalar_subquery()
            row = insert(action_step).values(**key, **facts, owner=owner)
            same = action_step.c.attempt == row.excluded.attempt
            failed = action_step.c.state.in_((StepState.FAILED, StepState.RETRIED, StepState.RUNNING))
            why = func.coalesce(
                action_step.c.message, literal("attempt ") + cast(action_step.c.attempt, Text()) + " failed"
            )
            tx.execute(
                row.on_conflict_do_update(
                    index_elements=list(key),
                    set_={
                        "state": row.excluded.state,
                        "attempt": row.excluded.attempt,
                        "started": case((same, action_step.c.started), else_=row.excluded.started),
                        "ended": None,
                        "message": None,
                        "fixed": case((and_(~same, failed), why), (same, action_step.c.fixed)),
                    },
                    where=or_(STEPS.start(row.excluded.attempt), STEPS.own(row.excluded.attempt)),
                )
            )

        self._database.write(work)

    def skip(self, action_id: str, reasons: Mapping[str, str]) -> None:
        """Note that steps, those of groups for each, have no work, and why; what has begun stays as it is."""
        this = and_(
            action_step.c.action_id == action_id,
            action_step.c.name == bindparam("step"),
            action_step.c.started.is_(None),
        )

        def work(tx: Connection, now: datetime) -> None:
            skipped = update(action_step).where(this)
            values = {"state": StepState.SKIPPED, "started": now, "ended": now, "message": bindparam("why")}
            tx.execute(skipped.values(values), [{"step": name, "why": why} for name, why in reasons.items()])

        self._transact(work)

    def leave(
        self,
        action_id: str,
        name: str,
        attempt: int,
        state: StepState,
        message: str | None = None,
        group: str | None = None,
    ) -> None:
        """Note how an attempt of a step has left it; where a later attempt is at it, nothing changes.

        Parameters
        ----------
        state : an end, or how the step waits.
        message : why it failed or was skipped, without secrets.
        """
        this = and_(
            action_step.c.action_id == action_id,
            action_step.c.name == name,
            action_step.c.group_name == (group or ""),
            STEPS.own(attempt),
        )

        def work(tx: Connection, now: datetime) -> None:
            # What had failed before stays while the step waits, and is told once it has succeeded.
            values: dict[str, Any] = {"state": state, "message": message, "ended": now if state.is_end else None}
            if state is StepState.SUCCESS:
                values["fixed"] = action_step.c.fixed + done_again(now)
            elif state.is_end:
                values["fixed"] = None
            tx.execute(update(action_step).where(this).values(values))

        self._transact(work)

    def of_action(self, action_id: str) -> list[StepRecord]:
        """Return the steps of an action that have begun, in the order in which their newest attempts did.

        One whose process was killed still stands as running: the end of its action, or Airflow, tells.
        """
        query = select(action_step).where(action_step.c.action_id == action_id, action_step.c.started.is_not(None))
        query = query.order_by(action_step.c.started, action_step.c.name, action_step.c.group_name)
        return self._database.read(lambda tx: [_record(row) for row in tx.execute(query)])


def _record(row: Row[*tuple[object, ...]]) -> StepRecord:
    return filled(StepRecord, row, group=row.group_name or None, state=StepState(row.state))
