"""Reading a strategy from plain data, with everything that makes it invalid at once (rules 1-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import InventoryError, Origin, Problem, StrategyError, extend, problem_at
from strategy_lib.node import NO_LABELS, NO_TAGS, Node, label_text
from strategy_lib.ordering import MOST_CYCLES, find_cycles
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.strategy import (
    Approval,
    ApprovalMoment,
    Group,
    Label,
    NodeChoice,
    Ready,
    Retries,
    Selector,
    Share,
    Strategy,
    SuccessCriteria,
)

_GROUPS = "$.data.groups"
_MOST_HINTS = 50
# Names of groups often end alike: compute-nodes is no misspelt control-nodes.
_ALIKE = 0.8
_OF_APPROVAL = ("approval_text", "approvers", "approval_timeout")
_Found = tuple[str, str]


def parse_strategy(data: object, document: Origin | None = None) -> Strategy:
    """Read a strategy from the `data` of its document.

    Raises `StrategyError` with every problem at once (rule 3), each with its path below `$.data`.
    """
    problems = strategy_problems(data, document)
    if problems:
        raise StrategyError(problems)
    assert isinstance(data, dict)
    return Strategy(tuple(_group(entry) for entry in data["groups"]))


def group_from_data(data: object) -> Group:
    """Read one group written by `group_to_data`. Its dependencies are not looked up.

    Raises `StrategyError` with every problem of its shape, each with its path.
    """
    problems = shape_problems({"groups": [data]})
    if problems:
        raise StrategyError(problems)
    return _group(data)


def parse_label(value: object) -> Label | None:
    """Read a label: "key: value", "key:value", or a mapping of one key (rule 2). None when it is not one.

    Everything after the first colon is the value; blanks around key and value do not count in a text. A mapping is
    taken as it is. Values that YAML reads as numbers or truth values are taken as their JSON text, here as in the
    labels of nodes: `true`, `7`.
    """
    if isinstance(value, str):
        key, colon, rest = value.partition(":")
        label = Label(key.strip(), rest.strip())
        return label if colon and label.key else None
    if isinstance(value, dict) and len(value) == 1:
        ((raw_key, raw_value),) = value.items()
        text = label_text(raw_value)
        if isinstance(raw_key, str) and raw_key.strip() and text is not None:
            return Label(raw_key, text)
    return None


def _group(entry: Any) -> Group:
    """Build a group from data that has been found valid."""
    criteria = entry.get("success_criteria")
    return Group(
        name=entry["name"],
        critical=entry["critical"],
        depends_on=tuple(entry["depends_on"]),
        selectors=tuple(_selector(selector) for selector in entry["selectors"]),
        # `int`: JSON has one kind of number, and 90.0 is as good as 90.
        criteria=None if criteria is None else SuccessCriteria(**{k: int(v) for k, v in criteria.items()}),
        release_failed=entry.get("release_failed", True),
        approval=_approval(entry),
        depends_on_nodes=node_choices(entry.get("depends_on_nodes", ())),
        retries=Retries(**{phase: int(number) for phase, number in entry.get("retries", {}).items()}),
        allow_redeploy=entry.get("allow_redeploy", False),
        max_unavailable=_share(entry.get("max_unavailable")),
        monitor=entry.get("monitor", True),
        ready=Ready(int(entry["ready"]["timeout"])) if "ready" in entry else None,
        max_in_flight=_share(entry.get("max_in_flight")),
        canary=_share(entry.get("canary")),
    )


def node_choices(entries: Sequence[Any]) -> tuple[NodeChoice, ...]:
    """Read a list of nodes to depend on, names and selectors, that has been found valid."""
    return tuple(entry if isinstance(entry, str) else _selector(entry) for entry in entries)


def _share(value: Any) -> Share | None:
    return None if value is None else Share.parse(value)


def _approval(entry: Any) -> Approval | None:
    if "approval" not in entry:
        return None
    timeout = entry.get("approval_timeout")
    return Approval(
        ApprovalMoment(entry["approval"]),
        entry.get("approval_text", ""),
        tuple(entry.get("approvers", ())),
        None if timeout is None else int(timeout),
    )


def _selector(entry: Any) -> Selector:
    labels = [parse_label(label) for label in entry.get("node_labels", ())]
    # Valid data has no others; dropping one could turn the selector into one for all nodes.
    assert None not in labels
    return Selector(
        node_names=tuple(entry.get("node_names", ())),
        node_tags=tuple(entry.get("node_tags", ())),
        node_labels=tuple(label for label in labels if label is not None),
        rack_names=tuple(entry.get("rack_names", ())),
    )


def choice_problems(value: object, path: str) -> list[Problem]:
    """Return what is wrong with a list of nodes to depend on that stands by itself; `path` is put before each."""
    group = {"name": "x", "critical": True, "depends_on": [], "selectors": [], "depends_on_nodes": value}
    here = extend(_GROUPS, 0, "depends_on_nodes")
    return [
        replace(problem, path=path + problem.path.removeprefix(here))
        for problem in strategy_problems({"groups": [group]})
    ]


def shape_problems(data: object, document: Origin | None = None) -> list[Problem]:
    """Return what is wrong with each part by itself: missing and unknown fields, wrong types, bad labels."""
    return check_data("deployment_strategy", data, document)


def strategy_problems(data: object, document: Origin | None = None) -> list[Problem]:
    """Return all that is wrong with a strategy (rule 3), in the order of the document."""
    problems = shape_problems(data, document)
    groups = data.get("groups") if isinstance(data, dict) else None
    if isinstance(groups, list):
        reported = {problem.path for problem in problems}
        # Groups with a broken shape take part as far as they can be read, so that nothing is found only later.
        found = [
            *(each for each in _label_problems(groups) if each[0] not in reported),
            *(each for each in _choice_problems(groups) if each[0] not in reported),
            *_approval_problems(groups),
            *_name_problems(groups),
            *_dependency_problems(groups),
            *_cycle_problems(groups),
        ]
        problems += [problem_at(path, message, document) for path, message in found]
        problems += [problem_at(path, message, document) for path, message in _default_problems(data, groups)]
    if document is not None:
        problems.sort(key=lambda problem: problem.line or 0)
    return problems


def _label_problems(groups: list[Any]) -> Iterator[_Found]:
    """Find labels without a visible key that pass the schema: Unicode and Python differ about blank characters.

    Such a label must never be dropped, for a selector that has lost its only criterion selects all nodes.
    """
    for position, group in enumerate(groups):
        for field in ("selectors", "depends_on_nodes"):
            for place, selector in enumerate(_list_in(group, field)):
                for index, label in enumerate(_list_in(selector, "node_labels")):
                    if _has_invisible_key(label):
                        path = extend(_GROUPS, position, field, place, "node_labels", index)
                        yield path, f"must be a label with a key that can be seen, not {label!r}"


def _choice_problems(groups: list[Any]) -> Iterator[_Found]:
    """Find selectors of `depends_on_nodes` in which nothing counts: each would stand for all nodes (rule 6)."""
    for position, group in enumerate(groups):
        for place, choice in enumerate(_list_in(group, "depends_on_nodes")):
            if isinstance(choice, dict) and not any(choice.values()):
                message = "must name a node, tag, label or rack: all nodes cannot wait for all nodes"
                yield extend(_GROUPS, position, "depends_on_nodes", place), message


def _approval_problems(groups: list[Any]) -> Iterator[_Found]:
    """Find what is said about an approval in groups that ask for none: nobody would be asked, against all intent."""
    for position, group in enumerate(groups):
        if isinstance(group, dict) and "approval" not in group:
            for name in _OF_APPROVAL:
                if name in group:
                    message = f"there is no approval that {name} could be for; add approval: before, or approval: after"
                    yield extend(_GROUPS, position, name), message


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
                alike = names if hints > 0 else ()
                hints -= 1
                hint = did_you_mean(other, alike, "name a group of this strategy", cutoff=_ALIKE)
                message = f"there is no group {other!r}; {hint}"
            seen.add(other)
            if message is not None:
                yield extend(_GROUPS, position, "depends_on", place), message


def _default_problems(data: object, groups: list[Any]) -> Iterator[_Found]:
    """Find a default group that is none of the groups."""
    default = data.get("default_group") if isinstance(data, dict) else None
    names = [name for _, name, _ in _named(groups)]
    if isinstance(default, str) and default and default not in names:
        hint = did_you_mean(default, names, "name a group of this strategy", cutoff=_ALIKE)
        yield "$.data.default_group", f"there is no group {default!r}; {hint}"


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


def nodes_from_inventory(inventory: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Return the nodes of a plain list: `[{"name": "n1", "tags": [], "labels": {"k": "v"}, "rack": "r1"}]`.

    Only `name` is required; `depends_on_nodes` names the nodes that one waits for.

    Raises `InventoryError` with every problem: wrong types, unknown fields, names that are there twice.
    """
    problems = check_data("node_inventory", inventory, root="$")
    if problems:
        raise InventoryError(problems)
    nodes: dict[str, Node] = {}
    tag_sets: dict[tuple[str, ...], frozenset[str]] = {(): NO_TAGS}
    texts: dict[tuple[Any, ...], Mapping[str, str]] = {(): NO_LABELS}
    for position, entry in enumerate(inventory):
        name = entry["name"]
        if name in nodes:
            message = f"there is already a node {name!r}; names must be unique"
            problems.append(Problem(extend("$", position, "name"), message))
        tags = tuple(entry.get("tags") or ())
        # Thousands of nodes have the same few tags and labels; one set serves them all.
        tag_set = tag_sets.get(tags)
        if tag_set is None:
            tag_set = tag_sets[tags] = frozenset(tags)
        labels = entry.get("labels") or {}
        # The types belong to it: 1 and true are equal, and have different texts.
        of_labels = (*labels.items(), *map(type, labels.values()))
        label_set = texts.get(of_labels)
        if label_set is None:
            label_set = texts[of_labels] = label_texts(labels)
        needed = tuple(entry.get("depends_on_nodes") or ())
        nodes[name] = Node(name, tag_set, label_set, entry.get("rack"), needed)
    if problems:
        raise InventoryError(problems)
    return list(nodes.values())


def label_texts(labels: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return labels with the text of each value."""
    if not labels:
        return NO_LABELS
    return {key: value if type(value) is str else str(label_text(value)) for key, value in labels.items()}
