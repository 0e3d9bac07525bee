"""A rolling redeploy of a group: how many nodes may be away at once, the next batch, and when the group stops.

Everything follows from what is stored of the nodes, so that a batch goes on after a crash: the nodes that are away are
the batch that is under way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from strategy_lib.phase import Phase
from strategy_lib.strategy import SuccessCriteria, evaluate

_PERCENT = re.compile(r"(100|[1-9]?[0-9])\s*%")


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """Another group that allows redeploys and has nodes in common: a batch keeps what it allows, too.

    Attributes
    ----------
    shared : nodes of the rolling group that are to be redeployed, and are in this one.
    total, serving : how many nodes it has, and how many of them served when the plan was made.
    failed : those of its nodes that are not back and will not be, or were never there.
    lost : those of them that served.
    criteria, critical, max_unavailable, below_criteria, theirs : as in `RollingGroup`.
    """

    name: str
    shared: frozenset[str]
    total: int
    serving: int
    failed: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    criteria: SuccessCriteria | None = None
    critical: bool = False
    max_unavailable: int | str | None = None
    below_criteria: bool = False
    theirs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RollingGroup:
    """A group whose deployed nodes are brought to a new design, a batch after the other.

    Attributes
    ----------
    nodes : all nodes of the group.
    serving : nodes that served, in whatever design, when the plan was made, and new ones that were deployed before the
        first batch.
    redeploy : those of them that are to be destroyed, prepared and deployed.
    redeployed, failed : those that are back in the new design, and those that are not and will not be: failed, or
        unknown. Nodes of the group that failed although they did not serve before may stand in `failed` too: they count
        against `max_unavailable`, and not against the room in the criteria, which is without them already.
    away : nodes of the batch under way: begun, and not at an end.
    criteria, critical : of the group.
    max_unavailable : a number, or a percentage of the group's nodes as text ("25%"); None: what the criteria leave room
        for.
    below_criteria : the override of a person.
    order : which of the nodes that are left may go now, in the order in which they are taken; None: all, by name. A
        node may wait for others (rule 39). Of them the first are taken, so that none goes without those it waits for.
    others : other groups whose bounds a batch keeps.
    theirs : nodes of the group that somebody else has: they serve nobody, and count against `max_unavailable`.
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
    others: tuple[OtherGroup, ...] = ()
    theirs: frozenset[str] = frozenset()


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


