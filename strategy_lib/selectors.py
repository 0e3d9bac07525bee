"""Resolving the selectors of a strategy to nodes (rules 5-7). Inverted indexes keep it linear in what is matched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from strategy_lib.node import Node
from strategy_lib.strategy import Label, Selector, Strategy

K = TypeVar("K", bound=Hashable)


def resolve(strategy: Strategy, nodes: Iterable[Node]) -> dict[str, frozenset[str]]:
    """Return for each group, in document order, the names of its nodes (rules 5-7)."""
    return members_of(strategy, NodeIndex(nodes))


def members_of(strategy: Strategy, index: NodeIndex) -> dict[str, frozenset[str]]:
    """Return for each group, in document order, the names of its nodes among those of an index."""
    return {group.name: index.select(group.selectors) for group in strategy.groups}


class NodeIndex:
    """All nodes of a site, ready to be asked which of them a group's selectors match."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {node.name: node for node in nodes}
        self.names: frozenset[str] = frozenset(self._nodes)
        self._by_tag: Mapping[str, set[str]] | None = None
        self._by_label: Mapping[Label, set[str]] | None = None
        self._by_rack: Mapping[str, set[str]] | None = None

    def select(self, selectors: Sequence[Selector]) -> frozenset[str]:
        """Return the names of the nodes that these selectors match.

        Inside one criterion any value will do; between the criteria of a selector all must match; several
        selectors are a union (rule 5). No selectors, or one without criteria, means all nodes (rule 6).
        """
        if not selectors or any(selector.is_all for selector in selectors):
            return self.names
        if len(selectors) == 1:
            return frozenset(self._select_one(selectors[0]))
        return frozenset[str]().union(*(self._select_one(selector) for selector in selectors))

    def _select_one(self, selector: Selector) -> set[str]:
        matches: list[set[str]] = []
        if selector.node_names:
            matches.append({name for name in selector.node_names if name in self._nodes})
        if selector.rack_names:
            matches.append(_union(self._racks(), selector.rack_names))
        if selector.node_tags:
            matches.append(_union(self._tags(), selector.node_tags))
        if selector.node_labels:
            matches.append(_union(self._labels(), selector.node_labels))
        matches.sort(key=len)
        return matches[0].intersection(*matches[1:])

    @property
    def nodes(self) -> Collection[Node]:
        """All of them."""
        return self._nodes.values()

    @property
    def tags(self) -> Collection[str]:
        """Every tag that a node has."""
        return self._tags().keys()

    @property
    def labels(self) -> Collection[Label]:
        """Every label that a node has."""
        return self._labels().keys()

    @property
    def racks(self) -> Collection[str]:
        """Every rack that a node is in."""
        return self._racks().keys()

    # Each index is built when a selector first needs it: most strategies use one or two kinds of criteria.

    def _tags(self) -> Mapping[str, set[str]]:
        if self._by_tag is None:
            self._by_tag = _invert((tag, name) for name, node in self._nodes.items() for tag in node.tags)
        return self._by_tag

    def _labels(self) -> Mapping[Label, set[str]]:
        if self._by_label is None:
            self._by_label = _invert(
                (Label(*item), name) for name, node in self._nodes.items() for item in node.labels.items()
            )
        return self._by_label

    def _racks(self) -> Mapping[str, set[str]]:
        if self._by_rack is None:
            self._by_rack = _invert((node.rack, name) for name, node in self._nodes.items() if node.rack is not None)
        return self._by_rack


def _invert(pairs: Iterable[tuple[K, str]]) -> Mapping[K, set[str]]:
    index: defaultdict[K, set[str]] = defaultdict(set)
    for key, name in pairs:
        index[key].add(name)
    return index


def _union(index: Mapping[K, set[str]], keys: Iterable[K]) -> set[str]:
    return set[str]().union(*(index[key] for key in keys if key in index))
