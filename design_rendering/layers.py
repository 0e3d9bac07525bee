"""The order of a site's layers: from its `deckhand/LayeringPolicy/v1`, or Airship's usual one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from design_rendering.directives import is_control
from design_rendering.findings import Findings
from strategy_lib.documents import Document

POLICY_SCHEMA = "deckhand/LayeringPolicy/v1"
_MOST_LAYERS = 1000
DEFAULT_LAYERS = ("global", "type", "region", "site")


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of a site, the most general first; `ranks` has their positions."""

    names: tuple[str, ...]
    ranks: Mapping[str | None, int]


def read_layers(documents: Sequence[Document], findings: Findings) -> Layers:
    """Return the layers, and note every document in a layer that the policy does not have."""
    policies = [document for document in documents if document.schema == POLICY_SCHEMA]
    names = DEFAULT_LAYERS
    if policies:
        policy, *others = policies
        for other in others:
            place = f"{policy.source} line {policy.line}" if policy.line else policy.source
            findings.error(other, "$", f"there is already a {POLICY_SCHEMA} at {place}; keep one of them")
        order = policy.data.get("layerOrder") if isinstance(policy.data, Mapping) else None
        if not isinstance(order, list) or not _is_order(order):
            message = "must be a list of layers, each once, the most general first: [global, type, site]"
            findings.error(policy, "$.data.layerOrder", message)
            return Layers((), {})
        names = tuple(order)
    ranks: dict[str | None, int] = {name: rank for rank, name in enumerate(names)}
    for document in documents:
        layer = document.layer
        if layer is None or layer in ranks or is_control(document):
            continue
        if policies:
            message = f"there is no layer {layer!r}; the layers are {_listed(names)}, by {policies[0].label}"
            findings.error(document, "$.metadata.layeringDefinition.layer", message)
        elif "parentSelector" in document.metadata.get("layeringDefinition", {}):
            message = (
                f"there is no layer {layer!r}; without a {POLICY_SCHEMA} the layers are {_listed(names)}. "
                "Add one with this layer in its data.layerOrder"
            )
            findings.error(document, "$.metadata.layeringDefinition.layer", message)
    return Layers(names, ranks)


def _is_order(order: list[object]) -> bool:
    return (
        0 < len(order) <= _MOST_LAYERS
        and all(isinstance(name, str) and name for name in order)
        and len(set(order)) == len(order)
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20])
