"""What of a report must be the same whatever was killed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def comparable(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same whatever was killed: all but ids and times."""
    return {
        "verdict": report["verdict"],
        "verdict_text": report["verdict_text"],
        "groups": [
            {
                "name": entry["name"],
                "state": entry["state"],
                "reason": entry["reason"],
                "attempt": entry["attempt"],
                "criteria": [f"{result['phase']} {result['actual']}" for result in entry["criteria"]],
            }
            for entry in report["groups"]
        ],
        "nodes": {entry["name"]: (entry["state"], entry["message"]) for entry in report["nodes"]},
        "failed_steps": report["failed_steps"],
    }
