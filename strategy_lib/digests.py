"""A digest per node of everything in the design that makes the node, so that a change is seen (rule 21)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strategy_lib.documents import Document, find_documents
from strategy_lib.inventory import NODE_SCHEMA, PROFILE_SCHEMA, profile_chain

HARDWARE_SCHEMA = "drydock/HardwareProfile/v1"
NETWORK_SCHEMA = "drydock/Network/v1"
LINK_SCHEMA = "drydock/NetworkLink/v1"


def node_digests(documents: Iterable[Document]) -> dict[str, str]:
    """Return for each node the SHA-256, in hexadecimal, of what makes it.

    That is the `data` of its own document, of its host profile chain, of the hardware profile they name, and of the
    networks and links they use, as canonical JSON. Comments, order of keys, metadata and other nodes do not count.

    Raises
    ------
    DocumentError
        When two of these documents have the same schema, layer and name.
    """
    all_documents = list(documents)
    parts = {
        schema: find_documents(all_documents, schema)
        for schema in (NODE_SCHEMA, PROFILE_SCHEMA, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA)
    }
    known: dict[tuple[str, str], str] = {}
    return {name: _digest(document, parts, known) for name, document in parts[NODE_SCHEMA].items()}


def _digest(node: Document, parts: Mapping[str, Mapping[str, Document]], known: dict[tuple[str, str], str]) -> str:
    chain = profile_chain(node, parts[PROFILE_SCHEMA])
    makers = [node, *chain.profiles]
    used = {(document.schema, document.name) for document in makers}
    for document in makers:
        used.update(part_names(document.data))
    content = {}
    for schema, name in used:
        document_there = parts[schema].get(name)
        if (schema, name) not in known:
            # Profiles and networks serve many nodes: each is turned into text once.
            known[schema, name] = _hash(document_there.data if document_there is not None else None)
        content[f"{schema} {name}"] = known[schema, name]
    return _hash([[document.name for document in makers], content])


def part_names(data: object) -> Iterator[tuple[str, str]]:
    """Yield schema and name of the hardware profile, networks and links that the data of a node or profile names."""
    if not isinstance(data, Mapping):
        return
    yield from _named(HARDWARE_SCHEMA, data.get("hardware_profile"))
    yield from _named(NETWORK_SCHEMA, data.get("primary_network"))
    oob = data.get("oob")
    if isinstance(oob, Mapping):
        yield from _named(NETWORK_SCHEMA, oob.get("network"))
    addressing = data.get("addressing")
    for address in addressing if isinstance(addressing, list) else ():
        if isinstance(address, Mapping):
            yield from _named(NETWORK_SCHEMA, address.get("network"))
    interfaces = data.get("interfaces")
    for interface in interfaces.values() if isinstance(interfaces, Mapping) else ():
        if isinstance(interface, Mapping):
            yield from _named(LINK_SCHEMA, interface.get("device_link"))
            networks = interface.get("networks")
            for network in networks if isinstance(networks, list) else ():
                yield from _named(NETWORK_SCHEMA, network)


def _named(schema: str, name: Any) -> Iterator[tuple[str, str]]:
    if isinstance(name, str) and name:
        yield schema, name


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
