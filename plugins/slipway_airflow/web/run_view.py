"""An action as the command line and the pages show it: plain JSON from the store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from strategy_lib.node import NodeState
from strategy_lib.phase import Phase
from strategy_lib.report import from_dict, render

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import GroupRecord, SiteStore


def run_view(store: SiteStore, action_id: str) -> dict[str, Any]:
    """Return the action with its groups in processing order and its report (None before there is one)."""
    data = store.report_input(action_id)
    action = data.action
    by_group: dict[str, Counter[NodeState]] = {group.name: Counter() for group in data.groups}
    for node in data.nodes:
        for name in node.groups:
            by_group[name][node.state] += 1
    report = store.report(action_id)
    text = render(from_dict(report)) if report else None
    return {
        "action": {
            "id": action.id,
            "kind": action.kind,
            "site": action.site,
            "revision": action.revision,
            "parameters": dict(action.parameters),
            "dag_id": action.dag_id,
            "run_id": action.run_id,
            "user": action.user,
            "state": action.state.value,
            "verdict": action.verdict,
            "created": _time(action.created),
            "started": _time(action.started),
            "ended": _time(action.ended),
        },
        "groups": [_group(group, by_group[group.name]) for group in data.groups],
        "report": report,
        "report_text": text,
    }


def _group(group: GroupRecord, states: Counter[NodeState]) -> dict[str, Any]:
    phase = None
    if group.state.value == "running":
        phase = "deploy" if Phase.PREPARE in group.phases_done or states[NodeState.DEPLOYING] else "prepare"
    return {
        "name": group.name,
        "critical": group.critical,
        "depends_on": list(group.definition.depends_on),
        "state": group.state.value,
        "reason": group.reason.value if group.reason else None,
        "phase": phase,
        "attempt": group.attempt,
        "counts": {"total": len(group.nodes), **{state.value: states[state] for state in NodeState}},
        "criteria": [
            {
                "phase": result.phase.value,
                "criterion": result.criterion,
                "needed": result.needed,
                "actual": result.actual,
                "met": result.met,
            }
            for result in group.criteria
        ],
        "started": _time(group.started),
        "ended": _time(group.ended),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
