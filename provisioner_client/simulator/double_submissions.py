"""The detector of nodes submitted twice: it looks at what was submitted, whatever came of it."""

from __future__ import annotations

import sqlite3
from itertools import combinations
from typing import Any

from provisioner_client.simulator.store import Store


def split_reference(reference: str | None) -> tuple[str, str]:
    """Return (action, op) of a reference `slipway-<action>-<op>`; any other one is an action of its own, with no op."""
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
