"""The order of nodes: waves for people, what may be submitted now, what is held, and the reverse for removal.

An edge `a: [b]` reads "a depends on b": b is deployed before a (rules 39 and 40). Each function takes time linear in
nodes and edges, apart from sorting names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from strategy_lib.errors import Problem, StrategyError
from strategy_lib.ordering import find_cycles

Edges = Mapping[str, Collection[str]]
_MOST_CYCLES = 20
_NONE: frozenset[str] = frozenset()


def waves(nodes: Collection[str], to_do: Collection[str], depends_on: Edges) -> list[list[str]]:
    """Sort nodes into waves, each node as early as possible after all it depends on.

    Parameters
    ----------
    nodes : all nodes that dependencies may lead through. Other names in `depends_on` are ignored.
    to_do : those that have something to do: only they are in a wave. The others pass the order on.
    depends_on : node to the nodes it depends on.

    Returns
    -------
    list of list of str
        The waves in order, names sorted.

    Raises
    ------
    StrategyError : when there is a cycle, with its path, also among nodes that have nothing to do.
    """
    doing = frozenset(to_do)
    result: list[list[str]] = []
    graph = _graph(nodes, depends_on)
    level = [0] * len(graph.names)
    for i in _in_order(graph):
        earliest = max([level[other] for other in graph.edges[i]], default=0)
        if graph.names[i] in doing:
            if earliest == len(result):
                result.append([])
            result[earliest].append(graph.names[i])
            earliest += 1
        level[i] = earliest
    for wave in result:
        wave.sort()
    return result


def removal_waves(nodes: Collection[str], to_remove: Collection[str], depends_on: Edges) -> list[list[str]]:
    """Sort nodes that are destroyed into waves: dependants before what they depend on (rule 40).

    The parameters and what is raised are those of `waves`.
    """
    reverse: defaultdict[str, list[str]] = defaultdict(list)
    for name, others in depends_on.items():
        for other in others:
            reverse[other].append(name)
    return waves(nodes, to_remove, reverse)


def order_through(depends_on: Mapping[str, Sequence[str]], doing: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the order with what leads through nodes that have nothing to do: each node also waits for what they do.

    Parameters
    ----------
    depends_on : node to the nodes it depends on. Nodes of a cycle pass nothing on.
    doing : the nodes that have something to do.
    """
    active = frozenset(doing)
    idle = [name for name in depends_on if name not in active]
    graph = _graph(idle, depends_on)
    reached: dict[str, frozenset[str]] = {}
    of_all: dict[tuple[str, ...], frozenset[str]] = {}

    def behind(others: tuple[str, ...]) -> frozenset[str]:
        if others not in of_all:
            these = (frozenset((one,)) if one in active else reached.get(one, _NONE) for one in others)
            of_all[others] = _NONE.union(*these)
        return of_all[others]

    for name in (graph.names[i] for i in _sorted_out(graph)):
        reached[name] = behind(tuple(depends_on[name]))
    found: dict[str, tuple[str, ...]] = {}
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, others in depends_on.items():
        direct = tuple(others)
        if name not in active or all(one in active for one in direct):
            found[name] = direct
            continue
        if direct not in known:
            more = behind(direct).difference(direct)
            known[direct] = tuple(sorted({*direct, *more})) if more else direct
        found[name] = known[direct]
        if name in behind(direct):
            found[name] = tuple(one for one in known[direct] if one != name)
    return found


def used_edges(depends_on: Edges, doing: Collection[str]) -> list[tuple[str, str]]:
    """Return the edges, as (later, earlier), by which what has something to do waits for other such, also indirectly.

    Parameters
    ----------
    depends_on : node, or group, to those it depends on.
    doing : those that have something to do.
    """
    active = frozenset(doing)
    graph = _graph({**dict.fromkeys(depends_on), **dict.fromkeys(chain.from_iterable(depends_on.values()))}, depends_on)
    order = _sorted_out(graph)
    leads, waits = [False] * len(graph.names), [False] * len(graph.names)
    for i in order:
        leads[i] = graph.names[i] in active or any(leads[other] for other in graph.edges[i])
    for i in reversed(order):
        waits[i] = waits[i] or graph.names[i] in active
        for other in graph.edges[i] if waits[i] else ():
            waits[other] = True
    return [
        (name, graph.names[other])
        for i, name in enumerate(graph.names)
        if waits[i]
        for other in graph.edges[i]
        if leads[other]
    ]


