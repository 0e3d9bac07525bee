"""The order of groups, and the cycles that would make one impossible (rules 3, 8). NetworkX finds the cycles."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strategy_lib.errors import Problem, StrategyError
from strategy_lib.strategy import Strategy

MOST_CYCLES = 100


def order_groups(strategy: Strategy, before: Mapping[str, Collection[str]] | None = None) -> list[str]:
    """Return the names of all groups in the order in which they are processed (rule 8).

    It is made by taking, again and again, the first group in document order whose dependencies are all taken.
    Where groups fail, those that are still processed keep this order among themselves: whether a group is ready
    does not depend on groups that are not its ancestors.

    Parameters
    ----------
    before : group to other groups that come first, because of edges between their nodes (`order_between_groups`).

    Raises
    ------
    StrategyError : groups wait for each other: none is left out in silence.

    Examples
    --------
    >>> order_groups(parse_strategy({"groups": [
    ...     {"name": "b", "critical": True, "depends_on": ["a"], "selectors": []},
    ...     {"name": "a", "critical": True, "depends_on": [], "selectors": []}]}))
    ['a', 'b']
    """
    names = [group.name for group in strategy.groups]
    position = {name: i for i, name in enumerate(names)}
    first = before or {}
    edges = [[position[name] for name in (*group.depends_on, *first.get(group.name, ()))] for group in strategy.groups]
    taken = _taken_in_order(edges)
    if len(taken) < len(names):
        waits_for = {name: [names[i] for i in others] for name, others in zip(names, edges, strict=True)}
        raise StrategyError(
            Problem("$.data.groups", f"groups that wait for each other: {' -> '.join(path)}")
            for path in find_cycles(waits_for).paths
        )
    return [names[i] for i in taken]


@dataclass(frozen=True, slots=True)
class Cycles:
    """The cycles found: `paths` each as names with the first repeated at the end; `cut` when there are more."""

    paths: tuple[tuple[str, ...], ...]
    cut: bool


def find_cycles(depends_on: Mapping[str, Sequence[str]], most: int = MOST_CYCLES) -> Cycles:
    """Find the cycles among dependencies; `a -> b` reads "a depends on b".

    Parameters
    ----------
    depends_on : group name to the names it depends on. Names that are no group, and a group's own name, are left aside.
    most : how many cycles are returned at most. A graph can have exponentially many: one per strongly connected
        component comes first.

    Returns
    -------
    Cycles
        Each path starts with its group that stands first in `depends_on`.
    """
    names = list(depends_on)
    position = {name: i for i, name in enumerate(names)}
    edges = [
        [position[other] for other in others if other in position and other != name]
        for name, others in depends_on.items()
    ]
    if len(_taken_in_order(edges)) == len(edges):
        return Cycles((), cut=False)
    import networkx as nx  # imported here: it takes a third of a second and 22 MB, and only what is wrong needs it

    graph: nx.DiGraph[int] = nx.DiGraph((i, other) for i, others in enumerate(edges) for other in others)
    components = sorted(
        sorted(component) for component in nx.strongly_connected_components(graph) if len(component) > 1
    )
    waiting: deque[Iterator[list[int]]] = deque(
        iter(nx.simple_cycles(graph.subgraph(component).copy())) for component in components
    )
    found: list[tuple[str, ...]] = []
    for cycle in _in_turn(waiting):
        if len(found) == most:
            return Cycles(tuple(found), cut=True)
        first = cycle.index(min(cycle))
        turned = [*cycle[first:], *cycle[: first + 1]]
        found.append(tuple(names[i] for i in turned))
    return Cycles(tuple(found), cut=False)


def _in_turn(waiting: deque[Iterator[list[int]]]) -> Iterator[list[int]]:
    while waiting:
        cycles = waiting.popleft()
        for cycle in cycles:
            yield cycle
            waiting.append(cycles)
            break


def _taken_in_order(edges: Sequence[Sequence[int]]) -> list[int]:
    """Take, again and again, the first of those whose dependencies are all taken; who waits for a cycle is left out."""
    needed_by: list[list[int]] = [[] for _ in edges]
    for i, others in enumerate(edges):
        for other in others:
            needed_by[other].append(i)
    missing = [len(others) for others in edges]
    ready = [i for i, count in enumerate(missing) if count == 0]
    taken = []
    while ready:
        taken.append(heapq.heappop(ready))
        for i in needed_by[taken[-1]]:
            missing[i] -= 1
            if missing[i] == 0:
                heapq.heappush(ready, i)
    return taken
