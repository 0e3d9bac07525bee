"""The journal of all requests, and the detector of nodes that were submitted twice: what tests ask afterwards."""

from __future__ import annotations

import sqlite3
import time
from itertools import combinations
from typing import Any

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.store import Store

LONGEST_JOURNAL = 100_000
_PRUNE_EVERY = 1_000


class Journal:
    """Requests in the order in which they were dealt with; the oldest are dropped beyond `LONGEST_JOURNAL`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written = 0

    def write(
        self,
        method: str,
        path: str,
        query: str,
        *,
        reference: str | None,
        status: int | None,
        effect: str,
        marker: str | None,
    ) -> None:
        """Note one request; `status` None for one that got no answer."""
        now = time.time()
        with self._store.transaction():
            self._store.execute(
                "INSERT INTO journal (at, method, path, query, reference, status, effect, marker)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (now, method, path, query, reference, status, effect, marker),
            )
            self._store.set_meta("alive_at", now)
            self._written += 1
            if self._written % _PRUNE_EVERY == 0:
                last = self._store.value("SELECT max(id) FROM journal")
                self._store.execute("DELETE FROM journal WHERE id <= ?", (last - LONGEST_JOURNAL,))

    def read(self, wanted: dict[str, str]) -> list[dict[str, Any]]:
        """Return the entries that match: `method`, `path` (a prefix), `reference`, `since` (an id).

        Raises `BadAdminRequest` on another key, or a `since` that is no number.
        """
        conditions = {
            "method": "method = ?",
            "path": "substr(path, 1, length(?1)) = ?1",
            "reference": "reference = ?",
            "since": "id > ?",
        }
        unknown = set(wanted) - set(conditions)
        if unknown:
            raise BadAdminRequest(
                f"the journal is filtered by {', '.join(conditions)}, not by {', '.join(sorted(unknown))}"
            )
        if not wanted.get("since", "0").isdigit():
            raise BadAdminRequest("since is the id of a journal entry")
        clauses, values = ["1"], []
        for key, value in wanted.items():
            values.append(int(value) if key == "since" else value)
            clauses.append(
                conditions[key].replace("?1", f"?{len(values)}")
                if "?1" in conditions[key]
                else f"{conditions[key]}{len(values)}"
            )
        statement = f"SELECT * FROM journal WHERE {' AND '.join(clauses)} ORDER BY id"  # noqa: S608 - clauses from this file
        return [dict(row) for row in self._store.rows(statement, values)]


def split_reference(reference: str | None) -> tuple[str, str]:
    """Return (action, op) of a reference `slipway-<store>-<action>-<op>`; any other is an action by itself, with no op.

    The action is named with its store: it is what stands between the first and the last part.
    """
    if reference is None:
        return "", ""
    head, _, op = reference.rpartition("-")
    action = head.removeprefix("slipway-")
    return (action, op) if action and head.startswith("slipway-") and op.isdigit() else (reference, "")


def find_double_submissions(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Return the four lists that the README describes; all of them empty is what a good client leaves."""
    found: dict[str, list[dict[str, Any]]] = {
        "overlapping": [],
        "overlapping_other_action": [],
        "repeated": [],
        "same_reference": [],
    }
    twice = store.rows(
        "SELECT * FROM submission WHERE (phase, node) IN"
        " (SELECT phase, node FROM submission GROUP BY phase, node HAVING count(*) > 1)"
        " ORDER BY phase, node, at, id"
    )
    groups: dict[tuple[str, str], list[sqlite3.Row]] = {}
    for row in twice:
        groups.setdefault((row["phase"], row["node"]), []).append(row)
    for (phase, node), rows in groups.items():
        for first, second in combinations(rows, 2):
            action = split_reference(second["reference"])[0]
            same = split_reference(first["reference"])[0] == action
            overlaps = first["over"] is None or first["over"] > second["at"]
            entry = {
                "action": action,
                "phase": phase,
                "node": node,
                "first": _submission(first),
                "second": _submission(second),
            }
            if same:
                found["repeated"].append(entry)
            if overlaps:
                found["overlapping" if same else "overlapping_other_action"].append(entry)
    references = store.rows(
        "SELECT reference, task_id FROM task WHERE reference IN"
        " (SELECT reference FROM task WHERE reference IS NOT NULL GROUP BY reference HAVING count(*) > 1)"
        " ORDER BY reference, seq"
    )
    tasks: dict[str, list[str]] = {}
    for row in references:
        tasks.setdefault(row["reference"], []).append(row["task_id"])
    found["same_reference"] = [{"reference": reference, "tasks": ids} for reference, ids in tasks.items()]
    return found


def _submission(row: sqlite3.Row) -> dict[str, Any]:
    return {"task_id": row["task_id"], "reference": row["reference"], "at": row["at"], "over": row["over"]}
