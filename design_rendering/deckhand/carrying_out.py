"""Layering a document on its parent, and putting values of one into another: a step at a time, by Deckhand's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from design_rendering.deckhand.directives import Action, Destination, Method, Source
from design_rendering.deckhand.patterns import Pattern, replaced_below
from design_rendering.deckhand.secret_paths import SecretPaths
from design_rendering.reading.budget import Budget
from design_rendering.reading.nested_data import CONTAINERS, MISSING, CopyOnWrite, PlaceError, found_at, kind_of
from design_rendering.redaction import is_secret_at
from strategy_lib.errors import path_of

# What a mapping costs, in keys, besides its keys.
_PER_MAPPING = 10


class NotCarriedOut(Exception):
    """An action or a substitution cannot be carried out; `path` is below its own, the message says why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def carry_out(action: Action, own: Any, result: CopyOnWrite, secrets: SecretPaths, budget: Budget) -> None:
    """Carry out one action.

    Parameters
    ----------
    own : the document's own data, as written. `merge` and `replace` take from it.
    result : what is inherited from the parent, as the actions before have left it.

    Raises
    ------
    NotCarriedOut : when there is nothing at the action's path.
    """
    steps = action.steps
    shown = f".{path_of(steps).removeprefix('$').removeprefix('.')}"
    if action.method is Method.DELETE:
        if not steps:
            result.data = {}
            secrets.put((), None)
            return
        if found_at(result.data, steps) is MISSING:
            raise NotCarriedOut("", f"there is no {shown} to delete in what is inherited from the parent")
        del result.container(steps[:-1])[steps[-1]]
        secrets.remove(steps)
        return
    value = found_at({} if own is None else own, steps)
    if value is MISSING or value is None:
        message = f"there is no {shown} in the document's own data, from where it is taken to {action.method}"
        raise NotCarriedOut("", message)
    inherited = found_at(result.data, steps)
    if action.method is Method.MERGE and isinstance(value, dict) and isinstance(inherited, dict):
        secrets.merge(steps, value, inherited)
        _merge(result, result.container(steps), value, budget)
        return
    try:
        result.place(steps, value)
    except PlaceError as error:
        raise NotCarriedOut("", f"cannot be put into what is inherited from the parent: {error}") from None
    secrets.put(steps, None)


def _merge(result: CopyOnWrite, target: dict[str, Any], own: dict[str, Any], budget: Budget) -> None:
    """Merge a mapping over another, mappings in it too. All else, lists included, takes the place of what is there."""
    waiting = [(target, own)]
    while waiting:
        below, over = waiting.pop()
        budget.work(_PER_MAPPING + len(over) + len(below))
        for key, value in over.items():
            known = below.get(key)
            if isinstance(value, dict) and isinstance(known, dict):
                below[key] = known = result.own(known)
                waiting.append((known, value))
            else:
                below[key] = value


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken from a source: the value, which parts of it are secret (see SecretPaths.below), and warnings.

    A warning is a path below that of the source, and a message.
    """

    value: Any
    secret: Any
    warnings: tuple[tuple[str, str], ...] = ()


def take(source: Source, data: Any, secrets: SecretPaths, budget: Budget) -> Taken:
    """Take the value of a substitution from the rendered data of its source.

    Raises `NotCarriedOut` when there is none.
    """
    steps, warnings = source.steps, []
    if steps and data is not None and not isinstance(data, CONTAINERS):
        # Deckhand looks at the path only in a mapping.
        message = f"the data of {source.name!r} is {kind_of(data)}, and all of it is taken; write . to say so"
        steps, warnings = (), [(".path", message)]
    value = found_at(data, steps)
    if value is MISSING or value is None:
        there = "no data" if not steps else f"no .{path_of(steps).removeprefix('$').removeprefix('.')}"
        raise NotCarriedOut(".path", f"there is {there} in {source.schema} {source.name}")
    secret = secrets.below(steps)
    if is_secret_at(steps, value):
        secret = True
    if source.pattern is None:
        return Taken(value, secret, tuple(warnings))
    if not isinstance(value, str):
        message = f"a pattern takes a part of a text, and {path_of(steps)} of {source.name!r} is {kind_of(value)}"
        raise NotCarriedOut(".pattern", message)
    found = source.pattern.extracted(value, source.group, budget)
    if found is None:
        warnings.append((".pattern", f"does not fit the text in {source.name!r}; the whole text is taken"))
    return Taken(value if found is None else found, secret, tuple(warnings))


def put(
    destination: Destination, taken: Taken, result: CopyOnWrite, secrets: SecretPaths, budget: Budget
) -> str | None:
    """Put a value where a substitution wants it; return a warning, or None.

    Raises `NotCarriedOut` when it cannot be put there.
    """
    steps = destination.steps
    if destination.pattern is not None:
        return _put_for_pattern(destination, destination.pattern, taken, result, secrets, budget)
    if not steps and isinstance(taken.value, dict) and isinstance(result.data, dict):
        # Deckhand lays a mapping over all data; it does not take its place.
        for key, value in taken.value.items():
            result.place((key,), value)
            secrets.put((key,), taken.secret if taken.secret is True else (taken.secret or {}).get(key))
        return None
    _place(destination, taken.value, result)
    secrets.put(steps, taken.secret)
    return None


def _place(destination: Destination, value: Any, result: CopyOnWrite) -> None:
    try:
        result.place(destination.steps, value)
    except PlaceError as error:
        raise NotCarriedOut(".path", str(error)) from None


def _put_for_pattern(
    destination: Destination, pattern: Pattern, taken: Taken, result: CopyOnWrite, secrets: SecretPaths, budget: Budget
) -> str | None:
    steps = destination.steps
    text = found_at(result.data, steps)
    if isinstance(taken.value, CONTAINERS):
        message = f"a pattern is replaced by text, and what the source has there is {kind_of(taken.value)}"
        raise NotCarriedOut(".pattern", message)
    if destination.depth is not None and text is MISSING:
        _place(destination, {}, result)
        return f"there is nothing at {path_of(steps)}; an empty mapping is put there"
    if destination.depth is not None and isinstance(text, CONTAINERS):
        made, places = replaced_below(text, destination.depth, pattern, str(taken.value), budget)
        if not places:
            return (
                f"fits nothing in the texts below {path_of(steps)}, which stay as they are: with recurse only texts "
                "that hold the pattern as it is written are looked at"
            )
        result.put(steps, made)
        if taken.secret:
            secrets.add(steps, places, budget)
        return None
    if text is MISSING or not isinstance(text, str):
        what = "nothing" if text is MISSING else kind_of(text)
        raise NotCarriedOut(".path", f"there is {what} at {path_of(steps)}; a pattern needs a text there")
    changed, matches = pattern.replaced(text, str(taken.value), budget)
    if not matches:
        return f"fits nothing in the text at {path_of(steps)}, which stays as it is"
    result.put(steps, changed)
    if taken.secret:
        secrets.put(steps, True)
    return None
