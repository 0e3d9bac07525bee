"""Groups and sites of which too few nodes are available: a group takes its nodes down, a site is down (rule 53)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from strategy_lib.node_states.generated import NodeAvailability

_A = NodeAvailability
AVAILABLE_IN_GROUP = frozenset({_A.UP, _A.INITIALIZING, _A.MAINTENANCE})
UP_IN_SITE = frozenset({_A.UP, _A.INITIALIZING, _A.RETIRED})
_TAKEN_DOWN = frozenset({_A.UP, _A.INITIALIZING})


@dataclass(frozen=True, slots=True)
class PublishedState:
    """The state of a node as it is published, and why. A change of either makes a new version (rule 55)."""

    state: NodeAvailability
    reason: str = ""


def take_groups_down(
    states: Mapping[str, PublishedState],
    groups: Mapping[str, Collection[str]],
    min_available_percent: Mapping[str, int],
) -> dict[str, PublishedState]:
    """Return the states after groups with too few available nodes have taken the rest of theirs down.

    All groups are judged by the states given, so that no group falls because another one did.

    Parameters
    ----------
    states : the generated state of each node.
    groups : group to its nodes, in document order: a node of several such groups carries the first one's reason.
    min_available_percent : by group, exact in integers; 0, or a group that is missing: off.
    """
    result = dict(states)
    for group, names in groups.items():
        percent = min_available_percent.get(group, 0)
        if not percent:
            continue
        members = [name for name in names if name in states]
        available = sum(states[name].state in AVAILABLE_IN_GROUP for name in members)
        if available * 100 >= percent * len(members):
            continue
        reason = f"group {group} has {available} of {len(members)} nodes available, {percent} % are needed"
        for name in members:
            if result[name].state in _TAKEN_DOWN:
                result[name] = PublishedState(_A.DOWN, reason)
    return result


def site_state(states: Mapping[str, PublishedState], min_up_nodes: int = 0, min_up_percent: int = 0) -> PublishedState:
    """Return up or down for a site, with the reason; 0 switches a condition off."""
    if not min_up_nodes and not min_up_percent:
        return PublishedState(_A.UP)
    found, total = [one.state for one in states.values()], len(states)
    up = sum(found.count(state) for state in UP_IN_SITE)
    if up < min_up_nodes:
        return PublishedState(_A.DOWN, f"{up} of {total} nodes are up, {min_up_nodes} are needed")
    if up * 100 < min_up_percent * total:
        return PublishedState(_A.DOWN, f"{up} of {total} nodes are up, {min_up_percent} % are needed")
    return PublishedState(_A.UP)
