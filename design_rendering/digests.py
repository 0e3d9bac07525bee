"""A digest per node of everything in the design that makes the node, so that a change is seen (rule 21).

A digest has three parts, `2:<everything but labels>:<labels>`: the version of what goes into it, and two hashes.
A deployed node gets new labels without being deployed again (rule 25): therefore the two are told apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from design_rendering.documents import Document, find_documents
from design_rendering.drydock_kinds import (
    HARDWARE_SCHEMA,
    LINK_SCHEMA,
    NETWORK_SCHEMA,
    NODE_SCHEMA,
    PROFILE_SCHEMA,
    data_without_labels,
    part_names,
)
from design_rendering.drydock_nodes import profile_chain
from strategy_lib.node import Node

VERSION = "2"


def node_digests(documents: Iterable[Document], nodes: Iterable[Node]) -> dict[str, str]:
    """Return for each node the digest of what makes it; its hashes are SHA-256, in hexadecimal.

    What makes it is the `data` of its own document, of its host profile chain, of the hardware profile they name, and
    of the networks and links they use, as canonical JSON, and the labels that it has in the end. Comments, order of
    keys, metadata, other nodes, and where a label comes from do not count. Tags are no labels: Drydock writes them to
    MAAS when it deploys.

    Raises `DocumentError` when two of these documents have the same schema, layer and name.
    """
    all_documents = list(documents)
    parts = {
        schema: find_documents(all_documents, schema)
        for schema in (NODE_SCHEMA, PROFILE_SCHEMA, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA)
    }
    known: dict[tuple[str, str], str] = {}
    labels = {node.name: node.labels for node in nodes}
    return {
        name: _joined(_digest(document, parts, known), _hash(dict(labels.get(name, {}))))
        for name, document in parts[NODE_SCHEMA].items()
    }


def differ_in_labels_alone(one: str, other: str) -> bool:
    """Return whether two digests of a node differ, and only by its labels; not known of digests of other versions."""
    first, second = _split(one), _split(other)
    return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]


def with_labels_of(done: str, wanted: str) -> str:
    """Return the digest `done` with the labels of `wanted`; as it is where these are not known."""
    first, second = _split(done), _split(wanted)
    return done if first is None or second is None else _joined(first[0], second[1])


def _joined(rest: str, labels: str) -> str:
    return f"{VERSION}:{rest}:{labels}"


def _split(digest: str) -> tuple[str, str] | None:
    version, *parts = digest.split(":")
    return (parts[0], parts[1]) if version == VERSION and len(parts) == 2 else None


def _digest(node: Document, parts: Mapping[str, Mapping[str, Document]], known: dict[tuple[str, str], str]) -> str:
    chain = profile_chain(node, parts[PROFILE_SCHEMA])
    makers = [node, *chain.profiles]
    used = {(document.schema, document.name) for document in makers}
    for document in makers:
        used.update(part_names(document.data))
    content = {}
    for schema, name in used:
        there = parts[schema].get(name)
        if (schema, name) not in known:
            # Profiles and networks serve many nodes: each is turned into text once.
            known[schema, name] = _hash(data_without_labels(schema, there.data) if there is not None else None)
        content[f"{schema} {name}"] = known[schema, name]
    return _hash([[document.name for document in makers], content])


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
