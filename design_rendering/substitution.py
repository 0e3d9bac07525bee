"""Putting values of one document into another: one substitution at a time, by Deckhand's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from design_rendering.budget import Budget
from design_rendering.directives import Destination, Source
from design_rendering.draft import Draft, PlaceError
from design_rendering.nested import MISSING, found_at, kind_of
from design_rendering.secret_paths import SecretPaths
from design_rendering.secrets import is_secret_at
from strategy_lib.json_path import path_of


class SubstitutionError(Exception):
    """A substitution cannot be carried out; `path` is below the substitution's own, the message says why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken from a source: the value, which parts of it are secret (see SecretPaths.below), and a warning."""

    value: Any
    secret: Any
    warning: str | None = None


def take(source: Source, data: Any, secrets: SecretPaths, budget: Budget) -> Taken:
    """Take the value of a substitution from the rendered data of its source.

    Raises
    ------
    SubstitutionError
        When there is none.
    """
    steps = source.steps
    if steps and not isinstance(data, dict | list):
        raise SubstitutionError(".path", f"the data of {source.name!r} is {kind_of(data)}; write . to take all of it")
    value = found_at(data, steps)
    if value is MISSING or value is None:
        there = "no data" if not steps else f"no .{path_of(steps).removeprefix('$').removeprefix('.')}"
        raise SubstitutionError(".path", f"there is {there} in {source.schema} {source.name}")
    secret = secrets.below(steps)
    if is_secret_at(steps, value):
        secret = True
    if source.pattern is None:
        return Taken(value, secret)
    if not isinstance(value, str):
        message = f"a pattern takes a part of a text, and {path_of(steps)} of {source.name!r} is {kind_of(value)}"
        raise SubstitutionError(".pattern", message)
    found = source.pattern.extracted(value, source.group, budget)
    if found is None:
        return Taken(value, secret, f"does not fit the text in {source.name!r}; the whole text is taken")
    return Taken(found, secret)


def put(destination: Destination, taken: Taken, draft: Draft, secrets: SecretPaths, budget: Budget) -> str | None:
    """Put a value where a substitution wants it; return a warning, or None.

    Raises
    ------
    SubstitutionError
        When it cannot be put there.
    """
    steps = destination.steps
    if destination.pattern is not None:
        return _put_in_text(destination, taken, draft, secrets, budget)
    if not steps and isinstance(taken.value, dict) and isinstance(draft.data, dict):
        # Deckhand lays a mapping over all data; it does not take its place.
        for key, value in taken.value.items():
            draft.place((key,), value)
            secrets.put((key,), taken.secret if taken.secret is True else (taken.secret or {}).get(key))
        return None
    try:
        draft.place(steps, taken.value)
    except PlaceError as error:
        raise SubstitutionError(".path", str(error)) from None
    secrets.put(steps, taken.secret)
    return None


def _put_in_text(
    destination: Destination, taken: Taken, draft: Draft, secrets: SecretPaths, budget: Budget
) -> str | None:
    steps, pattern = destination.steps, destination.pattern
    text = found_at(draft.data, steps)
    if text is MISSING or not isinstance(text, str):
        what = "nothing" if text is MISSING else kind_of(text)
        raise SubstitutionError(".path", f"there is {what} at {path_of(steps)}; a pattern needs a text there")
    if isinstance(taken.value, dict | list):
        message = f"a pattern is replaced by text, and what the source has there is {kind_of(taken.value)}"
        raise SubstitutionError(".pattern", message)
    if pattern is None:
        return None
    changed, matches = pattern.replaced(text, str(taken.value), budget)
    if not matches:
        return f"fits nothing in the text at {path_of(steps)}, which stays as it is"
    draft.put(steps, changed)
    if taken.secret:
        secrets.put(steps, True)
    return None
