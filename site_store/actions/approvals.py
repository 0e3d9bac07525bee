"""Approvals that groups ask a person for: what was asked, of whom, and the answer. The first answer stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select, tuple_, update

from site_store.actions.action_rows import FACTS, action_record, read_action
from site_store.records import OPEN, ActionRecord, Lease
from site_store.sql.postgresql import insert
from site_store.sql.rows import filled
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import LedRepository
from site_store.status.outbox import write_notification
from site_store.status.status_records import ApprovalAnswer, ApprovalRecord
from site_store.tables import action, approval
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.strategy import ApprovalMoment

_KEY = ("action_id", "group_name", "attempt", "moment")


class Approvals(LedRepository):
    """What attempts of groups ask a person for."""

    def ask(
        self,
        action_id: str,
        group: str,
        attempt: int,
        moment: ApprovalMoment,
        text: str,
        approvers: Sequence[str] = (),
        timeout: int | None = None,
    ) -> ApprovalRecord:
        """Write down that an attempt of a group asks, and tell who is to be told; again changes nothing.

        Parameters
        ----------
        text : what the person is asked.
        approvers : who may answer; none: who may start an action of the kind.
        timeout : seconds from now until no answer is a refusal; None: never.

        Raises
        ------
        NotFound : no action has this id.
        """
        key = {"action_id": action_id, "group_name": group, "attempt": attempt, "moment": moment}

        def work(tx: Connection) -> ApprovalRecord:
            site, now = read_action(tx, action_id).site, self._shared_now(tx)
            row = {
                **key,
                "text": text,
                "approvers": list(approvers),
                "asked": now,
                "deadline": None if timeout is None else now + timedelta(seconds=timeout),
            }
            new = insert(approval).values(row).on_conflict_do_nothing(index_elements=_KEY).returning(approval.c.text)
            if tx.scalar(new) is not None:
                said = f"attempt {attempt} asks for approval {moment}: {text}"
                write_events(tx, now, site, action_id, [NewEvent(EventKind.APPROVAL, said, group)])
                told = {"moment": moment, "text": text, "approvers": list(approvers), "deadline": row["deadline"]}
                write_notification(
                    tx, now, site, NotificationKind.GATE_WAITING, action_id=action_id, group=group, data=told
                )
            return _record(tx.execute(select(approval).filter_by(**key)).one())

        return self._database.write(work)

    def answer(
        self,
        asked: ApprovalRecord,
        answer: ApprovalAnswer,
        by: str | None,
        comment: str | None = None,
    ) -> ApprovalRecord:
        """Write an answer down, and return the one that counts: that which was written first.

        Parameters
        ----------
        asked : what is answered.
        by : the user; None where nobody answered in time.
        """
        this = _this(asked)

        def work(tx: Connection, now: datetime) -> ApprovalRecord:
            change = update(approval).where(this, approval.c.answered.is_(None))
            if tx.execute(change.values(answered=now, answer=answer, answered_by=by, comment=comment)).rowcount:
                said = f"attempt {asked.attempt}, {asked.moment}: {answer.value.replace('_', ' ')}"
                said += (f" by {by}" if by else "") + (f": {comment}" if comment else "")
                site, data = read_action(tx, asked.action_id).site, {"user": by, "answer": answer}
                event = NewEvent(EventKind.APPROVAL, said, asked.group, data=data)
                write_events(tx, now, site, asked.action_id, [event])
            return _record(tx.execute(select(approval).where(this)).one())

        return self._transact(work)

    def of_action(self, action_id: str, group: str | None = None) -> list[ApprovalRecord]:
        """Return what was asked in an action, or by one of its groups, oldest first."""
        query = select(approval).where(approval.c.action_id == action_id).order_by(approval.c.asked)
        if group is not None:
            query = query.where(approval.c.group_name == group)
        return self._database.read(lambda tx: [_record(row) for row in tx.execute(query)])

    def not_noted(self, limit: int) -> list[ActionRecord]:
        """Return actions at work, oldest first, the note of whose DAG run does not say what they wait for now."""
        stale = approval.c.noted.is_(None) == approval.c.answered.is_(None)
        waits = select(approval.c.action_id).where(approval.c.action_id == action.c.id, stale).exists()
        query = select(*FACTS).where(action.c.state.in_(OPEN), action.c.run_id.is_not(None), waits)
        query = query.order_by(action.c.id).limit(limit)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def mark_noted(self, held: Lease, asked: Iterable[ApprovalRecord]) -> None:
        """Note that the note of the run says of these, as they were read, whether they wait.

        Raises `LeaseLost`: another controller leads.
        """

        def work(tx: Connection, now: datetime) -> None:
            for one in asked:
                tx.execute(update(approval).where(_this(one)).values(noted=now if one.answered is None else None))

        self._transact_led(held, work)


def _this(asked: ApprovalRecord) -> ColumnElement[bool]:
    key = (asked.action_id, asked.group, asked.attempt, asked.moment)
    return tuple_(*(approval.c[name] for name in _KEY)) == tuple_(*key)


def _record(row: Row[*tuple[Any, ...]]) -> ApprovalRecord:
    return filled(
        ApprovalRecord,
        row,
        group=row.group_name,
        moment=ApprovalMoment(row.moment),
        approvers=tuple(row.approvers),
        answer=None if row.answer is None else ApprovalAnswer(row.answer),
    )
