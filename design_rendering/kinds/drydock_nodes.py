"""The nodes that Drydock's documents describe: host profiles overlaid, boot actions, and what is missing of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from design_rendering import drydock_kinds as drydock
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.did_you_mean import Hints, suggestion
from strategy_lib.errors import InventoryError, Problem, path_of
from strategy_lib.node import NO_LABELS, NO_TAGS, Node, label_text
from strategy_lib.parsing.strategy_parser import choice_problems, label_texts, node_choices
from strategy_lib.strategy import NodeChoice


def depends_on_nodes(document: Document, problems: dict[Problem, None]) -> tuple[NodeChoice, ...]:
    """Return the nodes that a node waits for: `metadata.depends_on_nodes`, which provisioners do not read (rule 39).

    What is wrong with it is added to `problems`.
    """
    value = document.metadata.get("depends_on_nodes")
    if value is None:
        return ()
    path = "$.metadata.depends_on_nodes"
    found = choice_problems(value, path)
    problems.update(dict.fromkeys(document.problem(problem.path, problem.message) for problem in found))
    return () if found else node_choices(value)


# Before a tag, a label's key, or alone as a rack: what is inherited is removed.
_REMOVAL = "!"
# Tags, labels and rack.
_Traits = tuple[frozenset[str], Mapping[str, str], str | None]

_PARTS = (drydock.HARDWARE_SCHEMA, drydock.NETWORK_SCHEMA, drydock.LINK_SCHEMA)


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

    Raises `DocumentError` when two nodes, or two profiles, have the same name; `InventoryError` with every tag, label
    or rack that has a wrong type.
    """
    all_documents = list(documents)
    nodes = find_documents(all_documents, drydock.NODE_SCHEMA)
    profiles = find_documents(all_documents, drydock.PROFILE_SCHEMA)
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
        result.append(Node(name, tags, labels, rack, depends_on_nodes(document, problems)))
    if problems:
        raise InventoryError(problems)
    return result


def missing_profiles(documents: Iterable[Document]) -> list[Problem]:
    """Return a warning for each node whose host profile chain names a profile that is missing, or is a cycle."""
    all_documents = list(documents)
    profiles = find_documents(all_documents, drydock.PROFILE_SCHEMA)
    warnings = []
    for document in find_documents(all_documents, drydock.NODE_SCHEMA).values():
        chain = profile_chain(document, profiles)
        if chain.missing is not None:
            hint = suggestion(chain.missing, list(profiles), most=1)
            message = f"there is no host profile {chain.missing!r}; its labels and tags are not known.{hint}"
            message = message if hint else message.rstrip(".")
        elif chain.cyclic is not None:
            message = f"host profile {chain.cyclic!r} is its own ancestor; name another parent"
        else:
            continue
        warnings.append(document.problem("$.data.host_profile", message, "warning"))
    return warnings


def _are_texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)


def _are_labels(labels: object) -> bool:
    return isinstance(labels, Mapping) and all(label_text(value) is not None for value in labels.values())


def _overlay(base: _Traits | None, document: Document, problems: dict[Problem, None]) -> _Traits:
    """Return tags, labels and rack of `base` with those of a node or profile laid over them.

    Without a parent (None) the markers of removal are values like any other, in Drydock too.
    """
    tags, labels, rack = base or (NO_TAGS, NO_LABELS, None)
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
            labels = _with_labels(labels, label_texts(owner_data)) if base else label_texts(owner_data)
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
    return value if isinstance(value, dict) else {}


def missing_parts(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each hardware profile, network or link that is referred to and is not there.

    It is one for all documents that refer to it, at the first of them: thousands of nodes use the same network. Whether
    the design can be used without it is the provisioner's to say. A name such as `!oam` removes what is inherited.
    """
    there = {(document.schema, document.name) for document in documents if document.schema in _PARTS}
    users: dict[tuple[str, str], list[Document]] = {}
    for document in documents:
        if document.schema in drydock.NODE_MAKERS and not document.abstract:
            for part in dict.fromkeys(drydock.part_names(document.data)):
                if part not in there and not part[1].startswith("!"):
                    users.setdefault(part, []).append(document)
    hints = Hints(cutoff=0.6)
    return [
        _missing_part(schema, name, of, hints.of(name, [one for kind, one in there if kind == schema]))
        for (schema, name), of in users.items()
    ]


def _missing_part(schema: str, name: str, users: list[Document], hint: str) -> Problem:
    first, *others = users
    more = f", and {len(others)} more documents refer to it" if len(others) > 1 else ""
    more = f", and {others[0].name} refers to it too" if len(others) == 1 else more
    message = f"there is no {schema} named {name!r}{more}{hint}"
    named = drydock.placed_parts(first.data)
    path = next(path_of(("data", *steps)) for kind, one, steps in named if (kind, one) == (schema, name))
    return first.problem(path, message, "warning")


_LISTS = ("node_names", "node_tags", "rack_names")


def boot_actions_of_nodes(boot_actions: Iterable[Document], nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Return for each node the names of the boot actions that are for it, in the order of the documents.

    Inside one criterion of a node filter one value has to fit. Between the criteria, and between filters, it is as
    their types say. A filter that cannot be read counts as one for all nodes: rather too many differ than too few.
    """
    found: dict[str, list[str]] = {node.name: [] for node in nodes}
    for document in boot_actions:
        data = document.data if isinstance(document.data, Mapping) else {}
        for name in _selected(data.get("node_filter"), nodes):
            found[name].append(document.name)
    return found


def _selected(node_filter: object, nodes: Sequence[Node]) -> Iterable[str]:
    everyone = [node.name for node in nodes]
    if not isinstance(node_filter, Mapping) or not isinstance(node_filter.get("filter_set"), list):
        return everyone
    parts = [_selected_by_one(one, nodes) for one in node_filter["filter_set"]]
    found = _joined(parts, node_filter.get("filter_set_type"))
    return everyone if found is None else found


def _selected_by_one(one: object, nodes: Sequence[Node]) -> set[str] | None:
    """Return the nodes of one filter; None: it says nothing that a provisioner would understand."""
    if not isinstance(one, Mapping):
        return None
    parts: list[set[str] | None] = []
    for criterion in _LISTS:
        values = one.get(criterion)
        if values and not isinstance(values, list):
            return None
        if values:
            wanted = {value for value in values if isinstance(value, str)}
            parts.append({node.name for node in nodes if not wanted.isdisjoint(_values(node, criterion))})
    labels = one.get("node_labels")
    if labels and not isinstance(labels, Mapping):
        return None
    if labels:
        pairs = {(key, label_text(value)) for key, value in labels.items()}
        parts.append({node.name for node in nodes if not pairs.isdisjoint(node.labels.items())})
    return _joined(parts, one.get("filter_type"))


def _joined(parts: Sequence[set[str] | None], how: Any) -> set[str] | None:
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts) or how not in ("union", "intersection"):
        return None
    return set.union(*known) if how == "union" else set.intersection(*known)


def _values(node: Node, criterion: str) -> Iterable[str]:
    if criterion == "node_names":
        return (node.name,)
    if criterion == "node_tags":
        return node.tags
    return () if node.rack is None else (node.rack,)
