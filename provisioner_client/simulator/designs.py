"""Site designs as the simulator needs them, read from the documents behind a design_ref. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from provisioner_client.simulator.errors import DesignUnresolvable, FilterCrash
from provisioner_client.simulator.filters import select_names
from provisioner_client.simulator.inheritance import NoTraitError, compiled_traits

if TYPE_CHECKING:
    from design_rendering.documents import Document

_NODE, _PROFILE, _BOOT_ACTION = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1", "drydock/BootAction/v1"


@dataclass(frozen=True, slots=True)
class DesignNode:
    """One node of a site design: what filters see of it, and the addresses of its out-of-band and boot networks."""

    name: str
    tags: frozenset[str]
    labels: Mapping[str, str]
    rack: str | None
    oob_address: str | None = None
    boot_address: str | None = None


@dataclass(frozen=True, slots=True)
class DesignFault:
    """Something that a design validation would refuse."""

    message: str
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class SiteDesign:
    """A design as the simulator needs it.

    `site` is the name of its drydock/Region document. `booted` are the nodes that some drydock/BootAction is for;
    a deploy of any other crashes.
    """

    site: str
    nodes: tuple[DesignNode, ...]
    networks: tuple[str, ...]
    booted: frozenset[str] = frozenset()
    faults: tuple[DesignFault, ...] = ()

    @staticmethod
    def empty() -> SiteDesign:
        """Return a design in which nothing was found."""
        return SiteDesign("site", (), ())


def read_design(text: bytes, source: str) -> SiteDesign:
    """Turn a design's YAML documents into what the simulator needs.

    Mappings without a schema are passed over: a refusal in JSON is a design without nodes.

    Raises
    ------
    DesignUnresolvable
        If the text is no list of documents.
    """
    # Imported on first use: the domain brings NetworkX and JSON Schema along, and the simulator starts without them.
    from design_rendering.documents import find_documents, load_documents
    from design_rendering.errors import DocumentError
    from strategy_lib.errors import StrategyLibError

    try:
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
        return SiteDesign(site, (), networks, faults=(DesignFault(str(error), _NODE, site),))
    addresses = {document.name: _addresses(document) for document in documents if document.schema == _NODE}
    found = tuple(
        DesignNode(
            name=name,
            tags=frozenset(traits.tags),
            labels=dict(traits.owner_data),
            rack=traits.rack,
            oob_address=addresses.get(name, {}).get("oob"),
            boot_address=addresses.get(name, {}).get("pxe"),
        )
        for name, traits in nodes.items()
    )
    booted, bad_filters = _booted(documents, found)
    return SiteDesign(site, found, networks, booted, (*_faults(documents), *bad_filters))


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
                faults.append(DesignFault(str(crash), _BOOT_ACTION, document.name))
    return frozenset(booted), tuple(faults)


def _addresses(document: Document) -> dict[str, str]:
    data = document.data if isinstance(document.data, Mapping) else {}
    entries = data.get("addressing")
    return {
        str(entry.get("network")): str(entry.get("address"))
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, Mapping)
    }


def _faults(documents: list[Document]) -> tuple[DesignFault, ...]:
    profiles = {document.name for document in documents if document.schema == _PROFILE}
    faults = []
    for document in documents:
        profile = document.data.get("host_profile") if isinstance(document.data, Mapping) else None
        if document.schema == _NODE and profile is not None and profile not in profiles:
            faults.append(DesignFault(f"host profile {profile} is not in the design", _NODE, document.name))
    return tuple(faults)
