"""The nodes of a site: from its design documents (Drydock's kinds) or from a plain list. No selecting here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from strategy_lib.documents import Document, find_documents
from strategy_lib.errors import InventoryError, Problem
from strategy_lib.json_path import extend
from strategy_lib.node import Node
from strategy_lib.schema_check import check_data
from strategy_lib.strategy import label_text

NODE_SCHEMA = "drydock/BaremetalNode/v1"
PROFILE_SCHEMA = "drydock/HostProfile/v1"

# Before a tag, a label's key, or alone as a rack: what is inherited is removed.
_REMOVAL = "!"
_NO_TAGS: frozenset[str] = frozenset()
_NO_LABELS: Mapping[str, str] = MappingProxyType({})
# Tags, labels and rack.
_Traits = tuple[frozenset[str], Mapping[str, str], str | None]


@dataclass(frozen=True, slots=True)
class ProfileChain:
    """The host profiles that a node is made from, nearest first.

    `missing` names the profile that is not among the documents, `cyclic` one that leads back to itself.
    """

    profiles: tuple[Document, ...]
    missing: str | None = None
    cyclic: str | None = None


def profile_chain(document: Document, profiles: Mapping[str, Document]) -> ProfileChain:
    """Follow `data.host_profile` from a node (or profile) up to the profile that names no other."""
    chain: list[Document] = []
    seen: set[str] = set()
    name = _mapping(document.data).get("host_profile")
    while isinstance(name, str) and name:
        if name in seen:
            return ProfileChain(tuple(chain), cyclic=name)
        seen.add(name)
        profile = profiles.get(name)
        if profile is None:
            return ProfileChain(tuple(chain), missing=name)
        chain.append(profile)
        name = _mapping(profile.data).get("host_profile")
    return ProfileChain(tuple(chain))


def nodes_from_documents(documents: Iterable[Document]) -> list[Node]:
    """Return the nodes that the design's `drydock/BaremetalNode/v1` documents describe, in document order.

    Labels are the `owner_data` of the host profile chain, overlaid by the node's own; tags are those of the chain and
    the node together; the nearest rack counts. A node or profile with a parent can also remove what it inherits, as in
    Drydock: the tag `!gpu`, the key `!role` of a label whatever its value, the rack `!`. A profile that is missing adds
    nothing: see `missing_profiles`.

    Raises
    ------
    DocumentError
        When two nodes, or two profiles, have the same name.
    InventoryError
        With every tag, label or rack that has a wrong type.
    """
    all_documents = list(documents)
    nodes = find_documents(all_documents, NODE_SCHEMA)
    profiles = find_documents(all_documents, PROFILE_SCHEMA)
    problems: dict[Problem, None] = {}
    inherited: dict[str, _Traits | None] = {}
    result = []
    for name, document in nodes.items():
        parent = _mapping(document.data).get("host_profile")
        key = parent if isinstance(parent, str) else ""
        if key not in inherited:
            traits: _Traits | None = None
            for profile in reversed(profile_chain(document, profiles).profiles):
                traits = _overlay(traits, profile, problems)
            inherited[key] = traits
        tags, labels, rack = _overlay(inherited[key], document, problems)
        result.append(Node(name, tags, labels, rack))
    if problems:
        raise InventoryError(problems)
    return result


def missing_profiles(documents: Iterable[Document]) -> list[Problem]:
    """Return a warning for each node whose host profile chain names a profile that is missing, or is a cycle."""
    all_documents = list(documents)
    profiles = find_documents(all_documents, PROFILE_SCHEMA)
    warnings = []
    for document in find_documents(all_documents, NODE_SCHEMA).values():
        chain = profile_chain(document, profiles)
        if chain.missing is not None:
            message = f"there is no host profile {chain.missing!r}; its labels and tags are not known"
        elif chain.cyclic is not None:
            message = f"host profile {chain.cyclic!r} is its own ancestor; name another parent"
        else:
            continue
        path = "$.data.host_profile"
        line = document.line_of(path)
        warnings.append(Problem(path, message, line, document.label, level="warning", source=document.source))
    return warnings


def nodes_from_inventory(inventory: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Return the nodes of a plain list: `[{"name": "n1", "tags": [], "labels": {"k": "v"}, "rack": "r1"}]`.

    Only `name` is required.

    Raises
    ------
    InventoryError
        With every problem: wrong types, unknown fields, names that are there twice.
    """
    problems = check_data("node_inventory", inventory, root="$")
    if problems:
        raise InventoryError(problems)
    nodes: dict[str, Node] = {}
    tag_sets: dict[tuple[str, ...], frozenset[str]] = {(): _NO_TAGS}
    for position, entry in enumerate(inventory):
        name = entry["name"]
        if name in nodes:
            message = f"there is already a node {name!r}; names must be unique"
            problems.append(Problem(extend("$", position, "name"), message))
        tags = tuple(entry.get("tags") or ())
        # Thousands of nodes have the same few tags; one set serves them all.
        tag_set = tag_sets.get(tags)
        if tag_set is None:
            tag_set = tag_sets[tags] = frozenset(tags)
        nodes[name] = Node(name, tag_set, _labels(entry.get("labels")), entry.get("rack"))
    if problems:
        raise InventoryError(problems)
    return list(nodes.values())


