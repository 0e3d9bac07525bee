"""Edges of nodes into error or undefined, and out of it: each is an event, and told once, those of a look together."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, select

from site_store.records import Lease
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, insert
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import require_lease
from site_store.status.outbox import write_notification
from site_store.tables import node, node_trouble
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.status.words import Status

TROUBLED: Final = (str(Status.ERROR), str(Status.UNDEFINED))
GONE: Final = "gone"
"""What is said of a node that the site does not know any more."""
MOST_TOLD: Final = 1000
"""At most this many edges are in one notification; the others are in the next."""


class NodeTroubles(Repository):
    """What was told of the nodes of sites."""

    def tell(self, held: Lease, site: str) -> int:
        """Tell of the nodes that are in trouble, or no longer, since the last look; return how many.

        The edges, what was told, the events and the notification are written together, so that each edge is told by one
        notification, whose id stays the same.

        Parameters
        ----------
        held : the leader's lease.

        Raises
        ------
        LeaseLost : another process may lead by now; nothing was written.
        """

        def work(tx: Connection, now: datetime) -> int:
            edges = _edges(tx, site)
            if not edges:
                return 0
            require_lease(tx, held, now)
            _keep(tx, now, site, edges)
            said = [
                NewEvent(
                    EventKind.NODE_TROUBLE,
                    f"{edge['before'] or 'well'} -> {edge['after']}"
                    + (f": {edge['message']}" if edge["message"] else ""),
                    node=edge["node"],
                    data={"id": edge["id"], "before": edge["before"], "after": edge["after"]},
                )
                for edge in edges
            ]
            write_events(tx, now, site, None, said)
            write_notification(tx, now, site, NotificationKind.NODE_TROUBLE, data={"edges": edges})
            return len(edges)

        def differs(tx: Connection) -> bool:
            return bool(_edges(tx, site))

        return self._transact(work) if self._database.read(differs) else 0


def _edges(tx: Connection, site: str) -> list[dict[str, Any]]:
    """Return what differs between what was told and what is so, by node; `before` is None for one that was well."""
    rows = tx.execute(select(node_trouble.c.node, node_trouble.c.status).where(node_trouble.c.site == site))
    told: dict[str, str] = {row.node: row.status for row in rows}
    facts = select(node.c.name, node.c.standing, node.c.error, node.c.version).where(node.c.site == site)
    troubled = facts.where(node.c.standing.in_(TROUBLED))
    found = {row.name: row for row in tx.execute(troubled)}
    different = [name for name, row in found.items() if told.get(name) != row.standing]
    names = sorted([*different, *(told.keys() - found.keys())])[:MOST_TOLD]
    if not names:
        return []
    now = {row.name: row for row in tx.execute(facts.where(among(node.c.name, names)))}
    edges = []
    for name in names:
        row, before = now.get(name), told.get(name)
        after, version = (GONE, 0) if row is None else (row.standing, row.version)
        # The record's version grows with all that is written of it: of each edge it is another.
        key = f"{site}\n{name}\n{version}\n{before}\n{after}"
        edges.append(
            {
                "id": hashlib.sha256(key.encode()).hexdigest()[:26],
                "node": name,
                "before": before,
                "after": after,
                "message": row.error if row is not None and after in TROUBLED else None,
            }
        )
    return edges


def _keep(tx: Connection, now: datetime, site: str, edges: list[dict[str, Any]]) -> None:
    well = [edge["node"] for edge in edges if edge["after"] not in TROUBLED]
    if well:
        tx.execute(delete(node_trouble).where(node_trouble.c.site == site, among(node_trouble.c.node, well)))
    rows = [
        {"site": site, "node": edge["node"], "status": edge["after"], "since": now}
        for edge in edges
        if edge["after"] in TROUBLED
    ]
    if rows:
        row = insert(node_trouble).values(rows)
        changes = {"status": row.excluded.status, "since": row.excluded.since}
        tx.execute(row.on_conflict_do_update(index_elements=["site", "node"], set_=changes))
