"""Script sets: the runs of commissioning, testing and installation of each machine, with their results and logs."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from email.utils import formatdate
from typing import Any

from provisioner_client.simulator.store import Store

COMMISSIONING, INSTALLATION, TESTING = "commissioning", "installation", "testing"
KINDS: Mapping[str, int] = {COMMISSIONING: 0, INSTALLATION: 1, TESTING: 2}
NAMES = {COMMISSIONING: "Commissioning", INSTALLATION: "Installation", TESTING: "Testing"}
SCRIPTS: Mapping[str, tuple[str, ...]] = {
    COMMISSIONING: ("20-maas-01-install-lldpd", "maas-get-fruid-api-data", "50-maas-01-commissioning"),
    INSTALLATION: ("/tmp/install.log",),  # noqa: S108 - the name of a result
    TESTING: ("smartctl-validate",),
}
# Numbers of MAAS's script statuses.
STATUSES: Mapping[str, int] = {
    "Pending": 0,
    "Running": 1,
    "Passed": 2,
    "Failed": 3,
    "Timed out": 4,
    "Aborted": 5,
}
_OVER = frozenset({"Passed", "Failed", "Timed out", "Aborted"})


class ScriptSets:
    """All methods are called inside a transaction of the store. Ids of all kinds come from one sequence."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, system_id: str, kind: str) -> int:
        """Begin a run and return its id."""
        self._store.execute(
            "INSERT INTO maas_script_set (system_id, kind, status, started) VALUES (?, ?, 'Pending', ?)",
            (system_id, kind, time.time()),
        )
        return int(self._store.value("SELECT max(id) FROM maas_script_set"))

    def end(self, set_id: int | None, status: str, output: str, at: float) -> None:
        """Write how a run came out, if it is not over yet."""
        self._store.execute(
            "UPDATE maas_script_set SET status = ?, ended = ?, output = ? WHERE id = ? AND ended IS NULL",
            (status, at if status in _OVER else None, output, set_id),
        )

    def statuses(self, ids: Collection[int]) -> dict[int, str]:
        """Return the statuses of runs."""
        statement = "SELECT id, status FROM maas_script_set WHERE id IN (SELECT value FROM json_each(?))"
        return {row["id"]: row["status"] for row in self._store.rows(statement, (json.dumps([*ids]),))}

    def of(self, system_id: str, kind: str | None = None) -> list[sqlite3.Row]:
        """Return the runs of a machine, in no order."""
        rows = self._store.rows("SELECT * FROM maas_script_set WHERE system_id = ?", (system_id,))
        return sorted((row for row in rows if kind in (None, row["kind"])), key=lambda row: row["id"] * 7 % 10)

    def one(self, system_id: str, set_id: int | None) -> sqlite3.Row | None:
        """Return a run of a machine."""
        return self._store.row("SELECT * FROM maas_script_set WHERE system_id = ? AND id = ?", (system_id, set_id))

    def drop(self, system_id: str) -> None:
        """Forget the runs of a machine that was deleted."""
        self._store.execute("DELETE FROM maas_script_set WHERE system_id = ?", (system_id,))


def describe_set(row: sqlite3.Row, *, output: bool) -> dict[str, Any]:
    """Return a run as `nodes/{id}/results/` does; `output`: with the logs, in base64."""
    return {
        "id": row["id"],
        "system_id": row["system_id"],
        "type": KINDS[row["kind"]],
        "type_name": NAMES[row["kind"]],
        "last_ping": _time(row["ended"] or row["started"]),
        "status": STATUSES[row["status"]],
        "status_name": row["status"],
        "started": _time(row["started"]),
        "ended": _time(row["ended"]),
        "runtime": _runtime(row),
        "results": [_result(row, number, name, output) for number, name in enumerate(SCRIPTS[row["kind"]])],
        "resource_uri": f"/MAAS/api/2.0/nodes/{row['system_id']}/results/{row['id']}/",
    }


def installation_results(rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    """Return the scripts of runs that are over, as `installation-results/` does."""
    return [
        {
            "id": row["id"] * 10 + number,
            "name": name,
            "script_result": _exit_status(row, number),
            "result_type": KINDS[row["kind"]],
            "created": _time(row["started"]),
            "updated": _time(row["ended"]),
            "node": {"system_id": row["system_id"]},
            "data": _log(row, number),
            "resource_uri": "/MAAS/api/2.0/commissioning-scripts/",
        }
        for row in rows
        if row["status"] in _OVER
        for number, name in enumerate(SCRIPTS[row["kind"]])
    ]


def _result(row: sqlite3.Row, number: int, name: str, output: bool) -> dict[str, Any]:
    failed_here = number == len(SCRIPTS[row["kind"]]) - 1
    # Of a run that was aborted no script is over.
    status = row["status"] if failed_here or row["status"] not in _OVER - {"Aborted"} else "Passed"
    found = {
        "id": row["id"] * 10 + number,
        "name": name,
        "status": STATUSES[status],
        "status_name": status,
        "exit_status": _exit_status(row, number),
        "started": _time(row["started"]),
        "ended": _time(row["ended"]),
        "runtime": _runtime(row),
        "created": _time(row["started"]),
        "updated": _time(row["ended"] or row["started"]),
        "script_id": number + 1,
        "script_revision_id": None,
        "suppressed": False,
    }
    if output:
        found |= {"output": _log(row, number), "stdout": _log(row, number), "stderr": "", "result": ""}
    return found


def _exit_status(row: sqlite3.Row, number: int) -> int | None:
    if row["status"] not in _OVER:
        return None
    if row["status"] in ("Timed out", "Aborted") and number == len(SCRIPTS[row["kind"]]) - 1:
        # Nobody has seen it end.
        return None
    return 1 if row["status"] == "Failed" and number == len(SCRIPTS[row["kind"]]) - 1 else 0


def _log(row: sqlite3.Row, number: int) -> str:
    said = row["output"] if number == len(SCRIPTS[row["kind"]]) - 1 else ""
    return base64.b64encode((said or "done").encode()).decode()


def _time(at: float | None) -> str | None:
    return None if at is None else formatdate(at)


def _runtime(row: sqlite3.Row) -> str:
    if row["ended"] is None:
        return ""
    seconds = int(row["ended"] - row["started"])
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
