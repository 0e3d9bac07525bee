"""Actions as the API's description shows them."""

from __future__ import annotations

from typing import Any

EXAMPLE_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_AT = "2026-03-01T12:00:00+00:00"

CREATE_BODY: dict[str, Any] = {"name": "redeploy_server", "parameters": {"target_nodes": ["r1-control-1"]}}

_FACTS: dict[str, Any] = {
    "id": EXAMPLE_ID,
    "name": "deploy_site",
    "parameters": {},
    "dag_id": "deploy_site",
    "dag_execution_date": _AT,
    "user": "admin",
    "datetime": _AT,
    "timestamp": _AT,
    "context_marker": "8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50",
    "committed_rev_id": 3,
    "allow_intermediate_commits": False,
    "action_lifecycle": "Processing",
    "run_id": f"default__{EXAMPLE_ID}",
    "site": "default",
    "revision": 3,
    "state": "running",
    "verdict": None,
    "started": _AT,
    "ended": None,
    "paused": None,
}
_STEP = {
    "url": f"/actions/{EXAMPLE_ID}/steps/deploy_group.control",
    "state": "running",
    "id": "deploy_group.control",
    "index": 7,
    "notes": [],
}
GROUP: dict[str, Any] = {
    "name": "control",
    "critical": True,
    "depends_on": ["ntp"],
    "state": "running",
    "reason": None,
    "phase": "deploy",
    "attempt": 1,
    "counts": {"total": 3, "prepared": 1, "success": 1, "failure": 1},
    "criteria": [
        {"phase": "prepare", "criterion": "minimum_successful_nodes", "needed": 2, "actual": 3, "met": True},
    ],
    "started": _AT,
    "ended": None,
}

CREATED: dict[str, Any] = _FACTS | {
    "action_lifecycle": "Pending",
    "state": "pending",
    "dag_status": "SCHEDULED",
    "steps": [],
    "notes": [],
    "warnings": [],
}
LISTED: dict[str, Any] = _FACTS | {
    "dag_status": "RUNNING",
    "steps": [_STEP],
    "notes": [],
    "groups": [{"name": "control", "state": "running"}],
}
DESCRIBED: dict[str, Any] = _FACTS | {
    "dag_status": "RUNNING",
    "steps": [_STEP],
    "notes": [],
    "validations": [],
    "command_audit": [
        {
            "id": "01ARZ3NDEKTSV4RRFFQ69G5FB0",
            "action_id": EXAMPLE_ID,
            "command": "invoke",
            "user": "admin",
            "datetime": _AT,
        }
    ],
    "groups": [GROUP],
    "nodes": [{"name": "r1-control-2", "state": "failure", "groups": ["control"], "message": "no PXE answer"}],
}
STEP: dict[str, Any] = {
    "task_id": "deploy_group.control",
    "dag_id": "deploy_site",
    "dag_run_id": f"default__{EXAMPLE_ID}",
    "map_index": 0,
    "index": 7,
    "state": "running",
    "scheduled_when": _AT,
    "queued_when": _AT,
    "start_date": _AT,
    "end_date": None,
    "duration": None,
    "try_number": 1,
    "max_tries": 5,
    "operator": "DeployGroupOperator",
    "hostname": "worker-1",
    "notes": [],
}
RUN: dict[str, Any] = {
    "action": {
        "id": EXAMPLE_ID,
        "kind": "deploy_site",
        "site": "default",
        "revision": 3,
        "parameters": {},
        "dag_id": "deploy_site",
        "run_id": EXAMPLE_ID,
        "user": "admin",
        "state": "running",
        "verdict": None,
        "step": "deploy_group",
        "paused": None,
        "created": _AT,
        "started": _AT,
        "ended": None,
    },
    "groups": [GROUP],
    "report": None,
    "report_text": None,
}

PREVIEWED = {
    "name": "update_site",
    "site": "default",
    "revision": 2,
    "preview": {
        "submitted": ["node-3"],
        "deployed": [],
        "destroyed": [],
        "released": [],
        "refused": [],
        "as_wanted": ["node-1"],
        "withheld": [{"name": "node-2", "reason": "design changed, needs redeploy (redeploy_server)"}],
        "failing": [],
    },
    "notes": [],
}
