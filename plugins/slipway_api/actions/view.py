"""An action in Shipyard's words and shapes, with Slipway's own facts beside them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from site_engine.actions.parameters import ALLOW_INTERMEDIATE, parameters_of
from site_store import ActionState
from slipway_api.actions.steps import derived_steps

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import ActionListing, ActionRecord, AuditRecord

_LIFECYCLE = {
    ActionState.PENDING: "Pending",
    ActionState.RUNNING: "Processing",
    ActionState.SUCCESS: "Complete",
    # A cancelled one did not do what was asked for; its verdict says why.
    ActionState.FAILED: "Failed",
    ActionState.CANCELLED: "Failed",
}
# Airflow's words for a DAG run.
_DAG_STATUS = {
    ActionState.PENDING: "QUEUED",
    ActionState.RUNNING: "RUNNING",
    ActionState.SUCCESS: "SUCCESS",
    ActionState.FAILED: "FAILED",
    ActionState.CANCELLED: "FAILED",
}


def lifecycle(action: ActionRecord) -> str:
    """Return Pending, Processing, Paused, Complete or Failed. The store decides it, never Airflow's tasks."""
    return "Paused" if is_paused(action) else _LIFECYCLE[action.state]


def is_paused(action: ActionRecord) -> bool:
    """Whether the action is to start no further group; one that is over is not paused any more."""
    return action.paused is not None and not action.state.is_end


def dag_status(action: ActionRecord) -> str:
    """Return the state of the action's DAG run, in Airflow's words and Shipyard's capitals, as the store knows it."""
    return _DAG_STATUS[action.state]


def created_view(action: ActionRecord) -> dict[str, Any]:
    """Return an action as it was just created."""
    return {**_facts(action), "dag_status": "SCHEDULED", "steps": [], "notes": []}


def listed_view(listing: ActionListing, verbosity: int) -> dict[str, Any]:
    """Return an action as the list shows it, from what one statement gives."""
    action = listing.action
    return {
        **_facts(action),
        "dag_status": dag_status(action),
        "steps": derived_steps(action, listing.groups),
        "notes": [_verdict_note(action)] if verbosity and action.verdict else [],
        "groups": [{"name": name, "state": state.value} for name, state in listing.groups],
    }


def described_view(
    action: ActionRecord,
    *,
    run_state: str | None,
    steps: Sequence[Mapping[str, Any]],
    notes: Sequence[Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    nodes: Sequence[Mapping[str, Any]],
    audits: Sequence[AuditRecord],
) -> dict[str, Any]:
    """Return an action with all its details.

    Parameters
    ----------
    run_state
        Airflow's own state of the DAG run; None where Airflow did not say.
    groups
        With node counts and criteria, as `run_view` shows them.
    nodes
        Those worth naming, as `action_nodes` returns them.
    """
    return {
        **_facts(action),
        "dag_status": run_state.upper() if run_state else dag_status(action),
        "steps": list(steps),
        "notes": list(notes),
        "validations": [],
        "command_audit": [
            {
                "id": audit.id,
                "action_id": audit.action_id,
                "command": audit.command,
                "user": audit.user,
                "datetime": _time(audit.at),
            }
            for audit in audits
        ],
        "groups": list(groups),
        "nodes": list(nodes),
    }


def _facts(action: ActionRecord) -> dict[str, Any]:
    parameters = {name: value for name, value in action.parameters.items() if name != ALLOW_INTERMEDIATE}
    return {
        # Shipyard's.
        "id": action.id,
        "name": action.kind,
        "parameters": parameters,
        "dag_id": action.dag_id,
        "dag_execution_date": _time(action.created),
        "user": action.user,
        "datetime": _time(action.created),
        "timestamp": _time(action.created),
        "context_marker": action.context_marker,
        "committed_rev_id": action.revision,
        "allow_intermediate_commits": parameters_of(action).allow_intermediate,
        "action_lifecycle": lifecycle(action),
        # Slipway's.
        "run_id": action.run_id,
        "site": action.site,
        "revision": action.revision,
        "state": action.state.value,
        "verdict": action.verdict,
        "started": _time(action.started),
        "ended": _time(action.ended),
        "paused": _time(action.paused) if is_paused(action) else None,
    }


def _verdict_note(action: ActionRecord) -> dict[str, Any]:
    return {
        "assoc_id": f"action/{action.id}",
        "subject": action.id,
        "sub_type": "action",
        "note_val": action.verdict,
        "verbosity": 1,
        "note_id": action.id,
        "note_timestamp": _time(action.ended),
        "resolved_url_value": f"Details at notedetails/{action.id}" if action.has_report else None,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
