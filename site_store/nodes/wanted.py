"""What a commit wants of each node: the digest of its design, and since which version and revision (rule 37)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, func, literal, select, true, update

from site_store.nodes.node_status import provisioner_owner
from site_store.sql.postgresql import among, by_code_point, insert, pairs_of
from site_store.status.owner_queries import default_owner
from site_store.tables import node

# At most this many nodes are written by one statement, which must end within the database's time limit.
_AT_ONCE = 50_000


def write_wanted(
    tx: Connection, site: str, revision: int, digests: Mapping[str, str], racks: Mapping[str, str] | None = None
) -> None:
    """Say in the caller's transaction what a revision wants: these nodes, each in this version, and no others.

    What stays as it is keeps the revision that brought it, and its version: a commit that changes nothing of a node
    raises nothing (rule 37). The version of a node that leaves the design and comes back goes on. A new version has not
    been tried yet: failures are of the one before.
    The site's nodes are locked by name, so that two who do so at once do not wait for each other.

    Parameters
    ----------
    racks : the racks of nodes, which a node that the site does not have yet gets at once; of others `write_racks`
        writes those that differ.
    """
    by_name = by_code_point(node.c.name)
    locked = select(node.c.name, node.c.wanted_revision).where(node.c.site == site).order_by(by_name).with_for_update()
    gone = [name for name, number in tx.execute(locked).all() if number is not None and name not in digests]
    # Of nodes that no action has considered yet: who works on the others.
    owner = tx.scalar(default_owner(site)) or provisioner_owner(None)
    sorted_digests = sorted(digests.items())
    for first in range(0, len(sorted_digests), _AT_ONCE):
        _want(tx, site, revision, dict(sorted_digests[first : first + _AT_ONCE]), racks or {}, owner)
    if gone:
        left = update(node).where(node.c.site == site, among(node.c.name, gone))
        tx.execute(left.values(wanted_revision=None, wanted_digest=None, version=node.c.version + 1))


def _want(
    tx: Connection, site: str, revision: int, digests: Mapping[str, str], racks: Mapping[str, str], owner: str
) -> None:
    """Write that these nodes are wanted with these digests, by one statement."""
    wanted = pairs_of({name: (digest, racks.get(name)) for name, digest in digests.items()})
    rows = insert(node).from_select(
        ["site", "name", "wanted_revision", "wanted_digest", "wanted_version", "owner", "rack"],
        select(
            literal(site),
            wanted.c.key,
            literal(revision),
            wanted.c.first,
            literal(1),
            literal(owner),
            wanted.c.second,
        ).where(true()),
    )
    tx.execute(
        rows.on_conflict_do_update(
            index_elements=["site", "name"],
            set_={
                "wanted_revision": rows.excluded.wanted_revision,
                "wanted_digest": rows.excluded.wanted_digest,
                "wanted_version": func.coalesce(node.c.wanted_version, 0) + 1,
                "failures": 0,
                "next_try": None,
                "version": node.c.version + 1,
            },
            where=node.c.wanted_digest.is_distinct_from(rows.excluded.wanted_digest),
        )
    )
