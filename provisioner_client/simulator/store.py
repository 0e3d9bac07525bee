"""The simulator's SQLite file: one writer, all is committed before its answer, so that `kill -9` loses nothing."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provisioner_client.simulator.errors import StoreUnusable
from provisioner_client.simulator.store_schema import LATER_COLUMNS, SCHEMA, TABLES


class Store:
    """All statements go through here, one thread at a time; `transaction` may be nested.

    Parameters
    ----------
    path
        The file; it is created when it does not exist.

    Raises
    ------
    StoreUnusable
        If the file is no store, or another simulator has it open.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            # A killed process loses nothing that was written; only a power cut could.
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(SCHEMA)
            self._add_later_columns()
        except sqlite3.Error as error:
            self._connection.close()
            raise StoreUnusable(f"{path}: {error}") from error

    def _add_later_columns(self) -> None:
        for table, columns in LATER_COLUMNS.items():
            known = {row["name"] for row in self._connection.execute(f"PRAGMA table_info({table})")}
            for column in columns.keys() - known:
                self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {columns[column]}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the store; commit at the outermost end, roll everything back on an exception."""
        with self._lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.execute("COMMIT")

    def execute(self, statement: str, values: Sequence[object] = ()) -> int:
        """Carry out one statement and return the number of rows that it changed."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Carry out one statement for many rows."""
        with self._lock:
            self._connection.executemany(statement, rows)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        with self._lock:
            found: sqlite3.Row | None = self._connection.execute(statement, values).fetchone()
            return found

    def value(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.row(statement, values)
        return None if row is None else row[0]

    def meta(self, key: str) -> str | None:
        """Return a note of the simulator to itself."""
        found: str | None = self.value("SELECT value FROM meta WHERE key = ?", (key,))
        return found

    def set_meta(self, key: str, value: object) -> None:
        """Keep a note of the simulator to itself."""
        self.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, str(value)))

    def clear(self) -> None:
        """Forget everything but the notes."""
        with self.transaction():
            for table in TABLES:
                self.execute(f"DELETE FROM {table}")  # noqa: S608 - names from this file

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
