"""A rolling redeploy of a group (rule 40): how many nodes may be away at once, which go next, and when it stops.

Here is also the guard before a redeploy or a destruction: what it would do to the critical groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from strategy_lib.groups.group_plan import GroupBounds, bounds_of
from strategy_lib.groups.group_run import GroupRun, Known, is_prepared, may_be_taken
from strategy_lib.groups.waves import removal_waves, waves
from strategy_lib.node import Node, NodeState
from strategy_lib.phase import Phase
from strategy_lib.selectors import resolve
from strategy_lib.strategy import CriterionResult, Strategy, SuccessCriteria
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


_LOST = (NodeState.FAILURE, NodeState.UNKNOWN)


def first_to_go(run: GroupRun, batch: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes of a batch that are released next: dependants before what they depend on (rule 40)."""
    return tuple(removal_waves(batch, batch, run.plan.waits_for)[0])


def needed_by_batch(run: GroupRun, known: Known, again: Iterable[str]) -> frozenset[str]:
    """Return the nodes that belong to the batch under way, and are not released yet: those that it depends on.

    A batch begins with its dependants (rule 40), so that this is what is left of it after a crash.
    """
    released = run.rounds.released
    left = [*released.intersection(again)]
    left += [name for name in released if name not in run.held and is_prepared(run, known, name)]
    needed: set[str] = set()
    while left:
        for other in run.plan.waits_for.get(left.pop(), ()):
            if other not in needed and may_be_taken(run, known, other):
                needed.add(other)
                left.append(other)
    return frozenset(needed)


def new_redeploy_batch(
    run: GroupRun, known: Known, most: int | None = None, pool: Collection[str] | None = None
) -> frozenset[str]:
    """Choose the next batch; where there is none, keep why the nodes that are left stay as they are.

    Parameters
    ----------
    most : so many nodes at most, whatever else there is room for; None: no such bound.
    pool : only these may be taken now; None: all that wait.
    """
    waiting = frozenset(name for name in run.nodes if may_be_taken(run, known, name))
    gone = frozenset(
        name for name in run.rounds.released & run.plan.redeploy if known.state(name) is not NodeState.SUCCESS
    )
    others = _other_groups(run, known, gone)
    below = known.below_criteria
    kept = {name: why for name, why in kept_by_others(others, below_criteria=below).items() if name in waiting}
    if kept:
        # What waits for them is held now, so that the rest is looked at anew.
        run.kept = {**run.kept, **kept}
        return frozenset()
    order = tuple(name for name in _order(run, known, waiting) if pool is None or name in pool)[:most]
    if not order:
        return frozenset()
    lost = gone.union(name for name in run.nodes if known.state(name) in _LOST)
    done = frozenset(name for name in run.nodes if known.state(name) is NodeState.SUCCESS)
    # New nodes come first, and serve by now.
    serving = run.plan.serving | (done - run.plan.redeploy)
    own = replace(bounds_of(run.group, run.nodes, waiting, serving, run.plan.theirs), failed=lost, lost=lost & serving)
    room = room_left(own, begun=bool(lost or done & run.plan.redeploy), below_criteria=below)
    if isinstance(room, str):
        run.kept = {**run.kept, **dict.fromkeys(waiting, room)}
        return frozenset()
    return frozenset(first_of(order, room, others, below_criteria=below))


def _other_groups(run: GroupRun, known: Known, gone: frozenset[str]) -> tuple[GroupBounds, ...]:
    """Return the other groups whose bounds a batch keeps, as they stand; `gone` are nodes of this one, not back yet."""
    found = []
    for bounds in run.plan.bounds:
        lost = frozenset(name for name in bounds.nodes if name in gone or known.state(name) in _LOST)
        elsewhere = known.elsewhere.get(bounds.group, frozenset())
        found.append(replace(bounds, failed=lost | elsewhere, lost=lost | (elsewhere & known.taken)))
    return tuple(found)


def _order(run: GroupRun, known: Known, waiting: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes that a batch can take, in order: each behind all it depends on that is in it, too."""
    edges = run.plan.waits_for
    done = {name for name in run.plan.named if name in run.plan.met or known.state(name) is NodeState.SUCCESS}
    chosen: dict[str, None] = {}
    for name in chain.from_iterable(waves(waiting, waiting, edges)):
        if name not in run.held and all(other in done or other in chosen for other in edges.get(name, ())):
            chosen[name] = None
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A critical group that would no longer be as its criteria ask.

    Attributes
    ----------
    group : its name.
    taken : those of its deployed nodes that would be taken away, sorted.
    unmet : the criteria that would not be met then, each with what is needed and what would be left.
    """

    group: str
    taken: tuple[str, ...]
    unmet: tuple[CriterionResult, ...]

    def __str__(self) -> str:
        left = "; ".join(f"{result.criterion} needs {result.needed}, {result.actual} would be" for result in self.unmet)
        return f"critical group {self.group} would fall short: {left}"


def shortfalls(
    strategy: Strategy, nodes: Iterable[Node], deployed: Collection[str], taken: Collection[str]
) -> tuple[Shortfall, ...]:
    """Return the critical groups that would miss criteria without the nodes that are to be taken away.

    The deploy criteria are judged over all nodes of a group (rules 15-17), with those deployed now as the successful
    ones, less the taken. A group that loses no deployed node is not named, however badly off it is: to work on a
    node that is broken anyway takes nothing away. The strategy is the site's own, not that of the targeted action.
    """
    working, lost = frozenset(deployed), frozenset(deployed).intersection(taken)
    members = resolve(strategy, nodes)
    found = []
    for group in strategy.groups:
        mine = members[group.name]
        if not group.critical or mine.isdisjoint(lost):
            continue
        left = len((mine & working) - lost)
        unmet = tuple(result for result in evaluate(group.criteria, Phase.DEPLOY, len(mine), left) if not result.met)
        if unmet:
            found.append(Shortfall(group.name, tuple(sorted(mine & lost)), unmet))
    return tuple(found)
