"""Stored designs as schema 0006 reads them: the digests of their nodes anew, and as version 2 had them (rule 38)."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from design_rendering.changes.digests import node_digests
from design_rendering.changes.objects import DesignObject, design_objects
from design_rendering.documents import Document, find_documents, load_documents
from design_rendering.kinds.drydock_kinds import (
    HARDWARE_SCHEMA,
    LINK_SCHEMA,
    NETWORK_SCHEMA,
    NODE_SCHEMA,
    PROFILE_SCHEMA,
    data_without_labels,
    part_names,
)
from design_rendering.kinds.drydock_nodes import nodes_from_documents, profile_chain
from strategy_lib.errors import StrategyLibError
from strategy_lib.node import Node

DIGESTS = 3
"""The version of what goes into the digests from this schema on. A newer one needs a migration that has it so."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A revision's design: its documents and nodes, and the digest of each node."""

    documents: Sequence[Document]
    nodes: Sequence[Node]
    digests: Mapping[str, str]


class StoredDesigns:
    """Designs of revisions, each read once; those that cannot be read know no node."""

    def __init__(self, tx: sa.Connection) -> None:
        self._tx = tx
        self._read: dict[tuple[str, int], _Stored | None] = {}
        self._former: dict[tuple[str, int], Mapping[str, str]] = {}

    def digest(self, site: str, number: int | None, node: str) -> str | None:
        """Return the digest of a node in a revision; None where that is not known."""
        stored = self._stored(site, number)
        return None if stored is None else stored.digests.get(node)

    def former_digest(self, site: str, number: int | None, node: str) -> str | None:
        """Return the digest that the version before this schema had for a node in a revision."""
        stored = self._stored(site, number)
        if stored is None or number is None:
            return None
        if (site, number) not in self._former:
            self._former[site, number] = _former_digests(stored)
        return self._former[site, number].get(node)

    def objects(self, site: str, number: int) -> tuple[DesignObject, ...] | None:
        """Return what a revision's design consists of; None where it cannot be read."""
        stored = self._stored(site, number)
        return None if stored is None else design_objects(stored.documents, stored.nodes)

    def _stored(self, site: str, number: int | None) -> _Stored | None:
        if number is None:
            return None
        if (site, number) not in self._read:
            self._read[site, number] = _read(self._tx, site, number)
        return self._read[site, number]


def insert_objects(tx: sa.Connection, site: str, number: int, objects: Sequence[DesignObject]) -> None:
    """Write what a site's newest design consists of, each object in its first version."""
    kinds = ("site", "kind", "name", "digest", "uses_digest", "version", "revision")
    made = sa.table("design_object", *(sa.column(name) for name in kinds))
    use = sa.table("object_use", *(sa.column(name) for name in ("site", "kind", "name", "uses_kind", "uses_name")))
    rows, uses = [], []
    for one in objects:
        key = {"site": site, "kind": one.key.kind, "name": one.key.name}
        used = [[each.kind, each.name] for each in one.uses]
        digest = hashlib.sha256(json.dumps(used).encode()).hexdigest()
        rows.append({**key, "digest": one.digest, "uses_digest": digest, "version": 1, "revision": number})
        uses += [{**key, "uses_kind": kind, "uses_name": name} for kind, name in used]
    for table, values in ((made, rows), (use, uses)):
        if values:
            tx.execute(table.insert(), values)


def with_labels(anew: str, stored: str) -> str:
    """Return a digest with the labels of a stored one of version 2: how labels are hashed is as it was."""
    former, now = stored.split(":"), anew.split(":")
    return anew if len(former) != 3 or former[0] != "2" else ":".join((*now[:2], former[2]))


def _read(tx: sa.Connection, site: str, number: int) -> _Stored | None:
    query = sa.text(
        "SELECT content.text FROM revision JOIN content ON content.id = revision.design_id "
        "WHERE revision.site = :site AND revision.number = :number"
    )
    text = tx.scalar(query, {"site": site, "number": number})
    if text is None:
        return None
    try:
        documents = load_documents(zlib.decompress(bytes(text)).decode(), f"revision {number}")
        nodes = nodes_from_documents(documents)
        return _Stored(documents, nodes, node_digests(documents, nodes))
    except StrategyLibError:
        return None


def _former_digests(stored: _Stored) -> dict[str, str]:
    """Return digests of version 2: what they were over had no boot actions, and no route domains."""
    schemas = (NODE_SCHEMA, PROFILE_SCHEMA, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA)
    parts = {schema: find_documents(stored.documents, schema) for schema in schemas}
    labels = {node.name: node.labels for node in stored.nodes}
    known: dict[tuple[str, str], str] = {}
    found = {}
    for name, node in parts[NODE_SCHEMA].items():
        makers = [node, *profile_chain(node, parts[PROFILE_SCHEMA]).profiles]
        used = {(document.schema, document.name) for document in makers}
        for document in makers:
            used.update(part_names(document.data))
        for schema, part in used:
            if (schema, part) not in known:
                there = parts[schema].get(part)
                known[schema, part] = _hash(None if there is None else data_without_labels(schema, there.data))
        content = {f"{schema} {part}": known[schema, part] for schema, part in used}
        rest = _hash([[document.name for document in makers], content])
        found[name] = f"2:{rest}:{_hash(dict(labels.get(name, {})))}"
    return found


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
