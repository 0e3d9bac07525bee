"""Looking into nested data: Deckhand's paths, what is at a path, every list and mapping once. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from strategy_lib.errors import Step

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
