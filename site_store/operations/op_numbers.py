"""Numbers of operations (`op`): one sequence that only grows, for all sites. None is given twice (rule 45)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

_NEXT: Final = {
    "sqlite": "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'operation' RETURNING seq",
    "postgresql": "SELECT nextval(pg_get_serial_sequence('operation', 'op'))",
}
_MOVED: Final = {
    "sqlite": "UPDATE sqlite_sequence SET seq = :op WHERE name = 'operation'",
    "postgresql": "SELECT setval(pg_get_serial_sequence('operation', 'op'), :op)",
}


def next_op(tx: Connection) -> int:
    """Take a number for something that is no operation of an action: it is newer than all that was done before."""
    found: int | None = tx.scalar(text(_NEXT[tx.dialect.name]))
    if found is None:
        # SQLite has no sequence before it gave the first number.
        tx.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES ('operation', 1)"))
    return found or 1


def move_past(tx: Connection, least: int) -> int:
    """Have the next number above this one, and above the last one; return above which."""
    op = max(next_op(tx), least)
    tx.execute(text(_MOVED[tx.dialect.name]), {"op": op})
    return op
