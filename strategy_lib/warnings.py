"""What deserves a second look in a strategy that is valid (rule 4). Warned about, never refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from strategy_lib.did_you_mean import Hints
from strategy_lib.errors import Origin, Problem, extend, problem_at
from strategy_lib.groups.node_order import empty_choices
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, members_of
from strategy_lib.strategy import Group, Selector, Strategy, SuccessCriteria

NO_GROUPS = "there are no groups: nothing would be deployed"


def group_count_problem(count: int, most: int | None) -> str | None:
    """Return why so many groups cannot be deployed, None if they can; `most` is Airflow's limit, None if not known."""
    if not count:
        return NO_GROUPS
    if most is None or count <= most:
        return None
    return f"there are {count} groups, and Airflow can map at most {most}: merge some, or raise [core] max_map_length"


_MOST_NAMED = 10

_Values = Callable[[Selector], Sequence[Any]]
_There = Callable[[NodeIndex], Collection[Any]]
# Criterion, how a message says that no node has a value, and what several are called.
_CRITERIA: tuple[tuple[str, _Values, _There, str, str], ...] = (
    ("node_names", lambda one: one.node_names, lambda index: index.names, "no node has the name", "names"),
    ("node_tags", lambda one: one.node_tags, lambda index: index.tags, "no node has the tag", "tags"),
    ("node_labels", lambda one: one.node_labels, lambda index: index.labels, "no node has the label", "labels"),
    ("rack_names", lambda one: one.rack_names, lambda index: index.racks, "no node is in a rack", "racks"),
)


def strategy_warnings(strategy: Strategy, nodes: Iterable[Node], document: Origin | None = None) -> list[Problem]:
    """Return the warnings of rule 4 on a valid strategy, in the order of its groups.

    Without any node nothing is said of what groups match: drafts have none. The document gives names and lines.
    """
    if not strategy.groups:
        return [problem_at("$.data.groups", NO_GROUPS, document, "warning")]
    index = NodeIndex(nodes)
    members = members_of(strategy, index) if index.names else None
    values = UnmatchedValues(index)
    found: list[tuple[str, str]] = []
    uncovered = set(index.names)
    for position, group in enumerate(strategy.groups):
        path = extend("$.data.groups", position)
        criteria = group.criteria
        if members is not None:
            found += _about_nodes(group, path, members[group.name], values)
            uncovered -= members[group.name]
        if group.critical and criteria in (None, SuccessCriteria()):
            message = f"critical group {group.name!r} has no success criteria: its own nodes can never make it fail"
            found.append((path, message))
    found += empty_choices(strategy, list(index.nodes))
    if uncovered:
        names = sorted(uncovered)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        shown = ", ".join(names[:_MOST_NAMED])
        found.append(("$.data.groups", f"in no group, so never deployed: {shown}{more}"))
    return [problem_at(path, message, document, "warning") for path, message in found]


def _about_nodes(group: Group, path: str, nodes: Collection[str], values: UnmatchedValues) -> Iterator[tuple[str, str]]:
    """Yield path and message of what is odd about the nodes of a group."""
    if nodes:
        yield from ((f"{path}.{where}", message) for where, message in values.of(group))
    else:
        nearest = values.nearest(group)
        yield f"{path}.selectors", f"group {group.name!r} matches no node" + (f": {nearest}" if nearest else "")
    minimum = group.criteria.minimum_successful_nodes if group.criteria is not None else None
    if minimum is not None and minimum > len(nodes):
        where = f"{path}.success_criteria.minimum_successful_nodes"
        has = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        yield where, f"group {group.name!r} can never succeed: it needs {minimum} and has {has}"


class UnmatchedValues:
    """Finds the values that no node of a site has, and the nearest ones that a node has."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._hints = Hints()
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
        return self._hints.of(value, self._written[criterion])
