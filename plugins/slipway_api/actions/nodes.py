"""The nodes that the description of an action names: those in trouble, or all of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from site_engine.dead_actions import has_unrecorded_end
from site_engine.reports import reported_node
from slipway_api.actions.notes import NODE
from strategy_lib.node import NodeState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from site_store import ActionRecord, SiteStore

UNDER_WAY = frozenset({NodeState.PREPARING, NodeState.DEPLOYING})
"""States of a node that a provisioner task works on."""
_TROUBLED = frozenset({NodeState.FAILURE.value, NodeState.UNKNOWN.value})
_SHOWN = ("name", "state", "groups", "message")


def action_nodes(
    store: SiteStore, action: ActionRecord, groups: Sequence[Mapping[str, Any]], verbosity: int
) -> list[dict[str, Any]]:
    """Return the nodes that failed, were not submitted for a known reason, or of which nothing could be learnt.

    Each has its message: the provisioner's words, or the reason.

    Parameters
    ----------
    groups
        With their node counts, as `run_view` shows them: nodes are looked at only if there is something to tell.
    verbosity
        From 5 on all nodes are returned.
    """
    troubled = any(group["counts"].get(state) for group in groups for state in _TROUBLED)
    # Without groups it is an action on named nodes, which are few.
    if groups and not troubled and verbosity < NODE and not store.explains_any(action.id):
        return []
    report = store.report(action.id) if action.has_report else None
    nodes = report["nodes"] if report else [asdict(reported_node(tasks)) for tasks in store.node_tasks(action.id)]
    if has_unrecorded_end(action):
        nodes = [_as_closed(node) for node in nodes]
    return [{key: node[key] for key in _SHOWN} for node in nodes if verbosity >= NODE or _is_told(node)]


def _as_closed(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node as closing its action will leave it (rule 24)."""
    if node["state"] not in UNDER_WAY:
        return node
    message = node["message"] or "the action ended before its result was known"
    return {**node, "state": NodeState.UNKNOWN, "message": message}


def _is_told(node: Mapping[str, Any]) -> bool:
    # Reports of earlier versions do not say which nodes were withheld.
    return str(node["state"]) in _TROUBLED or bool(node.get("withheld"))
