"""Changing nested data that others share: every list and mapping is copied once, when it is first changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from design_rendering.reading.traversal import MISSING, found_at, kind_of
from strategy_lib.errors import Step, path_of

# Filling a list with empty entries up to an index is Deckhand's way; a mistyped index must not fill memory.
_MOST_FILLED = 100


class PlaceError(Exception):
    """A value cannot be put at a path; the message says why."""


class CopyOnWrite:
    """A version of some data that is being changed.

    What is put in is shared, not copied; it is copied when something inside it is changed. So a change costs what it
    touches, however large the whole is, and the data that it began with stays as it is.
    """

    __slots__ = ("_own", "data")

    def __init__(self, data: Any) -> None:
        self.data = data
        # The containers made here, by identity; kept, so that no identity is used twice.
        self._own: dict[int, Any] = {}

    def own(self, value: Any) -> Any:
        """Return a list or mapping that may be changed: the same if it was made here, else a copy."""
        if id(value) in self._own:
            return value
        copy = dict(value) if isinstance(value, dict) else list(value)
        self._own[id(copy)] = copy
        return copy

    def container(self, steps: Sequence[Step]) -> Any:
        """Return the list or mapping at these steps, which must be there, ready to be changed."""
        current = self.data = self.own(self.data)
        for step in steps:
            below = current[step] = self.own(current[step])
            current = below
        return current

    def put(self, steps: Sequence[Step], value: Any) -> None:
        """Put a value where there is one already."""
        if steps:
            self.container(steps[:-1])[steps[-1]] = value
        else:
            self.data = value

    def place(self, steps: Sequence[Step], value: Any) -> None:
        """Put a value at these steps, making the mappings and lists on the way that are missing or empty (null).

        A list is filled with empty mappings up to the index.

        Raises `PlaceError` when there is a value on the way that the next step does not fit.
        """
        if not steps:
            self.data = value
            return
        self.data = current = self._fitting(self.data, steps, 0)
        for depth, step in enumerate(steps[:-1], start=1):
            below = found_at(current, (step,))
            if below is MISSING:
                below = None
                self._fill(current, steps, depth)
            current[step] = current = self._fitting(below, steps, depth)
        self._fill(current, steps, len(steps))
        current[steps[-1]] = value

    def remove(self, steps: Sequence[Step]) -> None:
        """Remove what is at these steps, which must be there."""
        del self.container(steps[:-1])[steps[-1]]

    def _fitting(self, value: Any, steps: Sequence[Step], depth: int) -> Any:
        """Return the container that the step at `depth` needs, ready to be changed."""
        wanted: type = list if isinstance(steps[depth], int) else dict
        if value is None:
            return self.own(wanted())
        if not isinstance(value, wanted):
            place = path_of(steps[:depth])
            raise PlaceError(f"{place} is {kind_of(value)}, so that there is no {path_of(steps[: depth + 1])} in it")
        return self.own(value)

    def _fill(self, container: Any, steps: Sequence[Step], depth: int) -> None:
        """Make a list long enough for the step before `depth`."""
        step = steps[depth - 1]
        if not isinstance(step, int) or not isinstance(container, list):
            return
        missing = step + 1 - len(container)
        if missing > _MOST_FILLED:
            raise PlaceError(f"{path_of(steps[: depth - 1])} has only {len(container)} entries")
        container.extend({} for _ in range(missing))
