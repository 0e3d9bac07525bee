"""The order of groups, and the cycles that would make one impossible (rules 3, 8). NetworkX does the graph work."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_lib.strategy import Strategy

if TYPE_CHECKING:
    import networkx as nx

MOST_CYCLES = 100


def order_groups(strategy: Strategy, before: Mapping[str, Collection[str]] | None = None) -> list[str]:
    """Return the names of all groups in the order in which they are processed (rule 8).

    It is made by taking, again and again, the first group in document order whose dependencies are all taken.
    Where groups fail, those that are still processed keep this order among themselves: whether a group is ready
    does not depend on groups that are not its ancestors.

    Parameters
    ----------
    before : group to other groups that come first, because of edges between their nodes (`order_between_groups`).

    Examples
    --------
    >>> order_groups(parse_strategy({"groups": [
    ...     {"name": "b", "critical": True, "depends_on": ["a"], "selectors": []},
    ...     {"name": "a", "critical": True, "depends_on": [], "selectors": []}]}))
    ['a', 'b']
    """
    import networkx as nx  # imported here: it takes a third of a second, and reading documents does not need it

    names = [group.name for group in strategy.groups]
    position = {name: i for i, name in enumerate(names)}
    first = before or {}
    graph = _graph(
        [[position[name] for name in (*group.depends_on, *first.get(group.name, ()))] for group in strategy.groups]
    )
    return [names[i] for i in nx.lexicographical_topological_sort(graph.reverse(copy=False))]


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
    if _is_acyclic(edges):
        return Cycles((), cut=False)
    import networkx as nx

    graph = _graph(edges)
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


def _graph(edges: Sequence[Sequence[int]]) -> nx.DiGraph[int]:
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(edges)))
    graph.add_edges_from((i, other) for i, others in enumerate(edges) for other in others)
    return graph


def _is_acyclic(edges: Sequence[Sequence[int]]) -> bool:
    """Tell in linear time, so that valid strategies pay for nothing more."""
    needed_by: list[list[int]] = [[] for _ in edges]
    for i, others in enumerate(edges):
        for other in others:
            needed_by[other].append(i)
    missing = [len(others) for others in edges]
    ready = [i for i, count in enumerate(missing) if count == 0]
    done = 0
    while ready:
        done += 1
        for i in needed_by[ready.pop()]:
            missing[i] -= 1
            if missing[i] == 0:
                ready.append(i)
    return done == len(edges)
