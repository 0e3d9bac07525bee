"""Changing nested data that others share: every list and mapping is copied once, when it is first changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from strategy_lib.json_path import Step

MISSING: Any = object()


def value_at(data: Any, steps: Iterable[Step]) -> Any:
    """Return what is at these steps; None where that is nothing at all."""
    found = found_at(data, steps)
    return None if found is MISSING else found


def found_at(data: Any, steps: Iterable[Step]) -> Any:
    """Return what is at these steps, MISSING where there is nothing. A step that is a number fits lists only."""
    for step in steps:
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return MISSING
        elif not isinstance(data, dict) or step not in data:
            return MISSING
        data = data[step]
    return data


class Draft:
    """A version of some data that is being changed.

    What is put in is shared, not copied; it is copied when something inside it is changed. So a change costs what it
    touches, however large the whole is.
    """

    __slots__ = ("_own", "data")

    def __init__(self, data: Any) -> None:
        self.data = data
        # The containers made here, by identity; kept, so that no identity is used twice.
        self._own: dict[int, Any] = {}

    def container(self, steps: Sequence[Step]) -> Any:
        """Return the list or mapping at these steps, which must be there, ready to be changed."""
        current = self.data = self._owned(self.data)
        for step in steps:
            below = current[step]
            current[step] = below = self._owned(below)
            current = below
        return current

    def put(self, steps: Sequence[Step], value: Any) -> None:
        """Put a value at these steps; all but the last must be there."""
        if not steps:
            self.data = value
            return
        self.container(steps[:-1])[steps[-1]] = value

    def _owned(self, value: Any) -> Any:
        if id(value) in self._own:
            return value
        copy = dict(value) if isinstance(value, dict) else list(value)
        self._own[id(copy)] = copy
        return copy
