"""Actions and operations as the store would give them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from site_store import ActionRecord, ActionState, Operation, OperationStatus
from strategy_lib.phase import Phase

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


AT = datetime(2026, 11, 21, 23, 10, 5, 123456, tzinfo=UTC)
FACTS = ("provisioner_task", "lease_owner", "lease_until", "sending", "submitted", "running_since", "ended", "over")


def operation(phase: Phase = Phase.PREPARE, group: str | None = "all", **given: Any) -> Operation:
    """Return an operation on node a that nothing is known of but these facts."""
    facts: dict[str, Any] = {**dict.fromkeys(FACTS), "result": None, **given}
    return Operation(
        op=7,
        action_id="01J",
        site="alpha",
        group=group,
        attempt=1,
        phase=phase,
        reference="slipway-01J-7",
        nodes=("a",),
        design_ref="",
        created=AT,
        status=OperationStatus.ABANDONED,
        **facts,
    )
