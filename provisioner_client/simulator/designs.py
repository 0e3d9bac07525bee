"""Site designs as Drydock reads them: nodes with inherited tags, labels and rack, and node filters over them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provisioner_client.simulator.errors import DesignUnresolvable, FilterCrash

if TYPE_CHECKING:
    from design_rendering.reading.documents import Document


_TYPES = ("union", "intersection")
_LIST_CRITERIA = ("node_names", "node_tags", "rack_names")


def select_names(node_filter: object, nodes: Sequence[DesignNode]) -> list[str]:
    """Return the names of the nodes that a filter selects, in the design's order.

    Inside one criterion: OR. Inside one filter: by its `filter_type`. Between filters: by `filter_set_type`.

    Raises `FilterCrash` for every form on which the real server answers 500.
    """
    if node_filter is None:
        return [node.name for node in nodes]
    if not isinstance(node_filter, Mapping):
        raise FilterCrash("node_filter is not an object")
    set_type, filters = node_filter.get("filter_set_type"), node_filter.get("filter_set")
    if set_type not in _TYPES or not isinstance(filters, list):
        raise FilterCrash("node_filter has no filter_set_type or no filter_set")
    if not filters:
        raise FilterCrash("filter_set is empty", task_survives=set_type == "union")
    parts = [_select_one(one, nodes, alone=len(filters) == 1) for one in filters]
    selected = set.union(*parts) if set_type == "union" else set.intersection(*parts)
    return [node.name for node in nodes if node.name in selected]


def named_nodes(node_filter: object) -> list[str] | None:
    """Return the nodes of a plain filter by names, which need no design to be known; None for any other filter."""
    if not isinstance(node_filter, Mapping):
        return None
    filters = node_filter.get("filter_set")
    if not isinstance(filters, list) or len(filters) != 1 or not isinstance(filters[0], Mapping):
        return None
    others = ("node_tags", "node_labels", "rack_names", "rack_labels")
    names = filters[0].get("node_names")
    if any(filters[0].get(criterion) for criterion in others) or not isinstance(names, list):
        return None
    return list(dict.fromkeys(str(name) for name in names))


def _select_one(one: object, nodes: Sequence[DesignNode], *, alone: bool) -> set[str]:
    if not isinstance(one, Mapping) or one.get("filter_type") not in _TYPES:
        raise FilterCrash("a filter has no filter_type")
    criteria = _criteria(one, nodes)
    if not criteria:
        if one["filter_type"] == "intersection" or not alone:
            raise FilterCrash("a filter has no criteria")
        return set()
    return set.union(*criteria) if one["filter_type"] == "union" else set.intersection(*criteria)


def _criteria(one: Mapping[str, object], nodes: Sequence[DesignNode]) -> list[set[str]]:
    """Return the nodes of each criterion that is there; Drydock does not implement `rack_labels`: absent."""
    found: list[set[str]] = []
    for criterion in _LIST_CRITERIA:
        values = one.get(criterion)
        if not values:
            continue
        if not isinstance(values, list):
            raise FilterCrash(f"{criterion} is not a list")
        wanted = {value for value in values if isinstance(value, str)}
        found.append({node.name for node in nodes if not wanted.isdisjoint(_values(node, criterion))})
    labels = one.get("node_labels")
    if labels:
        if not isinstance(labels, Mapping):
            raise FilterCrash("node_labels is not an object")
        pairs = set(labels.items())
        found.append({node.name for node in nodes if not pairs.isdisjoint(node.labels.items())})
    return found


def _values(node: DesignNode, criterion: str) -> Collection[str]:
    if criterion == "node_names":
        return (node.name,)
    if criterion == "node_tags":
        return node.tags
    return () if node.rack is None else (node.rack,)


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

    Raises `NoTraitError`: tags are no list, owner data is no mapping of texts, or a rack is no text.
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


_NODE, _PROFILE, _BOOT_ACTION = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1", "drydock/BootAction/v1"


@dataclass(frozen=True, slots=True)
class DesignNode:
    """One node of a site design: what filters see of it, and its addresses.

    `oob_address` and `boot_address` are those of two networks; `addresses` are those of all networks.
    """

    name: str
    tags: frozenset[str]
    labels: Mapping[str, str]
    rack: str | None
    oob_address: str | None = None
    boot_address: str | None = None
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DesignFault:
    """Something that a design validation would refuse; Drydock may not say in which document it stands."""

    message: str
    document: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SiteDesign:
    """A design as the simulator needs it.

    `site` is the name of its drydock/Region document. `booted` are the nodes that some drydock/BootAction is for; of
    the others a validation warns. Without any (`boots`) each deploy crashes.
    """

    site: str
    nodes: tuple[DesignNode, ...]
    networks: tuple[str, ...]
    boots: bool = False
    booted: frozenset[str] = frozenset()
    faults: tuple[DesignFault, ...] = ()

    @staticmethod
    def empty() -> SiteDesign:
        """Return a design in which nothing was found."""
        return SiteDesign("site", (), ())


def read_design(text: bytes, source: str) -> SiteDesign:
    """Turn a design's YAML documents into what the simulator needs.

    Mappings without a schema are passed over: a refusal in JSON is a design without nodes.

    Raises `DesignUnresolvable` if the text is no list of documents.
    """
    # Imported on first use: the domain brings JSON Schema along, and the simulator starts without them.
    from design_rendering.reading.documents import DocumentError, find_documents, load_documents
    from strategy_lib.errors import StrategyLibError
    from strategy_lib.garbage import garbage_put_off

    try:
        with garbage_put_off():
            documents = load_documents(text, source)
    except DocumentError as error:
        if _has_no_schemas(text):
            return SiteDesign.empty()
        raise DesignUnresolvable(f"{source}: {error}") from error
    regions = [document.name for document in documents if document.schema == "drydock/Region/v1"]
    networks = tuple(document.name for document in documents if document.schema == "drydock/Network/v1")
    site = regions[0] if regions else "site"
    try:
        nodes = compiled_traits([*find_documents(documents, _NODE).values()], find_documents(documents, _PROFILE))
    except (StrategyLibError, NoTraitError) as error:
        return SiteDesign(site, (), networks, faults=(DesignFault(str(error), (_NODE, site)),))
    addresses = {document.name: _addresses(document) for document in documents if document.schema == _NODE}
    found = tuple(
        DesignNode(
            name=name,
            tags=frozenset(traits.tags),
            labels=dict(traits.owner_data),
            rack=traits.rack,
            oob_address=addresses.get(name, {}).get("oob"),
            boot_address=addresses.get(name, {}).get("pxe"),
            addresses=tuple(sorted({one for one in addresses.get(name, {}).values() if _is_address(one)})),
        )
        for name, traits in nodes.items()
    )
    booted, bad_filters = _booted(documents, found)
    boots = any(document.schema == _BOOT_ACTION for document in documents)
    return SiteDesign(site, found, networks, boots, booted, bad_filters or _missing_profile(documents))


def _has_no_schemas(text: bytes) -> bool:
    """Return whether a text is YAML of mappings, none of which says what it is."""
    import yaml

    try:
        found = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return False
    return all(isinstance(one, Mapping) and str(one.get("schema", "")).count("/") != 2 for one in found)


def _booted(
    documents: Sequence[Document], nodes: Sequence[DesignNode]
) -> tuple[frozenset[str], tuple[DesignFault, ...]]:
    """Return the nodes that boot actions are for, and the boot actions of which that cannot be said."""
    booted: set[str] = set()
    faults = []
    for document in documents:
        if document.schema == _BOOT_ACTION:
            wanted = document.data.get("node_filter") if isinstance(document.data, Mapping) else None
            try:
                booted.update(select_names(wanted, nodes))
            except FilterCrash as crash:
                faults.append(DesignFault(str(crash), (_BOOT_ACTION, document.name)))
    return frozenset(booted), tuple(faults)


def _addresses(document: Document) -> dict[str, str]:
    data = document.data if isinstance(document.data, Mapping) else {}
    entries = data.get("addressing")
    return {
        str(entry.get("network")): str(entry.get("address"))
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, Mapping)
    }


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _missing_profile(documents: list[Document]) -> tuple[DesignFault, ...]:
    """Return the first host profile that is missing, of a node or above it: Drydock goes no further, and names no node.

    It reads each document before it compiles the nodes.
    """
    profiles = {document.name: document for document in documents if document.schema == _PROFILE}
    for node in (document for document in documents if document.schema == _NODE):
        passed: set[str] = set()
        parent = _parent(node)
        while parent is not None and parent not in passed:
            if parent not in profiles:
                text = f"Error loading effective site: HostProfile {parent} not found in design state"
                return (DesignFault(text),)
            passed.add(parent)
            parent = _parent(profiles[parent])
    return ()


def _parent(document: Document) -> str | None:
    parent = document.data.get("host_profile") if isinstance(document.data, Mapping) else None
    return None if parent is None else str(parent)
