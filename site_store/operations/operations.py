"""Intended provisioner tasks, written down before they are submitted: a crash never submits one twice (rule 12)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, delete, exists, func, or_, select, update

from site_store.nodes.node_status import follow_operation
from site_store.operations.claims import Claim, claim
from site_store.operations.operation_rows import (
    LIVE,
    UNFINISHED,
    newest_ended,
    operation_record,
    read_operation,
    read_operations,
    usual_times,
)
from site_store.operations.outcomes import apply_late_outcome, apply_outcome
from site_store.records import Operation, OperationStatus
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError
from site_store.sql.home import require_own
from site_store.tables import action, node_question, operation, site_lock
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase


def abandon_operations(tx: Connection, now: datetime, action_id: str, group: str | None = None) -> None:
    """Stop waiting for the live operations of an action, or of one of its groups (rule 24).

    Whether the provisioner is still at work on them is open, except for those whose sending was never begun: nobody can
    begin it any more, as that asks for the site.
    """
    never_sent = and_(operation.c.status == OperationStatus.INTENDED, operation.c.sending.is_(None))
    query = (
        update(operation)
        .where(operation.c.action_id == action_id, operation.c.status.in_(LIVE))
        .values(status=OperationStatus.ABANDONED, ended=now, over=case((never_sent, now)))
    )
    asked = select(operation.c.op).where(operation.c.action_id == action_id)
    if group is not None:
        query = query.where(operation.c.group_name == group)
        asked = asked.where(operation.c.group_name == group)
    tx.execute(query)
    tx.execute(delete(node_question).where(node_question.c.op.in_(asked)))


def finish(tx: Connection, now: datetime, op: int, status: OperationStatus, result: str | None) -> bool:
    """Carry out `Operations.finish` in the caller's transaction."""
    if status in LIVE:
        raise ValueError(f"{status} is not an end of an operation")
    # To have been seen over is the last word; the other ends only say that nobody waits any more.
    complete = status is OperationStatus.COMPLETE
    from_states = tuple(OperationStatus) if complete else LIVE
    values: dict[str, Any] = {"status": status, "ended": func.coalesce(operation.c.ended, now)}
    if complete:
        values["over"] = func.coalesce(operation.c.over, now)
    if result is not None:
        values["result"] = result
    changed = tx.execute(
        update(operation).where(operation.c.op == op, operation.c.status.in_(from_states)).values(values)
    ).rowcount
    return bool(changed) or read_operation(tx, op).status is status


