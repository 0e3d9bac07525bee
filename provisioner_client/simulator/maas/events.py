"""MAAS's ledger of events: every action and change of status in the order of ids, and the pages in which it is read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from provisioner_client.simulator.maas.http.answers import BASE, BadParameters
from provisioner_client.simulator.maas.machines.machine import DEBUG, Machine
from provisioner_client.simulator.store import Store

LARGEST_PAGE = 1000
_USUAL_PAGE = 100
_LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
# Without `after` and `before`: they are what differs between pages.
_KEPT = ("agent_name", "domain", "hostname", "id", "level", "limit", "mac_address", "op", "pool", "zone", "owner")

STATUS_CHANGED = "Node changed status"
MARKED_FAILED = "Marking node failed"


class EventLedger:
    """All methods are called inside a transaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, machine: Machine, level: str, kind: str, text: str, user: str = "unknown", at: float | None = None
    ) -> None:
        """Write one event; `at` is when it was due (epoch seconds), now unless given."""
        self._store.execute(
            "INSERT INTO maas_event (at, system_id, hostname, level, type, description, username)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (time.time() if at is None else at, machine.system_id, machine.hostname, level, kind, text, user),
        )

    def requested(self, machine: Machine, kind: str, user: str, comment: str = "") -> None:
        """Write what a user asked for. His name stands in the text too, with the comment behind it."""
        self.add(machine, DEBUG, kind, f"({user})" + (f" - {comment}" if comment else ""), user)

    def drop(self, system_id: str) -> None:
        """Forget the events of a machine that was deleted, as MAAS does."""
        self._store.execute("DELETE FROM maas_event WHERE system_id = ?", (system_id,))

    def prune(self) -> int:
        """Forget all events so far, as who cleans up a MAAS does; return how many they were."""
        there = int(self._store.value("SELECT count(*) FROM maas_event"))
        self._store.execute("DELETE FROM maas_event")
        return there

    def hide(self, system_id: str | None) -> None:
        """Hide what is written of a machine from now on, as a transaction does that is not over; None: show all."""
        self._store.set_meta("maas_hidden", "" if system_id is None else f"{system_id} {self._newest()}")

    def _newest(self) -> int:
        return int(self._store.value("SELECT coalesce(max(id), 0) FROM maas_event"))

    def query(self, parameters: Mapping[str, Sequence[str]], machines: Collection[str] | None) -> dict[str, Any]:
        """Return one page as MAAS does, newest first; `machines`: of these only, None: of all.

        Raises `BadParameters` on a limit above 1000, an unknown level, a bad number, or `after` beside `before`.
        """
        after, before = _number(parameters, "after"), _number(parameters, "before")
        limit = _number(parameters, "limit")
        limit = _USUAL_PAGE if limit is None else max(1, limit)
        if limit > LARGEST_PAGE:
            raise BadParameters(f"Requested number of events {limit} is greater than limit: {LARGEST_PAGE}")
        level = (parameters.get("level") or ["INFO"])[0]
        if level not in _LEVELS:
            raise BadParameters(f"Unrecognised log level: {level}")
        if after is not None and before is not None:
            raise BadParameters("There is undetermined behaviour when both `after` and `before` are specified.")
        rows = self._rows(after, before, level, parameters.get("owner"), machines, limit)
        newest, oldest = (rows[0]["id"], rows[-1]["id"]) if rows else (None, None)
        if newest is None and before is not None:
            newest = before - 1
        if oldest is None and after is not None:
            oldest = after + 1
        return {
            "count": len(rows),
            "events": [_document(row) for row in rows],
            "next_uri": _uri(parameters, "after", newest),
            "prev_uri": None if oldest is None else _uri(parameters, "before", oldest),
        }

    def _rows(
        self,
        after: int | None,
        before: int | None,
        level: str,
        owner: Sequence[str] | None,
        machines: Collection[str] | None,
        limit: int,
    ) -> list[sqlite3.Row]:
        levels = [name for name, number in _LEVELS.items() if number >= _LEVELS[level]]
        clauses = [f"level IN ({', '.join('?' * len(levels))})"]
        values: list[object] = [*levels]
        for clause, value in (("id > ?", after), ("id < ?", before), ("username = ?", (owner and owner[0]) or None)):
            if value is not None:
                clauses.append(clause)
                values.append(value)
        hidden = (self._store.meta("maas_hidden") or "").split()
        if hidden:
            clauses.append("NOT (system_id = ? AND id > ?)")
            values += [hidden[0], int(hidden[1])]
        if machines is not None:
            clauses.append("system_id IN (SELECT value FROM json_each(?))")
            values.append("[" + ",".join(f'"{one}"' for one in machines) + "]")
        # With `after`, a page holds those that follow next, and they are turned round.
        direction = "ASC" if after is not None else "DESC"
        statement = f"SELECT * FROM maas_event WHERE {' AND '.join(clauses)} ORDER BY id {direction} LIMIT ?"  # noqa: S608 - clauses from this file
        rows = self._store.rows(statement, (*values, limit))
        return rows[::-1] if after is not None else rows


def _number(parameters: Mapping[str, Sequence[str]], name: str) -> int | None:
    values = parameters.get(name)
    if not values or not values[0]:
        return None
    try:
        return int(values[0])
    except ValueError:
        raise BadParameters(f"Invalid {name}: Please enter an integer value") from None


def _uri(parameters: Mapping[str, Sequence[str]], name: str, value: int | None) -> str:
    pairs = [(key, one) for key in _KEPT for one in parameters.get(key, ())]
    if value is not None:
        pairs.append((name, str(value)))
    return f"{BASE}/events/?{urlencode(pairs)}"


def _document(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "username": row["username"],
        "node": row["system_id"],
        "hostname": row["hostname"],
        "id": row["id"],
        "level": row["level"],
        "created": time.strftime("%a, %d %b. %Y %H:%M:%S", time.gmtime(row["at"])),
        "type": row["type"],
        "description": row["description"],
    }
