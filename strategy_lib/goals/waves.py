"""The order of nodes: waves for people, what may be submitted now, what is held, and the reverse for removal.

An edge `a: [b]` reads "a depends on b": b is deployed before a (rules 39 and 40). Each function takes time linear in
nodes and edges, apart from sorting names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from strategy_lib.errors import Problem, StrategyError

Edges = Mapping[str, Collection[str]]
_MOST_CYCLES = 20


def waves(nodes: Collection[str], to_do: Collection[str], depends_on: Edges) -> list[list[str]]:
    """Sort nodes into waves, each node as early as possible after all it depends on.

    Parameters
    ----------
    nodes
        All nodes that dependencies may lead through. Other names in `depends_on` are ignored.
    to_do
        Those that have something to do: only they are in a wave. The others pass the order on.
    depends_on
        Node to the nodes it depends on.

    Returns
    -------
    list of list of str
        The waves in order, names sorted.

    Raises
    ------
    StrategyError
        When there is a cycle, with its path, also among nodes that have nothing to do.
    """
    doing = frozenset(to_do)
    level: dict[str, int] = {}
    result: list[list[str]] = []
    edges = _known_edges(nodes, depends_on)
    for name in _in_order(dict.fromkeys(nodes), edges):
        earliest = max((level[other] for other in edges.get(name, ())), default=0)
        if name in doing:
            if earliest == len(result):
                result.append([])
            result[earliest].append(name)
            earliest += 1
        level[name] = earliest
    for wave in result:
        wave.sort()
    return result


def removal_waves(nodes: Collection[str], to_remove: Collection[str], depends_on: Edges) -> list[list[str]]:
    """Sort nodes that are destroyed into waves: dependants before what they depend on (rule 40).

    The parameters and what is raised are those of `waves`.
    """
    reverse: defaultdict[str, list[str]] = defaultdict(list)
    for name, others in _known_edges(nodes, depends_on).items():
        for other in others:
            reverse[other].append(name)
    return waves(nodes, to_remove, reverse)


def find_node_cycles(nodes: Collection[str], depends_on: Edges) -> list[tuple[str, ...]]:
    """Return cycles that have no node in common, each with its first node repeated at the end; [] without a cycle."""
    edges = _known_edges(nodes, depends_on)
    rest = _left_over(nodes, edges)
    found: list[tuple[str, ...]] = []
    for start in sorted(rest):
        path: dict[str, int] = {}
        name: str | None = start
        while name is not None and name in rest and name not in path:
            path[name] = len(path)
            name = next((other for other in edges.get(name, ()) if other in rest), None)
        if name is not None and name in path:
            cycle = list(path)[path[name] :]
            first = cycle.index(min(cycle))
            found.append((*cycle[first:], *cycle[: first + 1]))
            if len(found) == _MOST_CYCLES:
                break
        rest.difference_update(path)
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Submittable:
    """What stands with the nodes of a group that are to be deployed.

    Attributes
    ----------
    ready
        May be submitted now, sorted.
    waiting
        Wait for a node that is not done yet: node to the first such node.
    held
        Will not be submitted: node to the reason, which names the node that failed.
    """

    ready: tuple[str, ...]
    waiting: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)


def submittable(
    to_do: Collection[str], depends_on: Edges, done: Collection[str], failed: Mapping[str, str]
) -> Submittable:
    """Tell which nodes may be submitted, which wait, and which are held for another's failure (rule 39).

    Parameters
    ----------
    to_do
        Nodes of the action that are not submitted yet, or are under way.
    depends_on
        Node to the nodes it depends on, without cycles.
    done
        Nodes that are done as wanted, by this action or before it.
    failed
        Nodes of which nothing more is to be expected, with the reason: failed, or outside the action and not done.
        Another name that is neither in `to_do` nor in `done` holds its dependants in the same way.
    """
    waiting: dict[str, str] = {}
    held: dict[str, str] = {}
    ready: list[str] = []
    candidates, finished = frozenset(to_do), frozenset(done)
    edges = {name: tuple(depends_on.get(name, ())) for name in candidates}
    for name in _in_order(candidates, _known_edges(candidates, edges)):
        others = [other for other in edges[name] if other not in finished]
        reason = next((why for other in others if (why := _obstacle(other, candidates, failed, held))), None)
        if reason is not None:
            held[name] = reason
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
    members
        Group to its nodes.
    depends_on
        Node to the nodes it depends on.
    """
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


def _obstacle(other: str, candidates: frozenset[str], failed: Mapping[str, str], held: Mapping[str, str]) -> str | None:
    """Return why this dependency will not be done, None where it still may be."""
    if other in failed:
        return f"waits for {other}, which failed: {failed[other]}"
    if other in held:
        return held[other]
    return None if other in candidates else f"waits for {other}, which is not done as wanted, and not in this action"


def _known_edges(nodes: Collection[str], depends_on: Edges) -> dict[str, tuple[str, ...]]:
    known = nodes if isinstance(nodes, set | frozenset | dict) else frozenset(nodes)
    return {
        name: tuple(other for other in others if other in known)
        for name, others in depends_on.items()
        if name in known and others
    }


def _in_order(nodes: Collection[str], edges: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return all nodes, each after those it depends on."""
    order = list(_sorted_out(nodes, edges))
    if len(order) < len(nodes):
        cycles = find_node_cycles(nodes, edges)
        raise StrategyError(
            Problem("$.depends_on_nodes", f"nodes that depend on each other: {' -> '.join(cycle)}") for cycle in cycles
        )
    return order


def _left_over(nodes: Collection[str], edges: Mapping[str, tuple[str, ...]]) -> set[str]:
    return set(nodes).difference(_sorted_out(nodes, edges))


def _sorted_out(nodes: Collection[str], edges: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield nodes whose dependencies have been yielded; those in or behind a cycle never are."""
    missing = {name: len(others) for name, others in edges.items()}
    needed_by: defaultdict[str, list[str]] = defaultdict(list)
    for name, others in edges.items():
        for other in others:
            needed_by[other].append(name)
    ready = [name for name in nodes if not missing.get(name)]
    while ready:
        name = ready.pop()
        yield name
        for dependant in needed_by.get(name, ()):
            missing[dependant] -= 1
            if missing[dependant] == 0:
                ready.append(dependant)
