"""JSON paths as people read them: `$.data.groups[2].depends_on[0]`. Writing and splitting, no evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable

Step = str | int

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)


def extend(path: str, *steps: Step) -> str:
    """Return `path` with keys and list positions added.

    Examples
    --------
    >>> extend("$.data", "groups", 2, "odd key")
    "$.data.groups[2]['odd key']"
    """
    parts = [path]
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}")
        else:
            escaped = step.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"['{escaped}']")
    return "".join(parts)


def path_of(steps: Iterable[Step]) -> str:
    """Return the path of these steps from the root `$`."""
    return extend("$", *steps)


def split(path: str) -> tuple[Step, ...]:
    """Return the steps of a path made by `extend`; what cannot be read ends the steps early."""
    steps: list[Step] = []
    position = 1 if path.startswith("$") else 0
    while match := _STEP.match(path, position):
        plain, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index))
        elif plain is not None:
            steps.append(plain)
        else:
            steps.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        position = match.end()
    return tuple(steps)
