"""A rolling redeploy of a group: how many nodes may be away at once, which go next, and when the group stops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from strategy_lib.groups.group_plan import GroupBounds
from strategy_lib.phase import Phase
from strategy_lib.strategy import SuccessCriteria
from strategy_lib.verdict import evaluate


def room_in_criteria(criteria: SuccessCriteria | None, total: int, serving: int) -> int:
    """Return how many serving nodes can be away while the criteria are still met; 0 where they are not met already."""
    if not _met(criteria, total, serving):
        return 0
    return serving - _fewest_successful(criteria, total)


def room_left(group: GroupBounds, *, begun: bool, below_criteria: bool = False) -> int | str:
    """Return how many more nodes of a group may be taken away now, at least 1; or why none may.

    The nodes that failed are away for good, so that later batches are smaller by them. An explicit `max_unavailable` is
    a person's decision, and may go below the criteria for a while; a group stops in any case when they cannot be met
    at its end any more.

    Parameters
    ----------
    begun : a node was taken away already.
    below_criteria : the override of a person.
    """
    if group.max_unavailable is not None:
        limit, away = group.max_unavailable.of(group.total), group.failed | group.theirs
    else:
        limit, away = room_in_criteria(group.criteria, group.total, group.serving), group.lost
        if limit == 0 and group.critical and not below_criteria:
            return (
                f"its criteria leave no room: {group.serving} of {group.total} nodes serve, and none can be "
                f"taken away without the override below_criteria"
            )
        limit = max(limit, 1)
    # Those that did not serve may be deployed by the end.
    reachable = group.total - len(group.failed)
    if begun and not below_criteria and not _met(group.criteria, group.total, reachable):
        return f"its criteria cannot be met any more: {_failed_words(group.failed)}"
    limit -= len(away)
    if limit > 0:
        return limit
    words = [_failed_words(away - group.theirs)] if away - group.theirs else []
    if away & group.theirs:
        words.append(f"somebody else has {len(group.theirs)} ({', '.join(sorted(group.theirs))})")
    return f"as many nodes are away as may be: {', '.join(words)}"


def kept_by_others(others: Iterable[GroupBounds], *, below_criteria: bool = False) -> dict[str, str]:
    """Return the nodes that may not be taken away because of another group that they are in, each with the reason."""
    kept: dict[str, str] = {}
    for other in others:
        room = room_left(other, begun=bool(other.failed), below_criteria=below_criteria)
        if isinstance(room, str):
            for name in other.nodes:
                kept.setdefault(name, f"group {other.group}: {room}")
    return kept


def first_of(
    order: Iterable[str], room: int, others: Iterable[GroupBounds], *, below_criteria: bool = False
) -> Iterator[str]:
    """Yield the first nodes of an order that all bounds leave room for; none after one that would break them.

    None goes without those that it waits for, which stand before it (rule 39).
    """
    left: list[tuple[frozenset[str], list[int]]] = []
    for other in others:
        room_there = room_left(other, begun=bool(other.failed), below_criteria=below_criteria)
        left.append((other.nodes, [0 if isinstance(room_there, str) else room_there]))
    for name in order:
        these = [more for shared, more in left if name in shared]
        if room == 0 or not all(more[0] for more in these):
            return
        room -= 1
        for more in these:
            more[0] -= 1
        yield name


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


def _failed_words(failed: Collection[str]) -> str:
    return f"{len(failed)} failed ({', '.join(sorted(failed))})"
