"""The journal: every request with what came of it, for tests and for people who wonder."""

from __future__ import annotations

import time
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

        Raises
        ------
        BadAdminRequest
            On another key, or a `since` that is no number.
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
