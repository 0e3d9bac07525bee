"""The groups of an action, as its tree has them, and the nodes that its description names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from site_engine.actions.dead_actions import has_unrecorded_end
from site_engine.actions.reports import reported_node
from site_engine.kinds import DEPLOY_GROUP
from site_engine.trees.status_trees import ACTION_DEPTH, action_tree
from site_engine.trees.waiting import waits_for_person
from site_store import ActionRecord, SiteStore
from slipway_api.actions.notes import NODE
from slipway_api.http.answers import Moment
from strategy_lib.node import NodeState
from strategy_lib.status.entry import GroupDetails, group_to_dict


class Criterion(BaseModel):
    """A criterion and how it was met."""

    phase: str = Field(examples=["prepare"])
    criterion: str = Field(examples=["minimum_successful_nodes"])
    needed: int = Field(examples=[2])
    actual: int | str = Field(examples=[3])
    met: bool = Field(examples=[True])


class ShownGroup(BaseModel):
    """A group of an action, with node counts and criteria."""

    name: str = Field(examples=["control"])
    critical: bool = Field(examples=[True])
    depends_on: list[str] = Field(examples=[["ntp"]])
    state: str = Field(examples=["running"])
    reason: str | None = Field(examples=[None])
    attempt: int = Field(examples=[1])
    counts: dict[str, int] = Field(examples=[{"total": 3, "prepared": 1, "success": 1, "failure": 1}])
    criteria: list[Criterion]
    started: Moment | None
    ended: Moment | None = Field(examples=[None])
    map_index: int | None = Field(
        examples=[0], description="Of its task in Airflow; without one it had nothing to submit."
    )
    waits: str | None = Field(
        examples=[None], description="What it waits for that asks a person, with the command that answers."
    )


class ShownNode(BaseModel):
    """A node of an action."""

    name: str = Field(examples=["r1-control-2"])
    state: str = Field(examples=["failure"])
    groups: list[str] = Field(examples=[["control"]])
    message: str | None = Field(examples=["no PXE answer"])


UNDER_WAY = frozenset({NodeState.PREPARING, NodeState.DEPLOYING})
"""States of a node that a provisioner task works on."""
_TROUBLED = frozenset({NodeState.FAILURE.value, NodeState.UNKNOWN.value})


def action_nodes(
    store: SiteStore, action: ActionRecord, groups: Sequence[Mapping[str, Any]], verbosity: int
) -> list[dict[str, Any]]:
    """Return the nodes that failed, were not submitted for a known reason, or of which nothing could be learnt.

    Each has its message: the provisioner's words, or the reason.

    Parameters
    ----------
    groups : with their node counts, as `shown_groups` returns them: nodes are read only if one of them has a message.
    verbosity : from 5 on all nodes are returned.
    """
    troubled = any(group["counts"].get(state) for group in groups for state in _TROUBLED)
    # Without groups it is an action on named nodes, which are few.
    if groups and not troubled and verbosity < NODE and not store.tasks.any_explained(action.id):
        return []
    report = store.reports.get(action.id) if action.has_report else None
    nodes = report["nodes"] if report else [asdict(reported_node(tasks)) for tasks in store.tasks.of_nodes(action.id)]
    if has_unrecorded_end(action):
        nodes = [_as_closed(node) for node in nodes]
    if verbosity < NODE:
        # Reports of earlier versions do not say which nodes were withheld.
        nodes = [node for node in nodes if str(node["state"]) in _TROUBLED or node.get("withheld")]
    return [{key: node[key] for key in ShownNode.model_fields} for node in nodes]


def _as_closed(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node as closing its action will leave it (rule 24)."""
    if node["state"] not in UNDER_WAY:
        return node
    message = node["message"] or "the action ended before its result was known"
    return {**node, "state": NodeState.UNKNOWN, "message": message}


def shown_groups(store: SiteStore, action: ActionRecord) -> list[dict[str, Any]]:
    """Return the groups of an action in processing order as its tree has them, each with its node counts."""
    root = action_tree(store, action.id, ACTION_DEPTH, action).root
    stage = next((entry for entry in root.children if entry.name == DEPLOY_GROUP), None)
    # The database counts: a site may have 100,000 nodes.
    counts = store.tasks.node_counts(action.id)
    asked = () if action.state.is_end else store.approvals.of_action(action.id)
    waits = {gate.group: said for gate in asked if (said := waits_for_person(gate))}
    return [
        _group(entry.name, entry.group, _counts(action, counts[entry.name]), waits.get(entry.name))
        for entry in (stage.children if stage is not None else ())
        if entry.group is not None
    ]


def _counts(action: ActionRecord, states: Mapping[NodeState, int]) -> Mapping[NodeState, int]:
    if not has_unrecorded_end(action):
        return states
    under_way = sum(states[state] for state in UNDER_WAY)
    return {**states, **dict.fromkeys(UNDER_WAY, 0), NodeState.UNKNOWN: states[NodeState.UNKNOWN] + under_way}


def _group(name: str, details: GroupDetails, counts: Mapping[NodeState, int], waits: str | None) -> dict[str, Any]:
    known = group_to_dict(details)
    return {
        "name": name,
        **{field: known[field] for field in ShownGroup.model_fields if field in known},
        "counts": {"total": details.nodes, **{state.value: number for state, number in counts.items()}},
        "map_index": details.map_index,
        "waits": waits,
    }
