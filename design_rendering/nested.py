"""Looking into nested data: what is at a path, and every list and mapping once. Nothing here recurses or changes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from strategy_lib.json_path import Step

CONTAINERS = (dict, list)
MISSING: Any = object()


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
    root
        Where to begin.
    done
        Identities of those that are not wanted (again); the ones yielded are added.
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