class Operations(Repository):
    """Operations, from the intent to the end."""

    def get(self, op: int) -> Operation:
        """Return an operation. Raises `StoreError`: no operation has this number."""
        return self._database.read(lambda tx: read_operation(tx, op))

    def of_action(self, action_id: str, group: str | None = None) -> list[Operation]:
        """Return the operations of an action, with and without a group, or those of one of its groups; oldest first."""
        return self._database.read(lambda tx: read_operations(tx, action_id, group))

    def newest_of_site(self, site: str, phase: Phase) -> Operation | None:
        """Return the newest operation of a phase on a site, of whichever action; None: there was none."""
        newest = select(func.max(operation.c.op)).where(operation.c.site == site, operation.c.phase == phase)

        def work(tx: Connection) -> Operation | None:
            op = tx.execute(newest).scalar()
            return None if op is None else read_operation(tx, op)

        return self._database.read(work)

    def usual_seconds(self, site: str, phases: Collection[Phase]) -> dict[Phase, float]:
        """Return how long operations on a site took at the provisioner: the median of the newest of each phase.

        A phase of which none was seen over is left out.
        """
        return usual_times(self._database.read_once(lambda tx: tx.execute(newest_ended(site, phases)).all()))

    def begin(self, asked: Claim) -> Operation:
        """Write down the intent to submit something to the provisioner, and claim the nodes for it.

        Asked again for the same action, group, attempt, phase and round, it returns the operation that there is,
        whatever else is asked. Of two that ask for one node at the same time, in whatever groups, exactly one gets it.

        Returns
        -------
        Operation
            `nodes` are those that were claimed. When it is of nodes and could claim none it is `COMPLETE` at once and
            must not be submitted.

        Raises
        ------
        StoreError : the action does not hold the site; the group's attempt has its verdict or was replaced.
        SiteStateChanged : a newer version of the states of nodes was published; nothing is claimed.
        SubmissionsHeld : nothing may be sent for the site (rule 61), and nothing is claimed.
        """
        return self._database.write(lambda tx: read_operation(tx, claim(tx, self._shared_now(tx), asked)))

    def acquire_lease(self, op: int, owner: str, seconds: float, *, sending: bool = False) -> bool:
        """Ask for the right to submit an operation, so that of two processes only one does.

        Parameters
        ----------
        op : the operation.
        owner : who asks, unique to the process. The same owner may ask again, which prolongs its right.
        seconds : for how long, by the database's clock; afterwards another may take it.
        sending : ask so right before each request, and send it only if the right is given: in the same step it is noted
            that it may have been sent, and when. An operation that has no such note holds nothing at the provisioner.

        Returns
        -------
        bool
            True: submit it now, after looking for its reference at the provisioner if its sending was begun before.
            False: another has the right, or it is submitted or over, or the action has lost its site.

        Raises `SubmissionsHeld`: it is about to be sent, and nothing may be for its site (rule 61).
        """

        def work(tx: Connection, now: datetime) -> bool:
            if sending:
                require_own(tx, tx.scalar(select(operation.c.site).where(operation.c.op == op)))
            free = or_(
                operation.c.lease_owner.is_(None), operation.c.lease_owner == owner, operation.c.lease_until <= now
            )
            holds = exists().where(site_lock.c.site == operation.c.site, site_lock.c.action_id == operation.c.action_id)
            values: dict[str, Any] = {"lease_owner": owner, "lease_until": now + timedelta(seconds=seconds)}
            if sending:
                values["sending"] = now
            return bool(
                tx.execute(
                    update(operation)
                    .where(operation.c.op == op, operation.c.status == OperationStatus.INTENDED, free, holds)
                    .values(values)
                ).rowcount
            )

        return self._transact(work)

    def mark_submitted(self, op: int, provisioner_task: str) -> None:
        """Record which provisioner task an operation became. Recorded also when its action has ended meanwhile.

        Raises `StoreError`: another provisioner task is recorded already; `StoreError`: no operation has
        this number.
        """

        def work(tx: Connection) -> None:
            intended = operation.c.status == OperationStatus.INTENDED
            first = tx.execute(
                update(operation)
                .where(operation.c.op == op, operation.c.provisioner_task.is_(None))
                .values(
                    provisioner_task=provisioner_task,
                    submitted=self._shared_now(tx),
                    # Given up, and then submitted all the same by a process that was late: it is at work, unawaited.
                    status=case((intended, OperationStatus.SUBMITTED), else_=OperationStatus.ABANDONED),
                    over=None,
                )
            ).rowcount
            if first:
                return
            known = read_operation(tx, op).provisioner_task
            if known != provisioner_task:
                raise StoreError(
                    f"operation {op} is the provisioner's task {known}, and now also {provisioner_task}: "
                    "look at both at the provisioner before going on"
                )

        self._database.write(work)

    def mark_running(self, op: int, ago: timedelta = timedelta(0)) -> None:
        """Record that the provisioner has worked on it for so long; the first time that is recorded stays (rule 14)."""
        first = update(operation).where(operation.c.op == op, operation.c.running_since.is_(None))
        self._database.write(lambda tx: tx.execute(first.values(running_since=self._shared_now(tx) - ago)))

    def note_at_work(self, op: int, nodes: Collection[str]) -> None:
        """Record that the list shows these nodes at work though the provisioner task is over; those noted before stay.

        Raises `StoreError`: no operation has this number.
        """

        def work(tx: Connection) -> None:
            tx.execute(select(operation.c.op).where(operation.c.op == op).with_for_update())
            noted = sorted(read_operation(tx, op).at_work.union(nodes))
            tx.execute(update(operation).where(operation.c.op == op).values(at_work=noted))

        self._database.write(work)

    def overtaken_by(self, op: int) -> int | None:
        """Return the newest operation, begun after this one, that the same connection's provisioner has begun; or None.

        Where a provisioner does one task after the other, the task of this one is over or dead by then. Which
        connections lead to one provisioner is not stored: operations over one of another name are not counted.
        """
        other, mine, its = operation.alias(), action.alias(), action.alias()
        newest = (
            select(func.max(other.c.op))
            .join(its, its.c.id == other.c.action_id)
            .join(mine, mine.c.connection == its.c.connection)
            .join(operation, operation.c.action_id == mine.c.id)
            .where(operation.c.op == op, other.c.op > op)
            .where(other.c.running_since.is_not(None), other.c.provisioner_task.is_not(None))
        )
        found: int | None = self._database.read_once(lambda tx: tx.scalar(newest))
        return found

    def record_outcome(
        self,
        op: int,
        outcome: Outcome,
        *,
        status: OperationStatus | None = None,
        result: str | None = None,
    ) -> frozenset[str]:
        """Write what came of an operation's nodes, each only where this operation is still the node's newest.

        A result that comes for a node that belongs to a newer operation goes to the history only. What was once
        proven, success or failure, is not changed by the same operation again; the contradiction goes to the history.
        A node that was deployed is done, in the version that the action's plan has for it, unless it was found deployed
        before: then the operation has done nothing to it. Nor is a node that was not listed before (rule 13).

        Parameters
        ----------
        op : the operation.
        outcome : what became of the nodes (`strategy_lib.outcome.judge`).
        status, result : when given, the operation is finished in the same transaction (see `finish`).

        Returns
        -------
        frozenset of str
            Nodes whose result was superseded by a newer operation.

        Raises
        ------
        StoreError : no operation has this number.
        """

        def work(tx: Connection, now: datetime) -> frozenset[str]:
            this = read_operation(tx, op)
            applied = apply_outcome(tx, now, this, outcome)
            if status is not None:
                finish(tx, now, op, status, result)
            follow_operation(tx, now, this, outcome, applied.succeeded)
            return applied.superseded

        return self._transact(work)

    def record_late_outcome(self, op: int, outcome: Outcome, note: str = "", *, over: bool = True) -> frozenset[str]:
        """Write what was learnt too late of an operation's nodes: `unknown` becomes the true state (rule 14).

        Only nodes are changed for which this operation is still the newest in its own action; what was done is noted
        with the node only if no later action has touched it. Verdicts of groups and actions stay.

        Parameters
        ----------
        op : the operation.
        outcome : what became of the nodes.
        note : why it was learnt only now.
        over : whether the provisioner task was seen to be over; then it is no longer in `unfinished`.

        Returns
        -------
        frozenset of str
            Nodes whose state became known by this.

        Raises
        ------
        StoreError : no operation has this number.
        """

        def work(tx: Connection, now: datetime) -> frozenset[str]:
            this = read_operation(tx, op)
            applied = apply_late_outcome(tx, now, this, outcome, note)
            if over:
                finish(tx, now, op, OperationStatus.COMPLETE, None)
            follow_operation(tx, now, this, outcome, applied.succeeded, late=True)
            return applied.known

        return self._transact(work)

    def finish(self, op: int, status: OperationStatus, result: str | None = None) -> bool:
        """Record the end of an operation, after its outcome was recorded (or pass `status` to `record_outcome`).

        Parameters
        ----------
        op : the operation.
        status : `COMPLETE`: the provisioner task was seen to be over. `TIMED_OUT`, `ABANDONED`: nobody waits for it any
            more, and it stays in `unfinished`.
        result : the provisioner's own word for how it went.

        Returns
        -------
        bool
            Whether the operation is now in this status; what was seen to be over stays `COMPLETE`.

        Raises
        ------
        StoreError : no operation has this number.
        """
        return self._database.write(lambda tx: finish(tx, self._shared_now(tx), op, status, result))

    def unfinished(self, site: str, nodes: Collection[str] | None = None) -> list[Operation]:
        """Return operations of any action whose provisioner task may still be at work (rules 14 and 24).

        Parameters
        ----------
        site : the site.
        nodes : only those that hold one of these nodes; None for all, with the steps that concern the whole site, which
            hold no node.

        Returns
        -------
        list of Operation
            In the order in which they were begun. One without `provisioner_task` may have been sent by a process that
            died: look for its reference, and believe that there is none only when a request of `sending` cannot take
            effect any more. Settle each by `record_late_outcome`, or by `finish` when it concerns no nodes.
        """
        # Its sending was begun, and the action lost its site (`SiteLocks.release`) before anybody said more.
        holds = exists().where(site_lock.c.site == operation.c.site, site_lock.c.action_id == operation.c.action_id)
        lost = and_(operation.c.status == OperationStatus.INTENDED, operation.c.sending.is_not(None), ~holds)
        query = (
            select(operation)
            .where(
                operation.c.site == site,
                operation.c.over.is_(None),
                or_(operation.c.status.in_(UNFINISHED), lost),
            )
            .order_by(operation.c.op)
        )
        found = self._database.read(lambda tx: [operation_record(row) for row in tx.execute(query)])
        if nodes is None:
            return found
        wanted = frozenset(nodes)
        return [item for item in found if not wanted.isdisjoint(item.nodes)]
