"""What a design consists of, as a graph: each document is an object, and knows which others it uses.

The digest of an object is over its own data alone. The digest of a node is over everything in the design that makes it,
so that a change is seen (rule 21). It has three parts, `4:<everything but labels>:<labels>`: the version of what goes
into it, and two hashes, which are keyed: plain ones let a secret be guessed (rule 62). A deployed node gets new labels
without being deployed again (rule 25): therefore the two are told apart. When what goes into it changes, its version
does, and a migration computes the stored ones anew (rule 38).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NewType

from design_rendering import drydock_kinds as drydock
from design_rendering import slipway_kinds as own
from design_rendering.kinds.drydock_nodes import boot_actions_of_nodes, profile_chain
from design_rendering.kinds.slipway_nodes import SlipwayNode, slipway_nodes
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.node import Node
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from strategy_lib.parsing.notifications import NOTIFICATIONS_SCHEMA
from strategy_lib.parsing.site_settings import SITE_SETTINGS_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

OBJECT_KINDS = {
    drydock.NODE_SCHEMA: "node",
    drydock.PROFILE_SCHEMA: "host_profile",
    drydock.HARDWARE_SCHEMA: "hardware_profile",
    drydock.NETWORK_SCHEMA: "network",
    drydock.LINK_SCHEMA: "network_link",
    drydock.BOOT_ACTION_SCHEMA: "boot_action",
    drydock.REGION_SCHEMA: "region",
    "drydock/Rack/v1": "rack",
    own.NODE_SCHEMA: "node",
    own.NODE_SET_SCHEMA: "node_set",
    own.SITE_SCHEMA: "site",
    own.USER_DATA_SCHEMA: "user_data",
    own.BMC_ACCOUNT_SCHEMA: "bmc_account",
    STRATEGY_SCHEMA: "strategy",
    CONFIGURATION_SCHEMA: "configuration",
    NOTIFICATIONS_SCHEMA: "notifications",
    SITE_SETTINGS_SCHEMA: "site_settings",
}
"""The kind of an object, by the schema of its document. An object of any other schema has that as its kind."""
_SHAPING = ("checksum", "ramdisk", "root_gb", "root_device", "capabilities", "network_data")
VERSION = "4"
"""Of what goes into the digest of a node."""
PLAIN_VERSION: Final = "3"
"""That of the same digests without a key, as Slipway 0.9.0 stored them."""
DigestKey = NewType("DigestKey", bytes)
"""The key of the digests of one store (`store.secret_texts.digest_key`): it is made with the store, and stays."""


def keyed(key: DigestKey, plain: str) -> str:
    """Return the digest that is stored in place of a plain one: who has not the key can guess nothing by it."""
    return hmac.digest(key, plain.encode(), "sha256").hex()


@dataclass(frozen=True, slots=True)
class PlainDigest:
    """What makes a node, as two hashes by which a short secret can be guessed. It is no text: none can be stored."""

    rest: str
    labels: str

    def keyed(self, key: DigestKey) -> str:
        """Return the digest of the node in one store: the only form that is stored, and compared with what is."""
        return _joined(keyed(key, self.rest), keyed(key, self.labels))


def keyed_again(key: DigestKey, stored: str) -> str:
    """Return the keyed digest for the plain one of a node that Slipway 0.9.0 stored; anything else as it is."""
    version, *parts = stored.split(":")
    plain = version == PLAIN_VERSION and len(parts) == 2
    return PlainDigest(*parts).keyed(key) if plain else stored


class ObjectKey(NamedTuple):
    """Which object it is: its kind, and its name within the kind."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class DesignObject:
    """An object of a design: the digest of its own data, and what it uses directly, which may be missing."""

    key: ObjectKey
    digest: str
    uses: tuple[ObjectKey, ...] = ()


def kind_of(schema: str) -> str:
    """Return the kind of the objects of a schema."""
    return OBJECT_KINDS.get(schema, schema)


def design_objects(
    documents: Iterable[Document], nodes: Iterable[Node], key: DigestKey | None = None
) -> tuple[DesignObject, ...]:
    """Return the objects of a rendered design, by kind and name; abstract documents are none.

    Parameters
    ----------
    key : of the store that is to have them; None: the digests are plain, and are not to be stored (rule 62).

    Raises `DocumentError` when two documents have the same schema, layer and name.
    """
    all_documents = list(documents)
    schemas = dict.fromkeys(document.schema for document in all_documents)
    by_schema = {schema: find_documents(all_documents, schema) for schema in schemas}
    boot_actions = by_schema.get(drydock.BOOT_ACTION_SCHEMA, {})
    booted = boot_actions_of_nodes(boot_actions.values(), list(nodes))
    domains = _networks_by_domain(by_schema.get(drydock.NETWORK_SCHEMA, {}))
    sites = [ObjectKey(kind_of(own.SITE_SCHEMA), name) for name in by_schema.get(own.SITE_SCHEMA, {})]
    found = [
        DesignObject(ObjectKey(kind_of(schema), name), _hashed(document, key), _uses(document, booted, domains, sites))
        for schema, members in by_schema.items()
        for name, document in members.items()
    ]
    return tuple(sorted(found, key=lambda one: one.key))


def parts_of_nodes(objects: Iterable[DesignObject]) -> dict[str, frozenset[ObjectKey]]:
    """Return for each node the objects that it uses, directly or through others, and itself; missing ones included."""
    uses = {one.key: one.uses for one in objects}
    found = {}
    for key in uses:
        if key.kind == kind_of(drydock.NODE_SCHEMA):
            parts: set[ObjectKey] = set()
            left = [key]
            while left:
                part = left.pop()
                if part not in parts:
                    parts.add(part)
                    left.extend(uses.get(part, ()))
            found[key.name] = frozenset(parts)
    return found


