"""What a design consists of, as a graph: each document is an object, and knows which others it uses.

The digest of an object is over its own data alone. What shapes a node is the node with all that it uses, directly or
through others (`digests.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from design_rendering import slipway_kinds as own
from design_rendering.drydock_kinds import (
    BOOT_ACTION_SCHEMA,
    HARDWARE_SCHEMA,
    LINK_SCHEMA,
    NETWORK_SCHEMA,
    NODE_MAKERS,
    NODE_SCHEMA,
    PROFILE_SCHEMA,
    REGION_SCHEMA,
    part_names,
    route_domains,
)
from design_rendering.kinds.boot_actions import boot_actions_of_nodes
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.node import Node
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from strategy_lib.parsing.notifications import NOTIFICATIONS_SCHEMA
from strategy_lib.parsing.site_settings import SITE_SETTINGS_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

OBJECT_KINDS = {
    NODE_SCHEMA: "node",
    PROFILE_SCHEMA: "host_profile",
    HARDWARE_SCHEMA: "hardware_profile",
    NETWORK_SCHEMA: "network",
    LINK_SCHEMA: "network_link",
    BOOT_ACTION_SCHEMA: "boot_action",
    REGION_SCHEMA: "region",
    "drydock/Rack/v1": "rack",
    own.NODE_SCHEMA: "node",
    own.NODE_SET_SCHEMA: "node_set",
    own.SITE_SCHEMA: "site",
    own.USER_DATA_SCHEMA: "user_data",
    STRATEGY_SCHEMA: "strategy",
    CONFIGURATION_SCHEMA: "configuration",
    NOTIFICATIONS_SCHEMA: "notifications",
    SITE_SETTINGS_SCHEMA: "site_settings",
}
"""The kind of an object, by the schema of its document. An object of any other schema has that as its kind."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
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


def design_objects(documents: Iterable[Document], nodes: Iterable[Node]) -> tuple[DesignObject, ...]:
    """Return the objects of a rendered design, by kind and name; abstract documents are none.

    Raises `DocumentError` when two documents have the same schema, layer and name.
    """
    all_documents = list(documents)
    schemas = dict.fromkeys(document.schema for document in all_documents)
    by_schema = {schema: find_documents(all_documents, schema) for schema in schemas}
    boot_actions = by_schema.get(BOOT_ACTION_SCHEMA, {})
    booted = boot_actions_of_nodes(boot_actions.values(), list(nodes))
    domains = _networks_by_domain(by_schema.get(NETWORK_SCHEMA, {}))
    sites = [ObjectKey(kind_of(own.SITE_SCHEMA), name) for name in by_schema.get(own.SITE_SCHEMA, {})]
    found = [
        DesignObject(ObjectKey(kind_of(schema), name), _digest(document), _uses(document, booted, domains, sites))
        for schema, members in by_schema.items()
        for name, document in members.items()
    ]
    return tuple(sorted(found, key=lambda one: one.key))


def parts_of_nodes(objects: Iterable[DesignObject]) -> dict[str, frozenset[ObjectKey]]:
    """Return for each node the objects that it uses, directly or through others, and itself; missing ones included."""
    uses = {one.key: one.uses for one in objects}
    found = {}
    for key in uses:
        if key.kind == kind_of(NODE_SCHEMA):
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
    if document.schema in NODE_MAKERS and isinstance(document.data, Mapping):
        parent = document.data.get("host_profile")
        if isinstance(parent, str) and parent:
            used.add(ObjectKey(kind_of(PROFILE_SCHEMA), parent))
        used.update(ObjectKey(kind_of(schema), name) for schema, name in part_names(document.data))
    if document.schema == NODE_SCHEMA:
        used.update(ObjectKey(kind_of(BOOT_ACTION_SCHEMA), name) for name in booted.get(document.name, ()))
    if document.schema == NETWORK_SCHEMA:
        routed = (name for domain in route_domains(document.data) for name in domains.get(domain, ()))
        used.update(ObjectKey(kind_of(NETWORK_SCHEMA), name) for name in routed if name != document.name)
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


def _digest(document: Document) -> str:
    text = json.dumps(document.data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
