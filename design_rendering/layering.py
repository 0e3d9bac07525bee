"""Layering one document on its parent: merge, replace and delete, by Deckhand's rules."""

from __future__ import annotations

from typing import Any

from design_rendering.budget import Budget
from design_rendering.directives import Action, Method
from design_rendering.draft import Draft, PlaceError
from design_rendering.nested import MISSING, found_at
from design_rendering.secret_paths import SecretPaths
from strategy_lib.json_path import path_of

# What a mapping costs, in keys, besides its keys.
_PER_MAPPING = 10


class LayeringError(Exception):
    """An action cannot be carried out; the message says why."""


def carry_out(action: Action, own: Any, draft: Draft, secrets: SecretPaths, budget: Budget) -> None:
    """Carry out one action.

    Parameters
    ----------
    action
        What to do.
    own
        The document's own data, as written. `merge` and `replace` take from it.
    draft
        What is inherited from the parent, as the actions before have left it.
    secrets
        What of it is secret.
    budget
        Bounds on the work.

    Raises
    ------
    LayeringError
        When there is nothing at the action's path.
    """
    steps = action.steps
    shown = f".{path_of(steps).removeprefix('$').removeprefix('.')}"
    if action.method is Method.DELETE:
        if not steps:
            draft.data = {}
            secrets.put((), None)
            return
        if found_at(draft.data, steps) is MISSING:
            raise LayeringError(f"there is no {shown} to delete in what is inherited from the parent")
        draft.remove(steps)
        secrets.remove(steps)
        return
    value = found_at({} if own is None else own, steps)
    if value is MISSING or value is None:
        raise LayeringError(
            f"there is no {shown} in the document's own data, from where it is taken to {action.method}"
        )
    inherited = found_at(draft.data, steps)
    if action.method is Method.MERGE and isinstance(value, dict) and isinstance(inherited, dict):
        secrets.merge(steps, value, inherited)
        _merge(draft, draft.container(steps), value, budget)
        return
    try:
        draft.place(steps, value)
    except PlaceError as error:
        raise LayeringError(f"cannot be put into what is inherited from the parent: {error}") from None
    secrets.put(steps, None)


def _merge(draft: Draft, target: dict[str, Any], own: dict[str, Any], budget: Budget) -> None:
    """Merge a mapping over another, mappings in it too. All else, lists included, takes the place of what is there."""
    waiting = [(target, own)]
    while waiting:
        below, over = waiting.pop()
        budget.work(_PER_MAPPING + len(over) + len(below))
        for key, value in over.items():
            known = below.get(key)
            if isinstance(value, dict) and isinstance(known, dict):
                below[key] = known = draft.own(known)
                waiting.append((known, value))
            else:
                below[key] = value
