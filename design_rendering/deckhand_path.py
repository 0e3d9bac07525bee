"""The paths of layering and substitution, as far as Deckhand's sites use them: `.`, `.a.b`, `.a[0].b`, `.a.'b.c'`."""

from __future__ import annotations

import re
from functools import lru_cache

from strategy_lib.json_path import Step

_STEP = re.compile(
    r"\.?\[(?P<index>\d{1,9})\]|\.?\[(?P<q1>'[^']*'|\"[^\"]*\")\]|\.(?P<q2>'[^']*'|\"[^\"]*\")|\.(?P<name>[^\s.\[\]'\"*?()$@,|&]+)"
)
_MOST_STEPS = 64
_LONGEST = 2000


class PathError(ValueError):
    """A path cannot be used; the message says why."""


def steps_of(path: str) -> tuple[Step, ...]:
    """Return the steps of a path from a document's `data`; none for `.` and `$`.

    Examples
    --------
    >>> steps_of(".chart.values[0].'odd.key'")
    ('chart', 'values', 0, 'odd.key')

    Raises
    ------
    PathError
        When it is no path, or one of the kinds that find several values.
    """
    if len(path) > _LONGEST:
        raise PathError(f"is longer than {_LONGEST} characters")
    return _steps_of(path)


@lru_cache(maxsize=5000)
def _steps_of(path: str) -> tuple[Step, ...]:
    if path in (".", "$", "$."):
        return ()
    position = 1 if path.startswith("$") else 0
    if not path.startswith((".", "[", "$.", "$[")):
        raise PathError(f"must begin with a dot, as in .{path}" if path else "must not be empty; write . for all data")
    steps: list[Step] = []
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise PathError(_why(path, position))
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["name"] is not None:
            steps.append(match["name"])
        else:
            steps.append((match["q1"] or match["q2"])[1:-1])
        position = match.end()
        if len(steps) > _MOST_STEPS:
            raise PathError(f"has more than {_MOST_STEPS} steps")
    return tuple(steps)


def _why(path: str, position: int) -> str:
    rest = path[position : position + 20]
    several = next((sign for sign in ("..", "*", "?", ":", "|", "&", ",") if sign in rest), None)
    if several is not None:
        return f"{several!r} is not supported; write the path of one value, as in .a[0].b"
    return f"cannot be read from {rest!r} on; write a path as in .a[0].b, and odd keys in quotes, as in .a.'b.c'"
