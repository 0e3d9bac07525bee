"""A digest per node of everything in the design that makes the node, so that a change is seen (rule 21).

A digest has three parts, `3:<everything but labels>:<labels>`: the version of what goes into it, and two hashes.
A deployed node gets new labels without being deployed again (rule 25): therefore the two are told apart. When what goes
into it changes, its version does, and a migration computes the stored ones anew (rule 38).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from design_rendering.drydock_kinds import (
    BOOT_ACTION_SCHEMA,
    HARDWARE_SCHEMA,
    LINK_SCHEMA,
    NETWORK_SCHEMA,
    NODE_SCHEMA,
    PROFILE_SCHEMA,
    part_names,
    route_domains,
    shaping_data,
)
from design_rendering.kinds.boot_actions import boot_actions_of_nodes
from design_rendering.kinds.drydock_nodes import profile_chain
from design_rendering.kinds.slipway_nodes import SlipwayNode, slipway_nodes
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.node import Node

VERSION = "3"


def node_digests(documents: Iterable[Document], nodes: Iterable[Node]) -> dict[str, str]:
    """Return for each node the digest of what makes it; its hashes are SHA-256, in hexadecimal.

    What makes it is the `data` of its own document, of its host profile chain, of the hardware profile they name, of
    the networks and links they use, of the boot actions that are for it, as canonical JSON, and the labels that it has
    in the end. Of a route domain that a network has routes to, the address ranges in it count. Comments, order of keys,
    metadata, other nodes, which other nodes a boot action is for, and where a label comes from do not count. Nor does
    the region: what it says of keys and repositories is of the whole site. Tags are no labels: Drydock writes them to
    MAAS when it deploys.

    Of Slipway's own nodes counts what they are in the end, by the site, their sets and themselves: what is deployed and
    how. Their tags and their rack go with the labels: MAAS gets these without a deployment. What a release does to the
    disks, and the address that is stated, count for nothing.

    Raises `DocumentError` when two of these documents have the same schema, layer and name.
    """
    all_documents = list(documents)
    parts = {
        schema: find_documents(all_documents, schema)
        for schema in (NODE_SCHEMA, PROFILE_SCHEMA, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA, BOOT_ACTION_SCHEMA)
    }
    known: dict[tuple[str, str], str] = {}
    listed = list(nodes)
    labels = {node.name: node.labels for node in listed}
    booted = boot_actions_of_nodes(parts[BOOT_ACTION_SCHEMA].values(), listed)
    found = {
        name: _joined(_digest(document, parts, known, booted.get(name, ())), _hash(dict(labels.get(name, {}))))
        for name, document in parts[NODE_SCHEMA].items()
    }
    return found | {name: _digest_of_own(node) for name, node in slipway_nodes(all_documents)[0].items()}


def differ_in_labels_alone(one: str, other: str) -> bool:
    """Return whether two digests of a node differ, and only by its labels; not known of digests of other versions."""
    first, second = _split(one), _split(other)
    return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]


def with_labels_of(done: str, wanted: str) -> str:
    """Return the digest `done` with the labels of `wanted`; as it is where these are not known."""
    first, second = _split(done), _split(wanted)
    return done if first is None or second is None else _joined(first[0], second[1])


def _digest_of_own(node: SlipwayNode) -> str:
    layouts = {"network": node.network_layout, "storage": node.storage_layout}
    image = {"image": node.image, "kernel": node.kernel, "ephemeral": node.ephemeral, "user_data": node.user_data}
    labels = {"labels": dict(node.labels), "tags": sorted(node.tags), "rack": node.rack}
    return _joined(_hash({**image, **layouts}), _hash(labels))


def _joined(rest: str, labels: str) -> str:
    return f"{VERSION}:{rest}:{labels}"


def _split(digest: str) -> tuple[str, str] | None:
    version, *parts = digest.split(":")
    return (parts[0], parts[1]) if version == VERSION and len(parts) == 2 else None


def _digest(
    node: Document,
    parts: Mapping[str, Mapping[str, Document]],
    known: dict[tuple[str, str], str],
    boot_actions: Sequence[str],
) -> str:
    chain = profile_chain(node, parts[PROFILE_SCHEMA])
    makers = [node, *chain.profiles]
    used = {(document.schema, document.name) for document in makers}
    for document in makers:
        used.update(part_names(document.data))
    used.update((BOOT_ACTION_SCHEMA, name) for name in boot_actions)
    content = {}
    for schema, name in used:
        there = parts[schema].get(name)
        if (schema, name) not in known:
            # Profiles and networks serve many nodes: each is turned into text once.
            known[schema, name] = _hash(None if there is None else _shaping(there, parts[NETWORK_SCHEMA]))
        content[f"{schema} {name}"] = known[schema, name]
    return _hash([[document.name for document in makers], content])


def _shaping(document: Document, networks: Mapping[str, Document]) -> object:
    """Return what of a document shapes the nodes that use it."""
    data = shaping_data(document.schema, document.data)
    domains = route_domains(data) if document.schema == NETWORK_SCHEMA else frozenset()
    if not domains:
        return data
    others = [one.data for one in networks.values() if isinstance(one.data, Mapping)]
    ranges = {
        domain: sorted(str(one.get("cidr")) for one in others if one.get("routedomain") == domain) for domain in domains
    }
    return [data, ranges]


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
