"""What taking deployed nodes away would do to the critical groups: the guard before a redeploy or a destruction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from strategy_lib.node import Node
from strategy_lib.phase import Phase
from strategy_lib.selectors import resolve
from strategy_lib.strategy import CriterionResult, Strategy
from strategy_lib.verdict import evaluate


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
