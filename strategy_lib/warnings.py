"""What deserves a second look in a strategy that is valid (rule 4). Warned about, never refused."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from strategy_lib.criteria import SuccessCriteria
from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.json_path import extend
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, members_of
from strategy_lib.strategy import Strategy
from strategy_lib.unmatched_values import UnmatchedValues

NO_GROUPS = "there are no groups: nothing would be deployed"
_NAMED = 10


def strategy_warnings(
    strategy: Strategy,
    members: Mapping[str, Collection[str]],
    all_nodes: Collection[str],
    document: Document | None = None,
    index: NodeIndex | None = None,
) -> list[Problem]:
    """Return the warnings of rule 4 in the order of the groups, each of level "warning".

    Parameters
    ----------
    strategy
        A valid strategy.
    members
        Names of each group's nodes.
    all_nodes
        Names of all nodes of the site.
    document
        Where the strategy comes from, for names and lines.
    index
        All nodes of the site. Without it nothing is said of the values in selectors.
    """
    values = UnmatchedValues(index) if index is not None else None
    found: list[tuple[str, str]] = []
    uncovered = set(all_nodes)
    for position, group in enumerate(strategy.groups):
        path = extend("$.data.groups", position)
        nodes = members.get(group.name, ())
        uncovered.difference_update(nodes)
        criteria = group.criteria
        if not nodes:
            nearest = values.nearest(group) if values is not None else None
            message = f"group {group.name!r} matches no node" + (f": {nearest}" if nearest else "")
            found.append((f"{path}.selectors", message))
        elif values is not None:
            found += [(f"{path}.{where}", message) for where, message in values.of(group)]
        minimum = criteria.minimum_successful_nodes if criteria is not None else None
        if minimum is not None and minimum > len(nodes):
            where = f"{path}.success_criteria.minimum_successful_nodes"
            nodes_text = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
            found.append((where, f"group {group.name!r} can never succeed: it needs {minimum} and has {nodes_text}"))
        if group.critical and (criteria is None or _asks_for_nothing(criteria)):
            message = f"critical group {group.name!r} has no success criteria: its own nodes can never make it fail"
            found.append((path, message))
    if uncovered:
        names = sorted(uncovered)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        shown = ", ".join(names[:_NAMED])
        found.append(("$.data.groups", f"in no group, so never deployed: {shown}{more}"))
    return [
        Problem(
            path,
            message,
            document.line_of(path) if document is not None else None,
            document.label if document is not None else None,
            level="warning",
            source=document.source if document is not None else None,
        )
        for path, message in found
    ]


def draft_warnings(strategy: Strategy, nodes: Sequence[Node], document: Document | None = None) -> list[Problem]:
    """Return the warnings of rule 4, those about nodes only where nodes are known; and one if there are no groups."""
    if not strategy.groups:
        if document is None:
            return [Problem("$.data.groups", NO_GROUPS, level="warning")]
        return [replace(document.problem("$.data.groups", NO_GROUPS), level="warning")]
    if not nodes:
        return strategy_warnings(strategy, {group.name: _AnyNumber() for group in strategy.groups}, (), document)
    index = NodeIndex(nodes)
    return strategy_warnings(strategy, members_of(strategy, index), index.names, document, index)


class _AnyNumber(Collection[str]):
    """Stands for the nodes of a group while no nodes are known: there may be any number of them."""

    def __len__(self) -> int:
        return sys.maxsize

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __contains__(self, name: object) -> bool:
        return False


def _asks_for_nothing(criteria: SuccessCriteria) -> bool:
    return criteria == SuccessCriteria()
