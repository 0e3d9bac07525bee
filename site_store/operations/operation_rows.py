"""Rows of operations as values, and what their status says."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from site_store.errors import OperationNotFound
from site_store.records import Operation, OperationStatus
from site_store.sql.rows import filled
from site_store.tables import operation
from strategy_lib.phase import Phase

LIVE = (OperationStatus.INTENDED, OperationStatus.SUBMITTED)
UNFINISHED = (OperationStatus.SUBMITTED, OperationStatus.TIMED_OUT, OperationStatus.ABANDONED)


def read_operation(tx: Connection, op: int) -> Operation:
    """Return an operation. Raises `OperationNotFound`: no operation has this number."""
    row = tx.execute(select(operation).where(operation.c.op == op)).one_or_none()
    if row is None:
        raise OperationNotFound(f"there is no operation {op}: begin it before anything is recorded for it")
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
