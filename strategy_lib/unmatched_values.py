"""Values in selectors that no node has: misspellings that a good value beside them hides (rule 4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from strategy_lib.selectors import NodeIndex
from strategy_lib.strategy import Group, Selector

_MOST_NAMED = 10
# Looking for what is alike takes long among many names: about as many comparisons as take one second.
_MOST_COMPARED = 50_000
_LONGEST_ALIKE = 64
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
        near = [one for one in known if one.casefold() == value.casefold()]
        near = near or get_close_matches(value[:_LONGEST_ALIKE], known, 1, _ALIKE)
        return f"; did you mean {near[0]!r}?" if near else ""
