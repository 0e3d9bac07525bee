"""Which nodes wait for which (rule 39): the edges that groups and nodes name, and whether they can be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Problem, StrategyError, extend
from strategy_lib.groups.waves import check_order
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, members_of, resolve
from strategy_lib.strategy import NodeChoice, Strategy

_NO_ORDER: Mapping[str, tuple[str, ...]] = {}
# Looking for what is alike takes long among many names: about as many comparisons as take one second.
_MOST_COMPARED = 50_000


@dataclass(frozen=True, slots=True)
class OrderProblem:
    """A name that no node has, or a node that names itself.

    `node` is the node whose metadata names it, None for a group of the strategy; `path` is that in its document.
    """

    node: str | None
    path: str
    message: str


def has_order(strategy: Strategy, nodes: Iterable[Node]) -> bool:
    """Whether any node is to wait for another."""
    return any(group.depends_on_nodes for group in strategy.groups) or any(node.depends_on_nodes for node in nodes)


def node_edges(strategy: Strategy, nodes: Sequence[Node]) -> Mapping[str, tuple[str, ...]]:
    """Return for each node that waits for others their names, sorted: those of its groups and its own.

    The nodes that a group names do not wait for each other by that, and no node waits for itself. A name that no node
    has is left out: `order_problems` tells it.
    """
    if not has_order(strategy, nodes):
        return _NO_ORDER
    index = NodeIndex(nodes)
    members = members_of(strategy, index)
    known: dict[tuple[NodeChoice, ...], frozenset[str]] = {}
    lists: dict[str, set[tuple[NodeChoice, ...]]] = {}
    for group in strategy.groups:
        if group.depends_on_nodes:
            named = known.setdefault(group.depends_on_nodes, _chosen(group.depends_on_nodes, index))
            for name in members[group.name] - named:
                lists.setdefault(name, set()).add(group.depends_on_nodes)
    for node in nodes:
        if node.depends_on_nodes:
            if node.depends_on_nodes not in known:
                known[node.depends_on_nodes] = _chosen(node.depends_on_nodes, index)
            lists.setdefault(node.name, set()).add(node.depends_on_nodes)
    # Thousands of nodes wait for the same few: one tuple serves them all.
    shared: dict[frozenset[str], tuple[str, ...]] = {}
    edges: dict[str, tuple[str, ...]] = {}
    for name in sorted(lists):
        named = frozenset[str]().union(*(known[choices] for choices in lists[name])) - {name}
        if named:
            if named not in shared:
                shared[named] = tuple(sorted(named))
            edges[name] = shared[named]
    return edges


def order_problems(strategy: Strategy, nodes: Sequence[Node]) -> Iterator[OrderProblem]:
    """Yield each name in `depends_on_nodes` that no node has, and each node that names itself."""
    if not has_order(strategy, nodes):
        return
    names = {node.name for node in nodes}
    left = _MOST_COMPARED
    for position, group in enumerate(strategy.groups):
        path = extend("$.data.groups", position, "depends_on_nodes")
        for where, name in _unknown(group.depends_on_nodes, names, path):
            left -= len(names)
            yield OrderProblem(None, where, _no_node(name, names if left > 0 else ()))
    for node in nodes:
        path = "$.metadata.depends_on_nodes"
        for where, name in _unknown(node.depends_on_nodes, names, path):
            left -= len(names)
            yield OrderProblem(node.name, where, _no_node(name, names if left > 0 else ()))
        for place, choice in enumerate(node.depends_on_nodes):
            if choice == node.name:
                message = f"{node.name!r} depends on itself; name only other nodes"
                yield OrderProblem(node.name, extend(path, place), message)


def require_order(strategy: Strategy, nodes: Sequence[Node]) -> None:
    """Refuse an order of nodes that cannot be kept: unknown names, and cycles, also through groups (rule 39).

    Raises `StrategyError` with every problem; the path of one in a node's metadata begins with its name.
    """
    problems = [
        Problem(found.path if found.node is None else found.path.replace("$", found.node, 1), found.message)
        for found in order_problems(strategy, nodes)
    ]
    problems += order_cycles(strategy, nodes)
    if problems:
        raise StrategyError(problems)


def order_cycles(strategy: Strategy, nodes: Sequence[Node]) -> tuple[Problem, ...]:
    """Return each cycle of nodes, and through groups and nodes together, among the names that nodes have (rule 39)."""
    edges = node_edges(strategy, nodes)
    if not edges:
        return ()
    groups = {group.name: group.depends_on for group in strategy.groups}
    try:
        check_order(groups, resolve(strategy, nodes), edges, [node.name for node in nodes])
    except StrategyError as error:
        return tuple(error.problems)
    return ()


def empty_choices(strategy: Strategy, nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """Yield path and message of each selector in `depends_on_nodes` of a group that no node matches (rule 4)."""
    if not any(group.depends_on_nodes for group in strategy.groups):
        return
    index = NodeIndex(nodes)
    for position, group in enumerate(strategy.groups):
        for place, choice in enumerate(group.depends_on_nodes):
            if not isinstance(choice, str) and not index.select((choice,)):
                where = extend("$.data.groups", position, "depends_on_nodes", place)
                yield where, f"group {group.name!r} waits for nodes that do not exist: this selector matches none"


def _chosen(choices: Sequence[NodeChoice], index: NodeIndex) -> frozenset[str]:
    names = index.names.intersection(choice for choice in choices if isinstance(choice, str))
    selectors = [choice for choice in choices if not isinstance(choice, str)]
    return names | index.select(selectors) if selectors else names


def _unknown(choices: Sequence[NodeChoice], names: set[str], path: str) -> Iterator[tuple[str, str]]:
    for place, choice in enumerate(choices):
        if isinstance(choice, str):
            if choice not in names:
                yield extend(path, place), choice
            continue
        for number, name in enumerate(choice.node_names):
            if name not in names:
                yield extend(path, place, "node_names", number), name


def _no_node(name: str, known: Iterable[str]) -> str:
    return f"there is no node {name!r}; {did_you_mean(name, list(known), 'name a node of this site')}"
