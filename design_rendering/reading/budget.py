"""How large a rendered design may be and how much work it may make, so that no document can exhaust memory or time.

Few lines can ask for very much: documents that are put into one another twice over double in size with every one. What
is rendered has to be readable again, so that the bounds are those on what is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from design_rendering.reading.nested_data import CONTAINERS, inside_out
from design_rendering.reading.yaml_reader import Limits, TooMuchError

_LIMITS = Limits()
# Each value stands on a line of its own, more or less: a dash or colon, some indentation, the end of the line.
_PER_VALUE = 6
_MOST_STEPS = 30_000_000
_MOST_MATCHED = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Size:
    """How large a value is when all that is shared is written out: YAML nodes, characters, levels of nesting."""

    values: int
    characters: int
    height: int


class Sizes:
    """Measures values; a part that is shared is looked at once."""

    def __init__(self) -> None:
        self._done: set[int] = set()
        # With the value itself, so that its identity is not used again.
        self._known: dict[int, tuple[Any, Size]] = {}

    def of(self, value: Any) -> Size:
        """Return the size of a value, which must not change any more."""
        if not isinstance(value, CONTAINERS):
            return Size(1, _length(value), 0)
        known = self._known
        for container in inside_out(value, self._done):
            values, characters, height = 1 + len(container), 2, 0
            if isinstance(container, dict):
                values += len(container)
                characters += sum(map(len, container))
            for below in container.values() if isinstance(container, dict) else container:
                kind = type(below)
                if kind is str:
                    characters += len(below)
                elif kind is dict or kind is list:
                    size = known[id(below)][1]
                    values += size.values - 1
                    characters += size.characters
                    height = max(height, size.height)
                else:
                    characters += _length(below)
            known[id(container)] = (container, Size(values, characters, height + 1))
        return known[id(value)][1]


class Budget:
    """What is left of the bounds on one rendering."""

    def __init__(self) -> None:
        self.sizes = Sizes()
        self._values = _LIMITS.max_nodes
        self._characters = _LIMITS.max_bytes
        self._steps = _MOST_STEPS
        self._matched = _MOST_MATCHED

    def keep(self, value: Any) -> None:
        """Take rendered data into account.

        Raises `TooMuchError` when it is nested too deep, or all of it together is too large.
        """
        size = self.sizes.of(value)
        # The document and its `data` are two levels themselves.
        if size.height + 1 > _LIMITS.max_depth:
            raise TooMuchError(f"the rendered data is nested more than {_LIMITS.max_depth} deep")
        self._values -= size.values
        self._characters -= size.characters + _PER_VALUE * size.values
        if self._values < 0:
            raise TooMuchError(f"the rendered documents hold more than {_LIMITS.max_nodes} values")
        if self._characters < 0:
            raise TooMuchError(f"the rendered documents are larger than {_LIMITS.max_bytes} bytes")

    def fits(self, characters: int) -> None:
        """Refuse a text that could not be kept, before it is made."""
        if characters > self._characters:
            raise TooMuchError(f"the rendered documents are larger than {_LIMITS.max_bytes} bytes")

    def work(self, steps: int) -> None:
        """Take work into account."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError("rendering takes too long: there is too much to merge, again and again")

    def match(self, characters: int) -> None:
        """Take the looking for patterns into account."""
        self._matched -= characters
        if self._matched < 0:
            raise TooMuchError("rendering takes too long: the patterns have too much text to look through")


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        # Without writing it: that takes long for a long number.
        return value.bit_length() // 3 + 1
    return 24
