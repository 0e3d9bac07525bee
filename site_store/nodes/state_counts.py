"""How many nodes of each site are in which state, by three views of them, and how old the published one is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, func, select

from site_store.sql.database import Repository
from site_store.status.leases import lease_of
from site_store.tables import is_not_up, lease, node_view, site_view, user_state
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import Version


@dataclass(slots=True)
class StateCounts:
    """Numbers about one site.

    Attributes
    ----------
    reported, user, generated : how many of its nodes are in which state; one that was never seen is not reported.
    crashes : how many are counted against its nodes now.
    version, age : of the newest published one, and how many seconds ago that was; None before the first.
    leader : the process that leads it, None where none does.
    """

    reported: Counter[str] = field(default_factory=Counter)
    user: Counter[str] = field(default_factory=Counter)
    generated: Counter[str] = field(default_factory=Counter)
    crashes: int = 0
    version: Version | None = None
    age: float | None = None
    leader: str | None = None


class StateCounting(Repository):
    """Counts states of nodes."""

    def read(self) -> dict[str, StateCounts]:
        """Return the numbers of every site that a controller has looked at, or that has user states."""

        def work(tx: Connection) -> dict[str, StateCounts]:
            now = self._shared_now(tx)
            found: dict[str, StateCounts] = {}
            views = (node_view.c.site, node_view.c.state, node_view.c.reported)
            counted = select(*views, func.count().label("number"), func.sum(node_view.c.crashes).label("crashes"))
            for row in tx.execute(counted.group_by(*views)):
                site = found.setdefault(row.site, StateCounts())
                site.generated[row.state] += row.number
                site.crashes += row.crashes
                site.user[NodeAvailability.UP] += row.number
                if row.reported is not None:
                    site.reported[row.reported] += row.number
            _add_users(tx, now, found)
            for row in tx.execute(
                select(site_view.c.site, site_view.c.epoch, site_view.c.number, site_view.c.published_at)
            ):
                site = found.setdefault(row.site, StateCounts())
                site.version = Version(row.epoch, row.number)
                site.age = max(0.0, (now - row.published_at).total_seconds())
            owners = {
                row.name: row.owner
                for row in tx.execute(select(lease.c.name, lease.c.owner).where(lease.c.expires_at > now))
            }
            for name, site in found.items():
                site.leader = owners.get(lease_of(name))
            return found

        return self._database.read(work)


def _add_users(tx: Connection, now: datetime, found: dict[str, StateCounts]) -> None:
    """Take nodes whose user state is not up from those that are."""
    seen = (node_view.c.site == user_state.c.site) & (node_view.c.node == user_state.c.node)
    query = (
        select(user_state.c.site, user_state.c.state, func.count(), func.count(node_view.c.node))
        .outerjoin(node_view, seen)
        .where(is_not_up(now))
        .group_by(user_state.c.site, user_state.c.state)
    )
    for name, state, number, known in tx.execute(query):
        site = found.setdefault(name, StateCounts())
        site.user[state] += number
        site.user[NodeAvailability.UP] -= known
