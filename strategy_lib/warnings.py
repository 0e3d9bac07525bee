"""What deserves a second look in a strategy that is valid (rule 4). Warned about, never refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from strategy_lib.criteria import SuccessCriteria
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Origin, Problem, problem_at
from strategy_lib.json_path import extend
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, members_of
from strategy_lib.strategy import Group, Selector, Strategy

NO_GROUPS = "there are no groups: nothing would be deployed"


def group_count_problem(count: int, most: int | None) -> str | None:
    """Return why so many groups cannot be deployed, None if they can; `most` is Airflow's limit, None if not known."""
    if not count:
        return NO_GROUPS
    if most is None or count <= most:
        return None
    return f"there are {count} groups, and Airflow can map at most {most}: merge some, or raise [core] max_map_length"


_NAMED = 10

_MOST_NAMED = 10
# Looking for what is alike takes long among many names: about as many comparisons as take one second.
_MOST_COMPARED = 50_000
_ALIKE = 0.7

_Values = Callable[[Selector], Sequence[Any]]
_There = Callable[[NodeIndex], Collection[Any]]
# Criterion, how a message says that no node has a value, and what several are called.
_CRITERIA: tuple[tuple[str, _Values, _There, str, str], ...] = (
    ("node_names", lambda one: one.node_names, lambda index: index.names, "no node has the name", "names"),
    ("node_tags", lambda one: one.node_tags, lambda index: index.tags, "no node has the tag", "tags"),
    ("node_labels", lambda one: one.node_labels, lambda index: index.labels, "no node has the label", "labels"),
    ("rack_names", lambda one: one.rack_names, lambda index: index.racks, "no node is in a rack", "racks"),
)


def strategy_warnings(
    strategy: Strategy,
    members: Mapping[str, Collection[str]],
    all_nodes: Collection[str],
    document: Origin | None = None,
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
    return [problem_at(path, message, document, "warning") for path, message in found]


def draft_warnings(strategy: Strategy, nodes: Sequence[Node], document: Origin | None = None) -> list[Problem]:
    """Return the warnings of rule 4, those about nodes only where nodes are known; and one if there are no groups."""
    if not strategy.groups:
        return [problem_at("$.data.groups", NO_GROUPS, document, "warning")]
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


class UnmatchedValues:
    """Finds the values that no node of a site has, and the nearest ones that a node has."""

    __slots__ = ("_index", "_left", "_written")

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._left = _MOST_COMPARED
        # What nodes have, as it is written, by criterion: made when a value is first looked for.
        self._written: dict[str, list[str]] = {}

    def of(self, group: Group) -> Iterator[tuple[str, str]]:
        """Yield path below the group and message of each such value; of many in one criterion, the first ten."""
        for place, selector in enumerate(group.selectors):
            for criterion, values, there, words, several in _CRITERIA:
                has = there(self._index) if values(selector) else ()
                lost = [(number, value) for number, value in enumerate(values(selector)) if value not in has]
                for number, value in lost[:_MOST_NAMED]:
                    message = f"{words} {str(value)!r}{self._hint(criterion, there, str(value))}"
                    if number == lost[min(len(lost), _MOST_NAMED) - 1][0] and len(lost) > _MOST_NAMED:
                        message += f", and {len(lost) - _MOST_NAMED} more {several} here match nothing"
                    yield f"selectors[{place}].{criterion}[{number}]", message

    def nearest(self, group: Group) -> str | None:
        """Return what is wrong with the first of these values that is nearly one that a node has; None without any."""
        return next((message for _, message in self.of(group) if "; did you mean" in message), None)

    def _hint(self, criterion: str, there: _There, value: str) -> str:
        if criterion not in self._written:
            self._written[criterion] = sorted(str(one) for one in there(self._index))
        known = self._written[criterion]
        self._left -= len(known)
        if self._left < 0:
            return ""
        hint = did_you_mean(value, known, "", cutoff=_ALIKE)
        return f"; {hint}" if hint else ""
