"""A rolling redeploy of a group: how many nodes may be away at once, the next batch, and when the group stops.

Everything follows from what is stored of the nodes, so that a batch goes on after a crash: the nodes that are away are
the batch that is under way.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from strategy_lib.criteria import SuccessCriteria, evaluate
from strategy_lib.phase import Phase

_PERCENT = re.compile(r"(100|[1-9]?[0-9])\s*%")


@dataclass(frozen=True, slots=True)
class RollingGroup:
    """A group whose deployed nodes are brought to a new design, a batch after the other.

    Attributes
    ----------
    nodes : all nodes of the group.
    serving : nodes that served, in whatever design, when the plan was made. It does not change while the group rolls.
    redeploy : those of them that are to be destroyed, prepared and deployed.
    redeployed, failed : those that are back in the new design, and those that are not and will not be: failed, or
        unknown. Nodes of the group that failed although they did not serve before may stand in `failed` too, and count
        in the same way.
    away : nodes of the batch under way: begun, and not at an end.
    criteria, critical : of the group.
    max_unavailable : a number, or a percentage of the group's nodes as text ("25%"); None: what the criteria leave room
        for.
    below_criteria : the override of a person.
    order : which of the nodes that are left may go now, in the order in which they are taken; None: all, by name. A
        node may wait for others (rule 39).
    """

    nodes: frozenset[str]
    serving: frozenset[str]
    redeploy: frozenset[str]
    redeployed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    away: frozenset[str] = frozenset()
    criteria: SuccessCriteria | None = None
    critical: bool = False
    max_unavailable: int | str | None = None
    below_criteria: bool = False
    order: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Destroy, prepare and deploy these nodes (sorted); `resumed`: they are the batch that is under way."""

    nodes: tuple[str, ...]
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was begun, and nothing may be without the override `below_criteria`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """No further batch begins: `left` (sorted) stay as they are, and serve in their old design."""

    reason: str
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RolledOut:
    """Every node that was to be redeployed has been tried."""


Step = Batch | Refused | Stopped | RolledOut


def room_in_criteria(criteria: SuccessCriteria | None, total: int, serving: int) -> int:
    """Return how many serving nodes can be away while the criteria are still met; 0 where they are not met already."""
    if not _met(criteria, total, serving):
        return 0
    return serving - _fewest_successful(criteria, total)


def nodes_at_once(max_unavailable: int | str, total: int) -> int:
    """Return how many nodes a setting of `max_unavailable` stands for, at least 1.

    Parameters
    ----------
    max_unavailable : a number from 1, or a percentage from 1 % to 100 % as text. A percentage is rounded down.
    total : number of nodes of the group.

    Raises
    ------
    ValueError : for anything else.
    """
    if isinstance(max_unavailable, int) and not isinstance(max_unavailable, bool) and max_unavailable >= 1:
        return max_unavailable
    found = _PERCENT.fullmatch(max_unavailable) if isinstance(max_unavailable, str) else None
    percent = int(found[1]) if found else 0
    if not percent:
        raise ValueError(f"max_unavailable is {max_unavailable!r}: it is a number from 1, or a percentage such as 25%")
    return max(1, total * percent // 100)


def next_batch(group: RollingGroup) -> Step:
    """Say what a rolling group does next.

    The nodes that failed are away for good, so that later batches are smaller by them. An explicit `max_unavailable` is
    a person's decision, and may go below the criteria for a while; a group stops in any case when they cannot be met
    at its end any more.
    """
    if group.away:
        return Batch(tuple(sorted(group.away)), resumed=True)
    left = group.redeploy - group.redeployed - group.failed
    if not left:
        return RolledOut()
    waiting = tuple(sorted(left))
    begun = bool(group.redeployed or group.failed)
    if group.max_unavailable is not None:
        limit = nodes_at_once(group.max_unavailable, len(group.nodes))
    else:
        limit = room_in_criteria(group.criteria, len(group.nodes), len(group.serving))
        if limit == 0 and group.critical and not group.below_criteria:
            return Refused(
                f"its criteria leave no room: {len(group.serving)} of {len(group.nodes)} nodes serve, and none can be "
                f"taken away without the override below_criteria"
            )
        limit = max(limit, 1)
    if begun and not group.below_criteria and not _met(group.criteria, len(group.nodes), _reachable(group)):
        return Stopped(f"its criteria cannot be met any more: {_failed_words(group)}", waiting)
    limit -= len(group.failed)
    if limit <= 0:
        return Stopped(f"as many nodes are away as may be: {_failed_words(group)}", waiting)
    return Batch(tuple(sorted((waiting if group.order is None else group.order)[:limit])))


def refuse_many_redeploys(
    redeploy: Collection[str], deployed: Collection[str], percent: int = 20, number: int = 5
) -> str | None:
    """Return why an update is refused that would redeploy too many nodes of a site at once; None where it is not.

    Parameters
    ----------
    redeploy : nodes that it would redeploy.
    deployed : nodes of the site that are deployed.
    percent, number : it is refused above both: more than this share of the deployed nodes, and more than this number of
        nodes.
    """
    many = len(redeploy)
    if many <= number or many * 100 <= percent * len(deployed):
        return None
    names = ", ".join(sorted(redeploy))
    return f"it would redeploy {many} of {len(deployed)} deployed nodes, more than {percent} %: {names}"


def _met(criteria: SuccessCriteria | None, total: int, successful: int) -> bool:
    return all(result.met for result in evaluate(criteria, Phase.DEPLOY, total, successful))


def _fewest_successful(criteria: SuccessCriteria | None, total: int) -> int:
    """Return the smallest number of successful nodes of `total` that meets the criteria, each taken as a bound."""
    if criteria is None:
        return 0
    percent = criteria.percent_successful_nodes or 0
    fewest = [0, -(-percent * total // 100), criteria.minimum_successful_nodes or 0]
    if criteria.maximum_failed_nodes is not None:
        fewest.append(total - criteria.maximum_failed_nodes)
    return max(fewest)


def _reachable(group: RollingGroup) -> int:
    """Return how many nodes can be successful at the group's end: those that did not serve may be deployed by then."""
    return len(group.nodes - group.failed)


def _failed_words(group: RollingGroup) -> str:
    return f"{len(group.failed)} failed ({', '.join(sorted(group.failed))})"
