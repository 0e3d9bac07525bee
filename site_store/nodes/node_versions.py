"""The version of a node's record, which `If-Match` names: every write raises it. Several records have one together."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from site_store.sql.errors import VersionChanged
from site_store.sql.postgresql import among
from site_store.tables import node


def require_versions(tx: Connection, site: str, versions: Mapping[str, int] | None) -> None:
    """Make sure that records of nodes have these versions, and keep them so until the transaction ends.

    Raises `VersionChanged`: one has another.
    """
    if not versions:
        return
    query = select(node.c.name, node.c.version).where(node.c.site == site, among(node.c.name, versions))
    # In one order, so that of two writers one waits for the other.
    found = {row.name: row.version for row in tx.execute(query.order_by(node.c.name).with_for_update())}
    for name, version in sorted(versions.items()):
        if found.get(name) != version:
            raise VersionChanged(f"node {name}", version, found.get(name, 0))


def common_version(versions: Mapping[str, int]) -> str:
    """Return the version of records of nodes together: of one its own, of several a digest of names and versions."""
    if len(versions) == 1:
        return str(next(iter(versions.values())))
    lines = "\n".join(f"{version} {name}" for name, version in sorted(versions.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def words_for(nodes: Collection[str]) -> str:
    """Return what an error calls these nodes."""
    first, *others = sorted(nodes)
    return f"{first} with {len(others)} more" if others else f"node {first}"


def read_versions(tx: Connection, site: str, nodes: Collection[str]) -> dict[str, int]:
    """Return the version of each of these records, as the caller's transaction sees them; of those that are there."""
    query = select(node.c.name, node.c.version).where(node.c.site == site, among(node.c.name, nodes))
    return {row.name: row.version for row in tx.execute(query)}


def read_common_version(tx: Connection, site: str, nodes: Collection[str]) -> str:
    """Return the version that records of nodes have together, as the caller's transaction sees them."""
    return common_version(read_versions(tx, site, nodes))