def _uses(
    document: Document,
    booted: Mapping[str, Sequence[str]],
    domains: Mapping[str, Sequence[str]],
    sites: Sequence[ObjectKey],
) -> tuple[ObjectKey, ...]:
    used: set[ObjectKey] = set()
    if document.schema in drydock.NODE_MAKERS and isinstance(document.data, Mapping):
        parent = document.data.get("host_profile")
        if isinstance(parent, str) and parent:
            used.add(ObjectKey(kind_of(drydock.PROFILE_SCHEMA), parent))
        used.update(ObjectKey(kind_of(schema), name) for schema, name in drydock.part_names(document.data))
    if document.schema == drydock.NODE_SCHEMA:
        used.update(ObjectKey(kind_of(drydock.BOOT_ACTION_SCHEMA), name) for name in booted.get(document.name, ()))
    if document.schema == drydock.NETWORK_SCHEMA:
        routed = (name for domain in drydock.route_domains(document.data) for name in domains.get(domain, ()))
        used.update(ObjectKey(kind_of(drydock.NETWORK_SCHEMA), name) for name in routed if name != document.name)
    if document.schema in own.NODE_MAKERS:
        used.update(ObjectKey(kind_of(schema), name) for schema, name in own.part_names(document.schema, document.data))
    if document.schema == own.NODE_SCHEMA:
        used.update(sites)
    return tuple(sorted(used))


def _networks_by_domain(networks: Mapping[str, Document]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, document in networks.items():
        domain = document.data.get("routedomain") if isinstance(document.data, Mapping) else None
        if isinstance(domain, str):
            found.setdefault(domain, []).append(name)
    return found


def node_digests(documents: Iterable[Document], nodes: Iterable[Node]) -> dict[str, PlainDigest]:
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
    parts = {schema: find_documents(all_documents, schema) for schema in drydock.NODE_PARTS}
    known: dict[tuple[str, str], str] = {}
    listed = list(nodes)
    labels = {node.name: node.labels for node in listed}
    booted = boot_actions_of_nodes(parts[drydock.BOOT_ACTION_SCHEMA].values(), listed)
    found = {
        name: PlainDigest(_digest_of(document, parts, known, booted.get(name, ())), _hash(dict(labels.get(name, {}))))
        for name, document in parts[drydock.NODE_SCHEMA].items()
    }
    return found | {name: _digest_of_own(node) for name, node in slipway_nodes(all_documents)[0].items()}


def differ_in_labels_alone(one: str, other: str) -> bool:
    """Return whether two keyed digests differ, and only by the labels of the node; not known of other versions."""
    first, second = _split(one), _split(other)
    return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]


def with_labels_of(done: str, wanted: str) -> str:
    """Return the digest `done` with the labels of `wanted`; as it is where these are not known."""
    first, second = _split(done), _split(wanted)
    return done if first is None or second is None else _joined(first[0], second[1])


def _digest_of_own(node: SlipwayNode) -> PlainDigest:
    layouts = {"network": node.network_layout, "storage": node.storage_layout}
    image = {"image": node.image, "kernel": node.kernel, "ephemeral": node.ephemeral, "user_data": node.user_data}
    # What is not said is left out: the digests of older designs stay the same.
    more = {name: getattr(node, name) for name in _SHAPING if getattr(node, name) is not None}
    more |= {"traits": sorted(node.traits)} if node.traits else {}
    labels = {"labels": dict(node.labels), "tags": sorted(node.tags), "rack": node.rack}
    return PlainDigest(_hash({**image, **layouts, **more}), _hash(labels))


def _joined(rest: str, labels: str) -> str:
    return f"{VERSION}:{rest}:{labels}"


def _split(digest: str) -> tuple[str, str] | None:
    version, *parts = digest.split(":")
    return (parts[0], parts[1]) if version == VERSION and len(parts) == 2 else None


def _digest_of(
    node: Document,
    parts: Mapping[str, Mapping[str, Document]],
    known: dict[tuple[str, str], str],
    boot_actions: Sequence[str],
) -> str:
    chain = profile_chain(node, parts[drydock.PROFILE_SCHEMA])
    makers = [node, *chain.profiles]
    used = {(document.schema, document.name) for document in makers}
    for document in makers:
        used.update(drydock.part_names(document.data))
    used.update((drydock.BOOT_ACTION_SCHEMA, name) for name in boot_actions)
    content = {}
    for schema, name in used:
        there = parts[schema].get(name)
        if (schema, name) not in known:
            # Profiles and networks serve many nodes: each is turned into text once.
            known[schema, name] = _hash(None if there is None else _shaping(there, parts[drydock.NETWORK_SCHEMA]))
        content[f"{schema} {name}"] = known[schema, name]
    return _hash([[document.name for document in makers], content])


def _shaping(document: Document, networks: Mapping[str, Document]) -> object:
    """Return what of a document shapes the nodes that use it."""
    data = drydock.shaping_data(document.schema, document.data)
    domains = drydock.route_domains(data) if document.schema == drydock.NETWORK_SCHEMA else frozenset()
    if not domains:
        return data
    others = [one.data for one in networks.values() if isinstance(one.data, Mapping)]
    ranges = {
        domain: sorted(str(one.get("cidr")) for one in others if one.get("routedomain") == domain) for domain in domains
    }
    return [data, ranges]


def _hashed(document: Document, key: DigestKey | None) -> str:
    plain = _hash(document.data)
    return plain if key is None else keyed(key, plain)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()
