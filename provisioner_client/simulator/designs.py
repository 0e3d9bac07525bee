"""Site designs behind a design_ref, kept for ever as the real server does: later edits are not seen."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from provisioner_client.simulator.errors import DesignUnresolvable
from provisioner_client.simulator.inheritance import NoTraitError, compiled_traits

if TYPE_CHECKING:
    from strategy_lib.documents import Document

MISSING_DESIGN_DELAY = 30.0
FETCH_TIMEOUT = 30.0
_NODE, _PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


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
    """A design as the simulator needs it; `site` is the name of its drydock/Region document."""

    site: str
    nodes: tuple[DesignNode, ...]
    networks: tuple[str, ...]
    faults: tuple[DesignFault, ...] = ()


class DesignCache:
    """Designs by reference; each is read once, by whoever asks first."""

    def __init__(self) -> None:
        self._designs: dict[str, SiteDesign] = {}
        self._lock = threading.Lock()

    def resolve(self, reference: str) -> SiteDesign:
        """Return the design behind a reference.

        Raises
        ------
        DesignUnresolvable
            If nothing readable is there; this is not remembered.
        """
        with self._lock:
            known = self._designs.get(reference)
        if known is not None:
            return known
        design = read_design(_fetch(reference), reference)
        with self._lock:
            return self._designs.setdefault(reference, design)

    def references(self) -> list[str]:
        """Return the references known so far, sorted."""
        with self._lock:
            return sorted(self._designs)

    def forget(self) -> None:
        """Forget all designs, as a restart does."""
        with self._lock:
            self._designs.clear()


def read_design(text: bytes, source: str) -> SiteDesign:
    """Turn a design's YAML documents into what the simulator needs.

    Raises
    ------
    DesignUnresolvable
        If the text is no list of documents.
    """
    # Imported on first use: the domain brings NetworkX and JSON Schema along, and the simulator starts without them.
    from strategy_lib.documents import find_documents, load_documents
    from strategy_lib.errors import DocumentError, StrategyLibError

    try:
        documents = load_documents(text, source)
    except DocumentError as error:
        raise DesignUnresolvable(f"{source}: {error}") from error
    regions = [document.name for document in documents if document.schema == "drydock/Region/v1"]
    networks = tuple(document.name for document in documents if document.schema == "drydock/Network/v1")
    site = regions[0] if regions else "site"
    try:
        nodes = compiled_traits([*find_documents(documents, _NODE).values()], find_documents(documents, _PROFILE))
    except (StrategyLibError, NoTraitError) as error:
        return SiteDesign(site, (), networks, (DesignFault(str(error), _NODE, site),))
    addresses = {document.name: _addresses(document) for document in documents if document.schema == _NODE}
    return SiteDesign(
        site=site,
        nodes=tuple(
            DesignNode(
                name=name,
                tags=frozenset(traits.tags),
                labels=dict(traits.owner_data),
                rack=traits.rack,
                oob_address=addresses.get(name, {}).get("oob"),
                boot_address=addresses.get(name, {}).get("pxe"),
            )
            for name, traits in nodes.items()
        ),
        networks=networks,
        faults=_faults(documents),
    )


def _fetch(reference: str) -> bytes:
    parts = urlsplit(reference.removeprefix("deckhand+"))
    if parts.scheme == "file":
        try:
            return Path(unquote(parts.path)).read_bytes()
        except OSError as error:
            raise DesignUnresolvable(f"{reference}: {error.strerror}", MISSING_DESIGN_DELAY) from error
    if parts.scheme in ("http", "https"):
        return _fetch_http(parts.geturl())
    raise DesignUnresolvable(f"{reference}: no file:// or http:// reference")


def _fetch_http(url: str) -> bytes:
    import requests  # on first use, as above

    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.get(url, timeout=FETCH_TIMEOUT)
            answer.raise_for_status()
        except requests.RequestException as error:
            raise DesignUnresolvable(f"{url}: {error}", MISSING_DESIGN_DELAY) from error
        return answer.content


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
