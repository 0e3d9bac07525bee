"""What was begun on machines, and the detector of those that were commissioned or deployed twice for one wish."""

from __future__ import annotations

import sqlite3
import time
from itertools import combinations
from typing import Any

from provisioner_client.simulator.journal import split_reference
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.store import Store


class Acts:
    """All methods are called inside a transaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, phase: Work, machine: Machine, reference: str | None) -> None:
        """Note that MAAS began something on a machine; what was under way on it is no more."""
        now = time.time()
        self.end(machine, now)
        self._store.execute(
            "INSERT INTO maas_act (phase, system_id, node, reference, at) VALUES (?, ?, ?, ?, ?)",
            (phase, machine.system_id, machine.hostname, reference, now),
        )

    def end(self, machine: Machine, at: float) -> None:
        """Note that nothing is under way on a machine."""
        self._store.execute(
            "UPDATE maas_act SET over = ? WHERE system_id = ? AND over IS NULL", (at, machine.system_id)
        )

    def under_way(self) -> int:
        """Return on how many machines something is under way."""
        return int(self._store.value("SELECT count(*) FROM maas_act WHERE over IS NULL"))

    def tasks(self) -> list[dict[str, Any]]:
        """Return what was begun for each wish, with the fields that a Drydock's tasks have, as they began."""
        found: dict[tuple[str | None, str], dict[str, Any]] = {}
        for row in self._store.rows("SELECT * FROM maas_act ORDER BY id"):
            task = found.setdefault(
                (row["reference"], row["phase"]),
                {
                    "task_id": row["reference"],
                    "action": f"{row['phase']}_nodes",
                    "status": "complete",
                    "reference": row["reference"],
                    "nodes": [],
                    "created": row["at"],
                    "ended": 0.0,
                },
            )
            task["nodes"].append(row["node"])
            is_over = row["over"] is not None and task["ended"] is not None
            task["ended"] = max(task["ended"], row["over"]) if is_over else None
            task["status"] = "complete" if is_over else "running"
        return list(found.values())

    def doubles(self) -> dict[str, list[dict[str, Any]]]:
        """Return the four lists that the README describes; of these only `repeated` may ever hold something."""
        found: dict[str, list[dict[str, Any]]] = {
            "overlapping": [],
            "overlapping_other_action": [],
            "repeated": [],
            "same_reference": [],
        }
        rows: dict[tuple[str, str], list[sqlite3.Row]] = {}
        for row in self._store.rows("SELECT * FROM maas_act ORDER BY id"):
            rows.setdefault((row["phase"], row["node"]), []).append(row)
        for (phase, node), acts in sorted(rows.items()):
            for first, second in combinations(acts, 2):
                action = split_reference(second["reference"])[0]
                same = split_reference(first["reference"])[0] == action
                overlaps = first["over"] is None or first["over"] >= second["at"]
                one_wish = first["reference"] is not None and first["reference"] == second["reference"]
                entry = {
                    "action": action,
                    "phase": phase,
                    "node": node,
                    "first": _act(first),
                    "second": _act(second),
                }
                if same:
                    found["repeated"].append(entry)
                if one_wish or (overlaps and same):
                    found["overlapping"].append(entry)
                elif overlaps:
                    found["overlapping_other_action"].append(entry)
        found["same_reference"] = [
            {"reference": row["name"], "created": row["created"]}
            for row in self._store.rows("SELECT * FROM maas_tag WHERE created > 1 ORDER BY name")
            if split_reference(row["name"])[1]
        ]
        return found


def find_reference(*said: str) -> str | None:
    """Return the first word that is a task's reference (`slipway-<store>-<action>-<op>`) of comments or agent names."""
    return next((word for text in said for word in text.split() if split_reference(word)[1]), None)


def _act(row: sqlite3.Row) -> dict[str, Any]:
    return {"task_id": None, "reference": row["reference"], "at": row["at"], "over": row["over"]}
