"""Nodes that a provisioner refuses to prepare as they are: which of them are released first. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from strategy_lib.outcome import REFUSED_BY_PREPARE, NodeCondition


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """What comes before a group's prepare (rule 11).

    Attributes
    ----------
    release : names (sorted) of the nodes to release: what stands on them is destroyed.
    refused : for nodes that are neither released nor prepared: why.
    """

    release: tuple[str, ...]
    refused: Mapping[str, str]


def plan_release(
    conditions: Mapping[str, NodeCondition], left_by_us: Mapping[str, NodeCondition], kept: Collection[str] = ()
) -> ReleasePlan:
    """Decide which nodes are released before they are prepared (rule 11).

    A failed deployment is nobody's deployment. Any other state that prepare refuses may be somebody else's doing: such
    a node is released only when an operation of ours has left it in this very state.

    Parameters
    ----------
    conditions : what the provisioner's list of nodes says of the nodes that are about to be prepared.
    left_by_us : how our own operation left the nodes whose newest operation it is, as far as it got to deploying them,
        is over without success, and nothing else was seen of them since.
    kept : nodes of groups that want theirs as they are (`release_failed: false`), whichever group sends them.
    """
    release: list[str] = []
    refused: dict[str, str] = {}
    for name, condition in sorted(conditions.items()):
        if condition not in REFUSED_BY_PREPARE:
            continue
        if name in kept:
            refused[name] = "the provisioner refuses to prepare it, and its group has release_failed: false"
        elif condition is NodeCondition.FAILED_DEPLOYMENT or left_by_us.get(name) is condition:
            release.append(name)
        else:
            refused[name] = "it cannot be prepared so, and no deployment of ours left it so: it may be somebody else's"
    return ReleasePlan(tuple(release), refused)