def _are_texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)


def _are_labels(labels: object) -> bool:
    return isinstance(labels, Mapping) and all(label_text(value) is not None for value in labels.values())


def _labels(labels: Mapping[str, Any] | None) -> Mapping[str, str]:
    if not labels:
        return _NO_LABELS
    return {key: value if type(value) is str else str(label_text(value)) for key, value in labels.items()}


def _overlay(base: _Traits | None, document: Document, problems: dict[Problem, None]) -> _Traits:
    """Return tags, labels and rack of `base` with those of a node or profile laid over them.

    Without a parent (None) the markers of removal are values like any other, in Drydock too.
    """
    tags, labels, rack = base or (_NO_TAGS, _NO_LABELS, None)
    metadata = _mapping(_mapping(document.data).get("metadata"))
    path = "$.data.metadata"
    own_tags = metadata.get("tags")
    if own_tags:
        if _are_texts(own_tags) and "" in own_tags:
            # To YAML an exclamation mark without quotes is no text, but what kind of text follows it.
            message = "must not hold an empty tag; put one that removes another in quotes, as in '!gpu'"
            problems[document.problem(f"{path}.tags", message)] = None
        elif _are_texts(own_tags):
            tags = _with_tags(tags, own_tags) if base else frozenset(own_tags)
        else:
            problems[document.problem(f"{path}.tags", "must be a list of texts")] = None
    owner_data = metadata.get("owner_data")
    if owner_data:
        if _are_labels(owner_data):
            labels = _with_labels(labels, _labels(owner_data)) if base else _labels(owner_data)
        else:
            problems[document.problem(f"{path}.owner_data", "must be a mapping of texts to texts")] = None
    own_rack = metadata.get("rack")
    if isinstance(own_rack, str):
        rack = None if base and own_rack == _REMOVAL else own_rack
    elif own_rack is not None:
        problems[document.problem(f"{path}.rack", "must be the name of a rack, as text; put it in quotes")] = None
    return tags, labels, rack


def _with_tags(tags: frozenset[str], own: Sequence[str]) -> frozenset[str]:
    """Return inherited tags with one's own, without those that are removed."""
    if not any(tag.startswith(_REMOVAL) for tag in own):
        return tags.union(own)
    kept = {tag for tag in own if not tag.startswith(_REMOVAL)}
    return frozenset(kept.union(tag for tag in tags if _REMOVAL + tag not in own))


def _with_labels(labels: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Return inherited labels with one's own laid over them, without those that are removed."""
    if not any(key.startswith(_REMOVAL) for key in own):
        return {**labels, **own}
    kept = {key: value for key, value in own.items() if not key.startswith(_REMOVAL)}
    return {**{key: value for key, value in labels.items() if _REMOVAL + key not in own}, **kept}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
