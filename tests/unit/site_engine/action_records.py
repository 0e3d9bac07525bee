"""Actions as the store would give them, for tests of what is shown of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from site_store import ActionRecord, ActionState

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
CREATED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def record(kind: str = "deploy_site", state: ActionState = ActionState.RUNNING, **facts: Any) -> ActionRecord:
    """Return an action that has just begun, or with these facts."""
    given: dict[str, Any] = {
        "id": ID,
        "kind": kind,
        "site": "default",
        "revision": 3,
        "parameters": {},
        "dag_id": kind,
        "run_id": ID,
        "user": "op",
        "created": CREATED,
        "started": None,
        "ended": None,
        "state": state,
        "verdict": None,
        "has_report": False,
        "context_marker": None,
        "dry_run": False,
        "whole_site": True,
        "step": None,
        "paused": None,
    }
    return ActionRecord(**given | facts)