def find_node_cycles(nodes: Collection[str], depends_on: Edges) -> list[tuple[str, ...]]:
    """Return cycles that have no node in common, each with its first node repeated at the end; [] without a cycle."""
    return _cycles(_graph(nodes, depends_on)) if any(depends_on.values()) else []


@dataclass(frozen=True, slots=True)
class Submittable:
    """What stands with the nodes of a group that are to be deployed.

    Attributes
    ----------
    ready : may be submitted now, sorted.
    waiting : wait for a node that is not done yet: node to the first such node.
    held : will not be submitted: node to the reason, which names the node that failed.
    """

    ready: tuple[str, ...]
    waiting: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)


def submittable(
    to_do: Collection[str],
    depends_on: Edges,
    done: Collection[str],
    failed: Mapping[str, str],
    held_before: Mapping[str, str] | None = None,
) -> Submittable:
    """Tell which nodes may be submitted, which wait, and which are held for another's failure (rule 39).

    Parameters
    ----------
    to_do : nodes of the action that are not submitted yet, or are under way.
    depends_on : node to the nodes it depends on, without cycles.
    done : nodes that are done as wanted, by this action or before it.
    failed : nodes of which nothing more is to be expected, with the reason: failed, or outside the action and not done.
        Another name that is neither in `to_do` nor in `done` holds its dependants in the same way.
    held_before : other nodes of which nothing more is to be expected: node to the whole reason for its dependants.
    """
    waiting: dict[str, str] = {}
    known = dict(held_before or {})
    held: dict[str, str] = {}
    ready: list[str] = []
    candidates, finished = frozenset(to_do), frozenset(done)
    graph = _graph(candidates, depends_on)
    for name in (graph.names[i] for i in _in_order(graph)):
        others = [other for other in depends_on.get(name, ()) if other not in finished]
        reason = next((why for other in others if (why := _obstacle(other, candidates, failed, known))), None)
        if reason is not None:
            held[name] = known[name] = reason
        elif others:
            waiting[name] = others[0]
        else:
            ready.append(name)
    return Submittable(tuple(sorted(ready)), waiting, held)


def order_between_groups(members: Mapping[str, Collection[str]], depends_on: Edges) -> dict[str, frozenset[str]]:
    """Return which groups come before a group because of edges between their nodes (rule 39).

    Such an edge orders two groups, and passes no failure on. A node that is in both groups orders nothing.

    Parameters
    ----------
    members : group to its nodes.
    depends_on : node to the nodes it depends on.
    """
    if not any(depends_on.values()):
        return {}
    groups_of: defaultdict[str, list[str]] = defaultdict(list)
    for group, names in members.items():
        for name in names:
            groups_of[name].append(group)
    before: defaultdict[str, set[str]] = defaultdict(set)
    for name, others in depends_on.items():
        for group in groups_of.get(name, ()):
            for other in others:
                if other not in members[group]:
                    before[group].update(groups_of.get(other, ()))
    return {group: frozenset(others) for group, others in before.items() if others}


