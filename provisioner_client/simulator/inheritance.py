"""Tags, owner data and rack of a design's nodes as Drydock compiles them from host profiles, removal markers included.

It follows Drydock's own steps (`merge_lists`, `merge_dicts`, `apply_field_inheritance` of its objects). It shares no
code with Slipway's own resolving of selectors: tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from design_rendering.documents import Document

REMOVAL = "!"


class NoTraitError(ValueError):
    """Drydock cannot read such a design; the message says what in it."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What filters see of a node besides its name."""

    tags: tuple[str, ...]
    owner_data: Mapping[str, str]
    rack: str | None


def compiled_traits(nodes: Sequence[Document], profiles: Mapping[str, Document]) -> dict[str, Traits]:
    """Return the traits of each node by its name.

    Raises
    ------
    NoTraitError
        Tags are no list, owner data is no mapping of texts, or a rack is no text.
    """
    compiled: dict[str, Traits] = {}
    return {node.name: _compiled(node, profiles, compiled, ()) for node in nodes}


def _compiled(
    document: Document, profiles: Mapping[str, Document], known: dict[str, Traits], below: tuple[str, ...]
) -> Traits:
    data = document.data if isinstance(document.data, Mapping) else {}
    own = _own(document, data.get("metadata") or {})
    parent = profiles.get(str(data.get("host_profile")))
    # A profile that is its own ancestor would crash the real server, which validates designs before.
    if parent is None or parent.name in below:
        return own
    if parent.name not in known:
        known[parent.name] = _compiled(parent, profiles, known, (*below, parent.name))
    above = known[parent.name]
    return Traits(
        tags=_merged_list(own.tags, above.tags),
        owner_data=_merged_dict(own.owner_data, above.owner_data),
        rack=above.rack if own.rack is None else (None if own.rack == REMOVAL else own.rack),
    )


def _own(document: Document, metadata: Any) -> Traits:
    """Return what stands in a document itself; without a parent that is all, markers and all."""
    metadata = metadata if isinstance(metadata, Mapping) else {}
    tags, owner_data, rack = metadata.get("tags") or [], metadata.get("owner_data") or {}, metadata.get("rack")
    if not isinstance(tags, list) or not isinstance(owner_data, Mapping) or not isinstance(rack, str | None):
        raise NoTraitError(f"{document.name}: tags must be a list, owner_data a mapping, and rack a text")
    if any(value is None or isinstance(value, list | dict) for value in [*tags, *owner_data.values()]):
        raise NoTraitError(f"{document.name}: tags and owner_data must hold texts")
    return Traits(tuple(map(str, tags)), {key: str(value) for key, value in owner_data.items()}, rack)


def _merged_list(child: Sequence[str], parent: Sequence[str]) -> tuple[str, ...]:
    merged = [item for item in child if not item.startswith(REMOVAL)]
    merged += [item for item in parent if item not in merged and REMOVAL + item not in child]
    return tuple(merged)


def _merged_dict(child: Mapping[str, str], parent: Mapping[str, str]) -> dict[str, str]:
    merged = {key: value for key, value in parent.items() if REMOVAL + key not in child}
    merged.update((key, value) for key, value in child.items() if not key.startswith(REMOVAL))
    return merged
