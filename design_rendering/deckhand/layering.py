"""Layers: their order in a site, and layering one document on its parent, by Deckhand's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from design_rendering.deckhand.directives import Action, Method, is_control
from design_rendering.deckhand.secret_paths import SecretPaths
from design_rendering.reading.budget import Budget
from design_rendering.reading.documents import DEFAULT_LAYERS, Diagnostics, Document
from design_rendering.reading.nested_data import MISSING, CopyOnWrite, PlaceError, found_at
from strategy_lib.errors import path_of

POLICY_SCHEMA = "deckhand/LayeringPolicy/v1"
_MOST_LAYERS = 1000

# What a mapping costs, in keys, besides its keys.
_PER_MAPPING = 10


def read_layers(documents: Sequence[Document], diagnostics: Diagnostics) -> Mapping[str | None, int]:
    """Return the rank of each layer, the most general first; note every document in one that the policy has not."""
    policies = [document for document in documents if document.schema == POLICY_SCHEMA]
    names = DEFAULT_LAYERS
    if policies:
        policy, *others = policies
        for other in others:
            place = f"{policy.source} line {policy.line}" if policy.line else policy.source
            diagnostics.error(other, "$", f"there is already a {POLICY_SCHEMA} at {place}; keep one of them")
        order = policy.data.get("layerOrder") if isinstance(policy.data, Mapping) else None
        if not isinstance(order, list) or not _is_order(order):
            message = "must be a list of layers, each once, the most general first: [global, type, site]"
            diagnostics.error(policy, "$.data.layerOrder", message)
            return {}
        names = tuple(order)
    ranks: dict[str | None, int] = {name: rank for rank, name in enumerate(names)}
    for document in documents:
        layer = document.layer
        if layer is None or layer in ranks or is_control(document):
            continue
        if policies:
            message = f"there is no layer {layer!r}; the layers are {_listed(names)}, by {policies[0].label}"
            diagnostics.error(document, "$.metadata.layeringDefinition.layer", message)
        elif "parentSelector" in document.metadata.get("layeringDefinition", {}):
            message = (
                f"there is no layer {layer!r}; without a {POLICY_SCHEMA} the layers are {_listed(names)}. "
                "Add one with this layer in its data.layerOrder"
            )
            diagnostics.error(document, "$.metadata.layeringDefinition.layer", message)
    return ranks


def _is_order(order: list[object]) -> bool:
    return (
        0 < len(order) <= _MOST_LAYERS
        and all(isinstance(name, str) and name for name in order)
        and len(set(order)) == len(order)
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20])


class LayeringError(Exception):
    """An action cannot be carried out; the message says why."""


def carry_out(action: Action, own: Any, result: CopyOnWrite, secrets: SecretPaths, budget: Budget) -> None:
    """Carry out one action.

    Parameters
    ----------
    own : the document's own data, as written. `merge` and `replace` take from it.
    result : what is inherited from the parent, as the actions before have left it.

    Raises
    ------
    LayeringError : when there is nothing at the action's path.
    """
    steps = action.steps
    shown = f".{path_of(steps).removeprefix('$').removeprefix('.')}"
    if action.method is Method.DELETE:
        if not steps:
            result.data = {}
            secrets.put((), None)
            return
        if found_at(result.data, steps) is MISSING:
            raise LayeringError(f"there is no {shown} to delete in what is inherited from the parent")
        result.remove(steps)
        secrets.remove(steps)
        return
    value = found_at({} if own is None else own, steps)
    if value is MISSING or value is None:
        raise LayeringError(
            f"there is no {shown} in the document's own data, from where it is taken to {action.method}"
        )
    inherited = found_at(result.data, steps)
    if action.method is Method.MERGE and isinstance(value, dict) and isinstance(inherited, dict):
        secrets.merge(steps, value, inherited)
        _merge(result, result.container(steps), value, budget)
        return
    try:
        result.place(steps, value)
    except PlaceError as error:
        raise LayeringError(f"cannot be put into what is inherited from the parent: {error}") from None
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
