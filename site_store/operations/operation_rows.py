"""Rows of operations as values, and what their status says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, or_, select

from site_store.records import OPEN, Operation, OperationStatus
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError
from site_store.sql.rows import filled, moment
from site_store.tables import action, group_run, operation, site_lock
from strategy_lib.phase import GroupState, Phase

LIVE = (OperationStatus.INTENDED, OperationStatus.SUBMITTED)
UNFINISHED = (OperationStatus.SUBMITTED, OperationStatus.TIMED_OUT, OperationStatus.ABANDONED)


def read_operation(tx: Connection, op: int) -> Operation:
    """Return an operation. Raises `StoreError`: no operation has this number."""
    row = tx.execute(select(operation).where(operation.c.op == op)).one_or_none()
    if row is None:
        raise StoreError(f"there is no operation {op}: begin it before anything is recorded for it")
    return operation_record(row)


def read_operations(tx: Connection, action_id: str, group: str | None = None) -> list[Operation]:
    """Return the operations of an action, or of one of its groups, in the order in which they were begun."""
    query = select(operation).where(operation.c.action_id == action_id).order_by(operation.c.op)
    if group is not None:
        query = query.where(operation.c.group_name == group)
    return [operation_record(row) for row in tx.execute(query)]


def operation_record(row: Row[*tuple[Any, ...]]) -> Operation:
    """Return a row of the table as a value."""
    return filled(
        Operation,
        row,
        group=row.group_name,
        phase=Phase(row.phase),
        nodes=tuple(row.nodes),
        status=OperationStatus(row.status),
        left_out=tuple(row.left_out or ()),
        at_work=frozenset(row.at_work or ()),
    )


def require_site(tx: Connection, action_id: str, site: str) -> None:
    """Make sure that the action holds its site, and keep it so until the transaction ends."""
    held = select(site_lock.c.site).where(site_lock.c.site == site, site_lock.c.action_id == action_id)
    if tx.execute(held.with_for_update(read=True)).one_or_none() is None:
        raise StoreError(
            f"action {action_id} does not hold site {site!r}, so it may start nothing there: acquire the site first"
        )


def require_attempt(tx: Connection, action_id: str, group: str, attempt: int) -> None:
    """Make sure that this attempt is the one at work, and keep it so until the transaction ends."""
    is_open = select(group_run.c.name).where(
        group_run.c.action_id == action_id,
        group_run.c.name == group,
        group_run.c.attempt == attempt,
        group_run.c.state == GroupState.RUNNING,
    )
    if tx.execute(is_open.with_for_update(read=True)).one_or_none() is None:
        raise StoreError(
            f"attempt {attempt} of group {group!r} is over or was replaced: open the group's attempt first"
        )


class Orphans(Repository):
    """Operations of `Operations.unfinished` whose action is over."""

    def of_site(self, site: str, at_most: timedelta) -> list[Operation]:
        """Return those of a site, oldest first.

        Parameters
        ----------
        at_most : only those for which nobody has waited for so long at most.
        """

        def work(tx: Connection) -> list[Operation]:
            since = self._shared_now(tx) - at_most
            query = select(operation).where(*_orphaned(site, since)).order_by(operation.c.op)
            return [operation_record(row) for row in tx.execute(query)]

        return self._database.read(work)

    def sites(self, at_most: timedelta) -> list[str]:
        """Return the sites that have any, by name."""

        def work(tx: Connection) -> list[str]:
            since = self._shared_now(tx) - at_most
            query = select(operation.c.site).where(*_orphaned(operation.c.site, since)).distinct()
            return sorted(tx.scalars(query))

        return self._database.read(work)


def _orphaned(site: ColumnElement[str] | str, since: datetime) -> tuple[ColumnElement[bool], ...]:
    """Conditions on `operation` and `action`: its action is over, and the operation was not seen to be."""
    sent = and_(operation.c.status == OperationStatus.INTENDED, operation.c.sending.is_not(None))
    return (
        action.c.id == operation.c.action_id,
        action.c.state.not_in(OPEN),
        operation.c.site == site,
        operation.c.over.is_(None),
        or_(operation.c.status.in_(UNFINISHED), sent),
        func.coalesce(operation.c.ended, operation.c.created) > since,
    )


_NEWEST = 60
"""The next duration is estimated from this many operations."""


def newest_ended(site: Any, phases: Collection[Phase]) -> Select[Any]:
    """Select phase, beginning and end of the newest operations on a site that the provisioner was seen to complete."""
    begun = func.coalesce(operation.c.running_since, operation.c.submitted)
    return (
        select(operation.c.phase, begun, operation.c.ended)
        .where(
            operation.c.site == site,
            operation.c.phase.in_([str(phase) for phase in phases]),
            operation.c.status == OperationStatus.COMPLETE,
            operation.c.submitted.is_not(None),
        )
        .order_by(operation.c.op.desc())
        .limit(_NEWEST)
    )


def usual_times(rows: Iterable[Sequence[Any]]) -> dict[Phase, float]:
    """Return what `Operations.usual_seconds` does, of the rows of `newest_ended`."""
    taken: defaultdict[Phase, list[float]] = defaultdict(list)
    for phase, begun, ended in rows:
        taken[Phase(phase)].append((moment(ended) - moment(begun)).total_seconds())
    return {phase: max(0.0, median(seconds)) for phase, seconds in taken.items()}
