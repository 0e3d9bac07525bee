"""A store that was in a SQLite file, copied into PostgreSQL: whole, in one transaction, and compared row by row."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Row, String, Table, select, text

from site_store.actions.abort import close_action
from site_store.errors import CopyRefused, StoreNotConfigured
from site_store.records import ActionState
from site_store.sql import schema_version
from site_store.sql.address import resolve, sqlite_file
from site_store.sql.database import Database
from site_store.status.counting import rebuild
from site_store.tables import action, metadata

_IN_CHUNKS = {"yield_per": 1000}
# What holds for the moment, of the processes at work there: neither copied nor in the way.
_OF_THE_MOMENT = frozenset({"lease", "check_result", "owner"})
# Counted anew from what was copied.
_COUNTED = frozenset({"status_count", "site_trouble", "task_trouble"})
_CANCELLED = "the store was moved to another database; what carries it out was not"


def copy_sqlite(file: Path, url: str | None = None) -> str:
    """Copy the store in a SQLite file into an empty PostgreSQL database; it has the same rows and goes on counting.

    The file stays as it is, and may be of an older schema. Safe to repeat: what is there already is not copied again.

    Returns
    -------
    str
        What was done, in a sentence.

    Raises
    ------
    CopyRefused : the database has something else in it, or the copy is not equal; it is as it was.
    StoreNotConfigured, StoreUnavailable, SchemaNotCurrent, ValueRefused
    """
    target_url = resolve(url)
    if sqlite_file(target_url) is not None:
        raise StoreNotConfigured("a SQLite file is copied into PostgreSQL only: name a postgresql:// URL")
    with _working_directory(file) as directory:
        snapshot = directory / "slipway.db"
        digest = _take_snapshot(file, snapshot)
        source = Database(URL.create("sqlite", database=str(snapshot)), bounded=False)
        target = Database(target_url, bounded=False)
        try:
            schema_version.upgrade(source)
            cancelled = source.write(lambda tx: _cancel_open_actions(tx, source.shared_time(tx)))
            schema_version.upgrade(target)
            rows = source.read(lambda old: target.write(lambda new: _copy(old, new, digest, target.name)))
        finally:
            source.close()
            target.close()
    if rows is None:
        return f"{target.name}: {file} was copied into it before"
    ended = f"; {cancelled} actions that were not over are cancelled" if cancelled else ""
    return f"{target.name}: {rows} rows copied from {file} and compared{ended}"


@contextmanager
def _working_directory(file: Path) -> Iterator[Path]:
    """A private directory beside the file; that of a copy that was killed is made anew."""
    directory = file.absolute().with_name(f".{file.name}.copying")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _take_snapshot(file: Path, snapshot: Path) -> str:
    """Copy the file as it is after its last transaction; the digest of the copy is the same each time."""
    try:
        with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(snapshot)) as new:
            old.backup(new)
    except sqlite3.Error as error:
        raise CopyRefused(f"{file} cannot be read ({error}): it is no SQLite file, or damaged") from error
    return hashlib.sha256(snapshot.read_bytes()).hexdigest()


def _cancel_open_actions(tx: Connection, now: datetime) -> int:
    """Cancel what is not over: nobody would ever end it (rule 24)."""
    is_open = action.c.state.in_([ActionState.PENDING, ActionState.RUNNING])
    open_ids = tx.scalars(select(action.c.id).where(is_open)).all()
    for action_id in open_ids:
        close_action(tx, now, action_id, ActionState.CANCELLED, _CANCELLED)
    return len(open_ids)


def _copy(old: Connection, new: Connection, digest: str, name: str) -> int | None:
    """Copy all tables that are kept; the number of rows, or None where this very copy was made before."""
    mark = f"copied from SQLite, {digest}"
    version_table = text("SELECT obj_description(CAST(:name AS regclass), 'pg_class')")
    if new.scalar(version_table, {"name": schema_version.VERSION_TABLE}) == mark:
        return None
    copied = [table for table in metadata.sorted_tables if table.name not in _OF_THE_MOMENT | _COUNTED]
    filled = [table.name for table in copied if new.scalar(select(select(table).exists()))]
    if filled:
        raise CopyRefused(
            f"the {name} is not empty (it has rows in {', '.join(filled)}): nothing is copied into it. Move the SQLite "
            "file away to go on with the database, or name an empty one"
        )
    rows = 0
    for table in copied:
        new.execute(text(f'ALTER TABLE "{table.name}" DISABLE TRIGGER USER'))
        _fill(old, new, table)
        rows += _compare(old, new, table)
        _go_on_counting(old, new, table)
    for table in copied:
        new.execute(text(f'ALTER TABLE "{table.name}" ENABLE TRIGGER USER'))
    rebuild(new)
    # No parameter can stand here; the digest is of hexadecimal digits.
    new.exec_driver_sql(f"COMMENT ON TABLE {schema_version.VERSION_TABLE} IS '{mark}'")
    return rows


def _fill(old: Connection, new: Connection, table: Table) -> None:
    numbered = _numbered(table)
    if numbered:  # else PostgreSQL takes no number but its own
        new.execute(text(f'ALTER TABLE "{table.name}" ALTER "{numbered}" SET GENERATED BY DEFAULT'))
    given = [column for column in table.columns if column.computed is None]
    for chunk in old.execute(select(*given), execution_options=_IN_CHUNKS).partitions():
        new.execute(table.insert(), [dict(row._mapping) for row in chunk])
    if numbered:
        new.execute(text(f'ALTER TABLE "{table.name}" ALTER "{numbered}" SET GENERATED ALWAYS'))


def _compare(old: Connection, new: Connection, table: Table) -> int:
    """Compare all rows; their number."""
    number = 0
    for before, after in zip_longest(_rows(old, table), _rows(new, table)):
        if before is None or after is None or tuple(before) != tuple(after):
            raise CopyRefused(f"the copy of the table {table.name} is not equal in row {number + 1}: nothing was kept")
        number += 1
    return number


def _rows(tx: Connection, table: Table) -> Iterator[Row[Any]]:
    """All rows in the order of their keys, texts by their bytes, as SQLite sorts them."""
    order = [
        column.collate("C") if tx.dialect.name == "postgresql" and isinstance(column.type, String) else column
        for column in table.primary_key
    ]
    yield from tx.execute(select(table).order_by(*order), execution_options=_IN_CHUNKS)


def _go_on_counting(old: Connection, new: Connection, table: Table) -> None:
    """Have the next number follow the last one that was ever given: one that is used again would be another's."""
    numbered = _numbered(table)
    if numbered is None:
        return
    given = old.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name}) or 0
    new.execute(text(f'ALTER TABLE "{table.name}" ALTER "{numbered}" RESTART WITH {int(given) + 1}'))


def _numbered(table: Table) -> str | None:
    return next((column.name for column in table.columns if column.identity is not None), None)
