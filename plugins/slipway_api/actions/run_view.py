"""The groups of an action and the nodes that it names, as the description of an action shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from site_engine.actions.dead_actions import has_unrecorded_end
from site_engine.actions.reports import reported_node
from site_engine.groups.culprits import is_only_judged
from site_engine.trees.waiting import waits_for_person
from slipway_api.actions.notes import NODE
from slipway_api.http.answers import Moment
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from site_store import ActionRecord, ApprovalRecord, GroupRecord, SiteStore


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
    phase: str | None = Field(examples=["deploy"])
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
    return [
        {key: node[key] for key in ShownNode.model_fields} for node in nodes if verbosity >= NODE or _has_message(node)
    ]


def _as_closed(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node as closing its action will leave it (rule 24)."""
    if node["state"] not in UNDER_WAY:
        return node
    message = node["message"] or "the action ended before its result was known"
    return {**node, "state": NodeState.UNKNOWN, "message": message}


def _has_message(node: Mapping[str, Any]) -> bool:
    # Reports of earlier versions do not say which nodes were withheld.
    return str(node["state"]) in _TROUBLED or bool(node.get("withheld"))


def _add_waits(groups: Iterable[dict[str, Any]], asked: Iterable[ApprovalRecord], action: ActionRecord) -> None:
    """Add to shown groups for which person's answer they wait; in an action that is over nobody waits."""
    waits = {} if action.state.is_end else {gate.group: said for gate in asked if (said := waits_for_person(gate))}
    for group in groups:
        group["waits"] = waits.get(group["name"])


def shown_groups(store: SiteStore, action: ActionRecord) -> list[dict[str, Any]]:
    """Return the groups of an action in processing order, with node counts and criteria."""
    # The database counts: a site may have 100,000 nodes.
    counts = store.tasks.node_counts(action.id)
    groups = store.groups.of_action(action.id)
    if has_unrecorded_end(action):
        groups = [as_closed(group) for group in groups]
        counts = {name: _counts_as_closed(states) for name, states in counts.items()}
    groups = [_as_blocked(group, groups, counts[group.name]) for group in groups]
    shown = [_group(group, counts[group.name]) for group in groups]
    _add_waits(shown, store.approvals.of_action(action.id), action)
    return shown


def _as_blocked(group: GroupRecord, groups: Sequence[GroupRecord], counts: Mapping[NodeState, int]) -> GroupRecord:
    """Return a group that is opened only to be judged as one that has not begun (rule 28)."""
    if group.state is not GroupState.RUNNING or group.unknown_state:
        return group
    has_sent = bool(group.phases_done) or any(counts[state] for state in UNDER_WAY)
    states = {one.name: one.state for one in groups}
    if not is_only_judged(group.state, group.definition.depends_on, states, has_sent=has_sent):
        return group
    return replace(group, state=GroupState.PENDING, started=None)


def as_closed(group: GroupRecord) -> GroupRecord:
    """Return a group as closing its action will leave it (rule 24)."""
    if group.state is not GroupState.RUNNING:
        return group
    return replace(group, state=GroupState.FAILURE, reason=Reason.INTERRUPTED)


def _counts_as_closed(states: Mapping[NodeState, int]) -> dict[NodeState, int]:
    under_way = sum(states[state] for state in UNDER_WAY)
    return {**states, **dict.fromkeys(UNDER_WAY, 0), NodeState.UNKNOWN: states[NodeState.UNKNOWN] + under_way}


def _group(group: GroupRecord, states: Mapping[NodeState, int]) -> dict[str, Any]:
    phase = None
    if group.stored_state == GroupState.RUNNING:
        phase = "deploy" if Phase.PREPARE in group.phases_done or states[NodeState.DEPLOYING] else "prepare"
        if group.definition.has_batches and states[NodeState.PREPARING]:
            phase = "prepare"
        elif group.definition.ready is not None and Phase.DEPLOY in group.phases_done:
            phase = "ready" if not states[NodeState.DEPLOYING] else phase
    return {
        "name": group.name,
        "critical": group.critical,
        "depends_on": list(group.definition.depends_on),
        "state": group.stored_state,
        "reason": group.stored_reason,
        "phase": phase,
        "attempt": group.attempt,
        "counts": {"total": len(group.nodes), **{state.value: number for state, number in states.items()}},
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
        "map_index": group.map_index,
        "waits": None,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
