"""Steps of actions: how each stands and what it said last, written by the tasks that carry them out."""

from __future__ import annotations

from sqlalchemy import Connection, Row, and_, case, select, update

from site_store.database import Repository
from site_store.dialects import insert
from site_store.records import StepRecord, StepState
from site_store.tables import action_step


class Steps(Repository):
    """Steps of actions; one that is carried out for each group has a row for each."""

    def begin(self, action_id: str, name: str, attempt: int, group: str | None = None) -> None:
        """Note that an attempt of a step is at work; an older attempt than the one that is known changes nothing.

        An attempt that comes back, after it was deferred or rescheduled, keeps the time at which it started.
        """
        key = {"action_id": action_id, "name": name, "group_name": group or ""}

        def work(tx: Connection) -> None:
            facts = {"state": StepState.RUNNING, "attempt": attempt, "started": self._shared_now(tx)}
            row = insert(tx, action_step).values(**key, **facts)
            same = action_step.c.attempt == row.excluded.attempt
            tx.execute(
                row.on_conflict_do_update(
                    index_elements=list(key),
                    set_={
                        "state": row.excluded.state,
                        "attempt": row.excluded.attempt,
                        "started": case((same, action_step.c.started), else_=row.excluded.started),
                        "ended": None,
                        "message": None,
                    },
                    where=action_step.c.attempt <= row.excluded.attempt,
                )
            )

        self._database.write(work)

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
            action_step.c.attempt == attempt,
        )

        def work(tx: Connection) -> None:
            ended = self._shared_now(tx) if state.is_end else None
            tx.execute(update(action_step).where(this).values(state=state, message=message, ended=ended))

        self._database.write(work)

    def of_action(self, action_id: str) -> list[StepRecord]:
        """Return the steps of an action that have begun, in the order in which their newest attempts did.

        One whose process was killed still stands as running: the end of its action, or Airflow, tells.
        """
        query = select(action_step).where(action_step.c.action_id == action_id, action_step.c.started.is_not(None))
        query = query.order_by(action_step.c.started, action_step.c.name, action_step.c.group_name)
        return self._database.read(lambda tx: [_record(row) for row in tx.execute(query)])


def _record(row: Row[*tuple[object, ...]]) -> StepRecord:
    return StepRecord(
        action_id=row.action_id,
        name=row.name,
        group=row.group_name or None,
        state=StepState(row.state),
        attempt=row.attempt,
        started=row.started,
        ended=row.ended,
        message=row.message,
        owner=row.owner,
        position=row.position,
        fixed=row.fixed,
    )
