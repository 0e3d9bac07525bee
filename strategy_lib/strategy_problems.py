"""Everything that makes a strategy invalid, all at once (rule 3). It only finds; `strategy.py` reads and raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.json_path import extend
from strategy_lib.ordering import MOST_CYCLES, find_cycles
from strategy_lib.schema_check import check_data

_GROUPS = "$.data.groups"
_MOST_HINTS = 50
_LONGEST_ALIKE = 64
# Names of groups often end alike: compute-nodes is no misspelt control-nodes.
_ALIKE = 0.8
_Found = tuple[str, str]


def shape_problems(data: object, document: Document | None = None) -> list[Problem]:
    """Return what is wrong with each part by itself: missing and unknown fields, wrong types, bad labels."""
    return check_data("deployment_strategy", data, document)


def strategy_problems(data: object, document: Document | None = None) -> list[Problem]:
    """Return all that is wrong with a strategy (rule 3), in the order of the document."""
    problems = shape_problems(data, document)
    groups = data.get("groups") if isinstance(data, dict) else None
    if isinstance(groups, list):
        reported = {problem.path for problem in problems}
        # Groups with a broken shape take part as far as they can be read, so that nothing is found only later.
        found = [
            *(each for each in _label_problems(groups) if each[0] not in reported),
            *_name_problems(groups),
            *_dependency_problems(groups),
            *_cycle_problems(groups),
        ]
        problems += _to_problems(found, document)
    if document is not None:
        problems.sort(key=lambda problem: problem.line or 0)
    return problems


def _to_problems(found: Iterable[_Found], document: Document | None) -> list[Problem]:
    return [
        document.problem(path, message) if document is not None else Problem(path, message) for path, message in found
    ]


def _label_problems(groups: list[Any]) -> Iterator[_Found]:
    """Find labels that pass the schema and are none all the same: Unicode and Python differ about blank characters.

    Such a label must never be dropped, for a selector that has lost its only criterion selects all nodes.
    """
    for position, group in enumerate(groups):
        for place, selector in enumerate(_list_in(group, "selectors")):
            for index, label in enumerate(_list_in(selector, "node_labels")):
                if _has_invisible_key(label):
                    path = extend(_GROUPS, position, "selectors", place, "node_labels", index)
                    yield path, f"must be a label with a key that can be seen, not {label!r}"


def _has_invisible_key(label: object) -> bool:
    if isinstance(label, str):
        key, colon, _ = label.partition(":")
        return bool(colon) and not key.strip()
    return isinstance(label, dict) and any(isinstance(key, str) and not key.strip() for key in label)


def _list_in(part: object, field: str) -> list[Any]:
    """Return the list under a field, an empty one where there is none."""
    value = part.get(field) if isinstance(part, dict) else None
    return value if isinstance(value, list) else []


def _named(groups: list[Any]) -> Iterator[tuple[int, str, list[Any]]]:
    """Yield position, name and dependencies of every group that has a name."""
    for position, group in enumerate(groups):
        if isinstance(group, dict) and isinstance(group.get("name"), str) and group["name"]:
            yield position, group["name"], _list_in(group, "depends_on")


def _name_problems(groups: list[Any]) -> Iterator[_Found]:
    first: dict[str, int] = {}
    for position, name, _ in _named(groups):
        if first.setdefault(name, position) != position:
            message = f"the name {name!r} is already taken by {extend(_GROUPS, first[name])}; names must be unique"
            yield extend(_GROUPS, position, "name"), message


def _dependency_problems(groups: list[Any]) -> Iterator[_Found]:
    names = {name for _, name, _ in _named(groups)}
    hints = _MOST_HINTS
    for position, name, depends_on in _named(groups):
        seen: set[str] = set()
        for place, other in enumerate(depends_on):
            if not isinstance(other, str) or not other:
                continue
            message = None
            if other in seen:
                message = f"{other!r} is listed twice; once is enough"
            elif other == name:
                message = f"{name!r} depends on itself; name only other groups"
            elif other not in names:
                # Looking for what is alike takes long among many names.
                near = get_close_matches(other[:_LONGEST_ALIKE], names, 1, _ALIKE) if hints > 0 else []
                hints -= 1
                hint = f"did you mean {near[0]!r}?" if near else "name a group of this strategy"
                message = f"there is no group {other!r}; {hint}"
            seen.add(other)
            if message is not None:
                yield extend(_GROUPS, position, "depends_on", place), message


def _cycle_problems(groups: list[Any]) -> Iterator[_Found]:
    place: dict[str, tuple[int, list[Any]]] = {}
    for position, name, depends_on in _named(groups):
        place.setdefault(name, (position, depends_on))
    cycles = find_cycles(
        {
            name: list(dict.fromkeys(other for other in depends_on if isinstance(other, str)))
            for name, (_, depends_on) in place.items()
        }
    )
    for cycle in cycles.paths:
        position, depends_on = place[cycle[0]]
        path = extend(_GROUPS, position, "depends_on", depends_on.index(cycle[1]))
        yield path, f"groups depend on each other in a cycle: {' -> '.join(cycle)}; remove one of these dependencies"
    if cycles.cut:
        yield _GROUPS, f"there are more cycles of groups; only the first {MOST_CYCLES} are listed"
