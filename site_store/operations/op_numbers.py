"""Numbers of operations (`op`): one sequence that only grows, for all sites. None is given twice (rule 45)."""

from __future__ import annotations

from sqlalchemy import Connection, text


def next_op(tx: Connection) -> int:
    """Take a number for something that is no operation of an action: it is newer than all that was done before."""
    return int(tx.execute(text("SELECT nextval(pg_get_serial_sequence('operation', 'op'))")).scalar_one())


def move_past(tx: Connection, least: int) -> int:
    """Have the next number above this one, and above the last one; return above which."""
    op = max(next_op(tx), least)
    tx.execute(text("SELECT setval(pg_get_serial_sequence('operation', 'op'), :op)"), {"op": op})
    return op