def nodes_at_once(share: int | str, total: int, setting: str = "max_unavailable") -> int:
    """Return how many nodes a setting such as `max_unavailable` stands for, at least 1.

    Parameters
    ----------
    share : a number from 1, or a percentage from 1 % to 100 % as text. A percentage is rounded down.
    total : number of nodes of the group.
    setting : its name.

    Raises
    ------
    ValueError : for anything else.
    """
    if isinstance(share, int) and not isinstance(share, bool) and share >= 1:
        return share
    found = _PERCENT.fullmatch(share) if isinstance(share, str) else None
    percent = int(found[1]) if found else 0
    if not percent:
        raise ValueError(f"{setting} is {share!r}: it is a number from 1, or a percentage such as 25%")
    return max(1, total * percent // 100)


def next_batch(group: RollingGroup) -> Step:
    """Say what a rolling group does next.

    The nodes that failed are away for good, so that later batches are smaller by them. An explicit `max_unavailable` is
    a person's decision, and may go below the criteria for a while; a group stops in any case when they cannot be met
    at its end any more. Nodes that another group keeps (`kept_by_others`) must not be among those to redeploy any more.
    """
    if group.away:
        return Batch(tuple(sorted(group.away)), resumed=True)
    left = group.redeploy - group.redeployed - group.failed
    if not left:
        return RolledOut()
    waiting = tuple(sorted(left))
    room = _room(_own(group), begun=bool(group.redeployed or group.failed))
    if isinstance(room, _Closed):
        return Refused(room.reason) if room.refused else Stopped(room.reason, waiting)
    order = waiting if group.order is None else group.order
    return Batch(tuple(sorted(_first(order, room, group.others))))


def kept_by_others(others: Iterable[OtherGroup]) -> dict[str, str]:
    """Return the nodes that may not be taken away because of another group that they are in, each with the reason."""
    kept: dict[str, str] = {}
    for other in others:
        room = _room(other, begun=bool(other.failed))
        if isinstance(room, _Closed):
            for name in other.shared:
                kept.setdefault(name, f"group {other.name}: {room.reason}")
    return kept


def refuse_many_redeploys(
    redeploy: Collection[str],
    deployed: Collection[str],
    percent: int = 20,
    number: int = 5,
    *,
    remove: Collection[str] = (),
) -> str | None:
    """Return why an update is refused that would take down too many nodes of a site at once; None where it is not.

    Parameters
    ----------
    redeploy : nodes that it would redeploy.
    deployed : nodes of the site that are deployed.
    percent, number : it is refused above both: more than this share of the deployed nodes, and more than this number of
        nodes.
    remove : nodes that it would destroy and not deploy again: they count, too.
    """
    taken = {*redeploy, *remove}
    many = len(taken)
    if many <= number or many * 100 <= percent * len(deployed):
        return None
    names = ", ".join(sorted(taken))
    words = " and ".join(word for word, some in (("redeploy", redeploy), ("destroy", remove)) if some)
    return f"it would {words} {many} of {len(deployed)} deployed nodes, more than {percent} %: {names}"


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


@dataclass(frozen=True, slots=True)
class _Closed:
    """No node of a group may be taken away; `refused`: none was, and none may be without `below_criteria`."""

    reason: str
    refused: bool = False


def _own(group: RollingGroup) -> OtherGroup:
    return OtherGroup(
        "",
        group.redeploy,
        len(group.nodes),
        len(group.serving),
        group.failed,
        group.failed & group.serving,
        group.criteria,
        group.critical,
        group.max_unavailable,
        group.below_criteria,
        group.theirs,
    )


def _room(group: OtherGroup, *, begun: bool) -> int | _Closed:
    """Return how many more nodes of a group may be taken away now, at least 1; or why none may."""
    if group.max_unavailable is not None:
        limit, away = nodes_at_once(group.max_unavailable, group.total), group.failed | group.theirs
    else:
        limit, away = room_in_criteria(group.criteria, group.total, group.serving), group.lost
        if limit == 0 and group.critical and not group.below_criteria:
            return _Closed(
                f"its criteria leave no room: {group.serving} of {group.total} nodes serve, and none can be "
                f"taken away without the override below_criteria",
                refused=True,
            )
        limit = max(limit, 1)
    # Those that did not serve may be deployed by the end.
    reachable = group.total - len(group.failed)
    if begun and not group.below_criteria and not _met(group.criteria, group.total, reachable):
        return _Closed(f"its criteria cannot be met any more: {_failed_words(group.failed)}")
    limit -= len(away)
    if limit > 0:
        return limit
    words = [_failed_words(away - group.theirs)] if away - group.theirs else []
    if away & group.theirs:
        words.append(f"somebody else has {len(group.theirs)} ({', '.join(sorted(group.theirs))})")
    return _Closed(f"as many nodes are away as may be: {', '.join(words)}")


def _first(order: Iterable[str], room: int, others: Iterable[OtherGroup]) -> Iterable[str]:
    """Yield the first nodes of an order that all bounds leave room for; none after one that would break them."""
    left: list[tuple[frozenset[str], list[int]]] = []
    for other in others:
        open_to = _room(other, begun=bool(other.failed))
        left.append((other.shared, [0 if isinstance(open_to, _Closed) else open_to]))
    for name in order:
        these = [more for shared, more in left if name in shared]
        if room == 0 or not all(more[0] for more in these):
            return
        room -= 1
        for more in these:
            more[0] -= 1
        yield name


def _failed_words(failed: Collection[str]) -> str:
    return f"{len(failed)} failed ({', '.join(sorted(failed))})"
