"""The version of a node's record, which `If-Match` names: every write of the record raises it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from site_store.errors import VersionChanged
from site_store.tables import node


def require_versions(tx: Connection, site: str, versions: Mapping[str, int] | None) -> None:
    """Make sure that records of nodes have these versions, and keep them so until the transaction ends.

    Raises `VersionChanged`: one has another.
    """
    for name, version in sorted((versions or {}).items()):
        known = select(node.c.version).where(node.c.site == site, node.c.name == name).with_for_update()
        found = tx.scalar(known)
        if found != version:
            raise VersionChanged(f"node {name}", version, found or 0)