def check_order(
    groups: Edges, members: Mapping[str, Collection[str]], depends_on: Edges, others: Collection[str] = ()
) -> None:
    """Refuse an order that cannot be kept: cycles of nodes, and cycles through groups and nodes together (rule 39).

    Parameters
    ----------
    groups : group to the groups it depends on.
    members, depends_on : as in `order_between_groups`.
    others : nodes that may be in no group.

    Raises
    ------
    StrategyError : with the path of each cycle; where an edge between nodes is part of it, also with that edge.
    """
    nodes = dict.fromkeys([*others, *(name for names in members.values() for name in names)])
    problems = [_node_cycle(cycle) for cycle in find_node_cycles(nodes, depends_on)]
    # Nodes in no group do nothing, and pass the order on.
    depends_on = order_through({name: tuple(its) for name, its in depends_on.items()}, _NONE.union(*members.values()))
    before = order_between_groups(members, depends_on)
    order = {group: list(dict.fromkeys([*groups.get(group, ()), *sorted(before.get(group, ()))])) for group in members}
    for path in find_cycles(order).paths:
        because = [
            f"{group} comes after {other}, as {_edge_between(members[group], members[other], depends_on)}"
            for group, other in pairwise(path)
            if other not in groups.get(group, ())
        ]
        reasons = f" ({'; '.join(because)})" if because else ""
        problems.append(Problem("$.data.groups", f"groups that wait for each other: {' -> '.join(path)}{reasons}"))
    if problems:
        raise StrategyError(problems)


def _edge_between(later: Collection[str], earlier: Collection[str], depends_on: Edges) -> str:
    name, other = next(
        (name, other)
        for name in sorted(later)
        for other in sorted(depends_on.get(name, ()))
        if other in earlier and other not in later
    )
    return f"{name} depends on {other}"


def _node_cycle(cycle: Sequence[str]) -> Problem:
    return Problem("$.depends_on_nodes", f"nodes that depend on each other: {' -> '.join(cycle)}")


def _obstacle(other: str, candidates: frozenset[str], failed: Mapping[str, str], held: Mapping[str, str]) -> str | None:
    """Return why this dependency will not be done, None where it still may be."""
    if other in failed:
        return f"waits for {other}, which failed: {failed[other]}"
    if other in held:
        return held[other]
    return None if other in candidates else f"waits for {other}, which is not done as wanted, and not in this action"


@dataclass(frozen=True, slots=True)
class _Graph:
    """Nodes by their positions: `edges` has for each node the positions of those it depends on."""

    names: Sequence[str]
    edges: Sequence[Sequence[int]]


def _graph(nodes: Collection[str], depends_on: Edges) -> _Graph:
    position = {name: i for i, name in enumerate(dict.fromkeys(nodes))}
    edges: list[Sequence[int]] = [()] * len(position)
    for name, others in depends_on.items():
        if others and (i := position.get(name)) is not None:
            edges[i] = [place for other in others if (place := position.get(other)) is not None]
    return _Graph(list(position), edges)


def _in_order(graph: _Graph) -> list[int]:
    """Return all nodes, each after those it depends on."""
    order = _sorted_out(graph)
    if len(order) < len(graph.names):
        raise StrategyError(_node_cycle(cycle) for cycle in _cycles(graph))
    return order


def _cycles(graph: _Graph) -> list[tuple[str, ...]]:
    rest = set(range(len(graph.names))).difference(_sorted_out(graph))
    found: list[tuple[str, ...]] = []
    for start in sorted(rest, key=graph.names.__getitem__):
        path: dict[int, int] = {}
        i: int | None = start
        while i is not None and i in rest and i not in path:
            path[i] = len(path)
            i = next((other for other in graph.edges[i] if other in rest), None)
        if i is not None and i in path:
            cycle = [graph.names[each] for each in list(path)[path[i] :]]
            first = cycle.index(min(cycle))
            found.append((*cycle[first:], *cycle[: first + 1]))
            if len(found) == _MOST_CYCLES:
                break
        rest.difference_update(path)
    return sorted(found)


def _sorted_out(graph: _Graph) -> list[int]:
    """Return nodes, each after those it depends on; those in or behind a cycle are left out."""
    missing = [len(others) for others in graph.edges]
    needed_by: list[list[int] | None] = [None] * len(missing)
    for i, others in enumerate(graph.edges):
        for other in others:
            dependants = needed_by[other]
            if dependants is None:
                needed_by[other] = [i]
            else:
                dependants.append(i)
    order = [i for i, count in enumerate(missing) if not count]
    for i in order:
        for dependant in needed_by[i] or ():
            missing[dependant] -= 1
            if not missing[dependant]:
                order.append(dependant)
    return order
