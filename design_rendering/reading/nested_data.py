"""Nested data: Deckhand's paths, what is at a path, every list and mapping once; changing what others share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from strategy_lib.errors import Step, path_of

CONTAINERS = (dict, list)
MISSING: Any = object()

_STEP = re.compile(
    r"\.?\[(?P<index>\d{1,9})\]|\.?\[(?P<q1>'[^']*'|\"[^\"]*\")\]|\.(?P<q2>'[^']*'|\"[^\"]*\")|\.(?P<name>[^\s.\[\]'\"*?()$@,|&]+)"
)
_MOST_STEPS = 64
_LONGEST = 2000


def found_at(data: Any, steps: Iterable[Step]) -> Any:
    """Return what is at these steps, MISSING where there is nothing. A number fits lists only, a text mappings only."""
    for step in steps:
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return MISSING
        elif not isinstance(data, dict) or step not in data:
            return MISSING
        data = data[step]
    return data


def items_of(value: Any) -> Iterable[tuple[Step, Any]]:
    """Return the steps from a list or mapping to what is directly in it."""
    return value.items() if isinstance(value, dict) else enumerate(value)


def inside_out(root: Any, done: set[int] | None = None) -> Iterator[Any]:
    """Yield every list and mapping once, those inside before those around them.

    Parameters
    ----------
    done : identities of those that are not wanted (again); the ones yielded are added.
    """
    done = set() if done is None else done
    stack = [root]
    while stack:
        value = stack[-1]
        if id(value) in done or not isinstance(value, CONTAINERS):
            stack.pop()
            continue
        below = value.values() if isinstance(value, dict) else value
        waiting = [child for child in below if isinstance(child, CONTAINERS) and id(child) not in done]
        if waiting:
            stack.extend(waiting)
        else:
            stack.pop()
            done.add(id(value))
            yield value


def kind_of(value: object) -> str:
    """Return what messages call a value: "a mapping", "text"."""
    if value is None:
        return "empty"
    for types, name in ((bool, "true or false"), (dict, "a mapping"), (list, "a list"), (str, "text")):
        if isinstance(value, types):
            return name
    return "a number"


def steps_of(path: str) -> tuple[Step, ...]:
    """Return the steps of a path from a document's `data`; none for `.` and `$`.

    Examples
    --------
    >>> steps_of(".chart.values[0].'odd.key'")
    ('chart', 'values', 0, 'odd.key')

    Raises
    ------
    ValueError : when it is no path, or one of the kinds that find several values.
    """
    if len(path) > _LONGEST:
        raise ValueError(f"is longer than {_LONGEST} characters")
    return _steps_of(path)


@lru_cache(maxsize=5000)
def _steps_of(path: str) -> tuple[Step, ...]:
    if path in (".", "$", "$."):
        return ()
    position = 1 if path.startswith("$") else 0
    if not path.startswith((".", "[", "$.", "$[")):
        raise ValueError(f"must begin with a dot, as in .{path}" if path else "must not be empty; write . for all data")
    steps: list[Step] = []
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(_why(path, position))
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["name"] is not None:
            steps.append(match["name"])
        else:
            steps.append((match["q1"] or match["q2"])[1:-1])
        position = match.end()
        if len(steps) > _MOST_STEPS:
            raise ValueError(f"has more than {_MOST_STEPS} steps")
    return tuple(steps)


def _why(path: str, position: int) -> str:
    rest = path[position : position + 20]
    several = next((sign for sign in ("..", "*", "?", ":", "|", "&", ",") if sign in rest), None)
    if several is not None:
        return f"{several!r} is not supported; write the path of one value, as in .a[0].b"
    return f"cannot be read from {rest!r} on; write a path as in .a[0].b, and odd keys in quotes, as in .a.'b.c'"


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
