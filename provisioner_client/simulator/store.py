"""The simulator's SQLite file: one writer, all is committed before its answer, so that `kill -9` loses nothing."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provisioner_client.simulator.errors import SimulatorError

TABLES = ("node", "task", "node_run", "submission", "script", "fault", "journal")

# Columns that a file made by an earlier version lacks.
LATER_COLUMNS = {
    "node": {
        "destroys": "INTEGER NOT NULL DEFAULT 0",
        "relabels": "INTEGER NOT NULL DEFAULT 0",
        "booted": "INTEGER NOT NULL DEFAULT 1",
        "addresses": "TEXT NOT NULL DEFAULT '[]'",
        "agent": "TEXT NOT NULL DEFAULT ''",
    }
}

SCHEMA = """
-- the simulator's notes to itself
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- MAAS's machines; due_*: what MAAS has under way on its own; booted: its design has boot actions;
-- addresses: of all networks; agent: what its own agent says, "" is up
CREATE TABLE IF NOT EXISTS node (
    site TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    rack TEXT,
    tags TEXT NOT NULL,
    labels TEXT NOT NULL,
    oob_address TEXT,
    boot_address TEXT,
    booted INTEGER NOT NULL DEFAULT 1,
    addresses TEXT NOT NULL DEFAULT '[]',
    agent TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL,
    power_state TEXT NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0,
    due_status TEXT,
    due_at REAL,
    prepares INTEGER NOT NULL DEFAULT 0,
    deploys INTEGER NOT NULL DEFAULT 0,
    destroys INTEGER NOT NULL DEFAULT 0,
    relabels INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, name)
);
CREATE INDEX IF NOT EXISTS node_due ON node (due_at) WHERE due_at IS NOT NULL;

-- root tasks; result and lists are decided with the plan, and shown when the task is complete
CREATE TABLE IF NOT EXISTS task (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE,
    tree TEXT NOT NULL UNIQUE,
    action TEXT NOT NULL,
    design_ref TEXT,
    node_filter TEXT,
    reference TEXT,
    status TEXT NOT NULL,
    result TEXT NOT NULL,
    successes TEXT NOT NULL DEFAULT '[]',
    failures TEXT NOT NULL DEFAULT '[]',
    note TEXT,
    site TEXT,
    node_count INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    created_by TEXT NOT NULL,
    started REAL,
    ends_at REAL,
    ended REAL,
    updated REAL NOT NULL,
    planned INTEGER NOT NULL DEFAULT 0,
    frozen_at REAL
);
CREATE INDEX IF NOT EXISTS task_status ON task (status, seq);
CREATE INDEX IF NOT EXISTS task_reference ON task (reference);

-- the course of one node through one task; begun: MAAS was told to work on the machine
CREATE TABLE IF NOT EXISTS node_run (
    task_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    site TEXT NOT NULL,
    node TEXT NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,
    plan TEXT NOT NULL,
    PRIMARY KEY (task_id, position)
) WITHOUT ROWID;

-- for the detector; outlives the task
CREATE TABLE IF NOT EXISTS submission (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    reference TEXT,
    phase TEXT NOT NULL,
    node TEXT NOT NULL,
    at REAL NOT NULL,
    over REAL
);
CREATE INDEX IF NOT EXISTS submission_node ON submission (phase, node);
CREATE INDEX IF NOT EXISTS submission_task ON submission (task_id);

CREATE TABLE IF NOT EXISTS script (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    data TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS fault (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    remaining INTEGER NOT NULL,
    skip INTEGER NOT NULL,
    data TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    query TEXT NOT NULL,
    reference TEXT,
    status INTEGER,
    effect TEXT NOT NULL,
    marker TEXT
);
"""


class Store:
    """All statements go through here, one thread at a time; `transaction` may be nested.

    Parameters
    ----------
    path : the file; it is created when it does not exist.
    schema, tables : what it has besides, and of that what `clear` empties.

    Raises
    ------
    SimulatorError : if the file is no store, or another simulator has it open.
    """

    def __init__(self, path: Path, schema: str = "", tables: Sequence[str] = ()) -> None:
        self._tables = (*TABLES, *tables)
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            # A killed process loses nothing that was written; only a power cut could.
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(SCHEMA + schema)
            self._add_later_columns()
        except sqlite3.Error as error:
            self._connection.close()
            raise SimulatorError(f"{path}: {error}") from error

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
        with self._lock:
            self._connection.executemany(statement, rows)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Row | None:
        with self._lock:
            found: sqlite3.Row | None = self._connection.execute(statement, values).fetchone()
            return found

    def value(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.row(statement, values)
        return None if row is None else row[0]

    def written(self) -> int:
        """Return how many rows this process has written, in whatever tables."""
        with self._lock:
            return self._connection.total_changes

    def meta(self, key: str) -> str | None:
        """Return a note of the simulator to itself."""
        found: str | None = self.value("SELECT value FROM meta WHERE key = ?", (key,))
        return found

    def set_meta(self, key: str, value: object) -> None:
        self.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, str(value)))

    def clear(self) -> None:
        """Forget everything but the notes."""
        with self.transaction():
            for table in self._tables:
                self.execute(f"DELETE FROM {table}")  # noqa: S608 - names from this file

    def close(self) -> None:
        with self._lock:
            self._connection.close()
