"""Sites that nobody watches: those of demos, whose simulated machines are gone. They alone can be taken away."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, case, delete, literal, null, or_, select, update

from site_store.nodes.drifts import is_drifted, is_powered_on
from site_store.records import OPEN
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError
from site_store.sql.home import keep_newest_op
from site_store.sql.postgresql import clock, insert
from site_store.status.counting import touch_site
from site_store.status.events import EventKind, NewEvent, write_node_events
from site_store.status.leases import DESIGN, lease_of
from site_store.status.reporters import OWNER
from site_store.tables import (
    action,
    check_result,
    lease,
    metadata,
    node,
    node_drift,
    owner,
    provisioner_call,
    revision,
    revision_collection,
    site_stop,
    status_count,
    task_trouble,
)
from site_store.tables import site as site_table
from strategy_lib.status.words import Status


class SiteInUse(StoreError):
    """A site is taken away only where nobody watches it and no action is open: end its action, and stop its demo."""


class SiteStops(Repository):
    """Which sites are stopped: neither watched nor judged for drift, and why."""

    def put(self, site: str, why: str, after: float = 0.0) -> None:
        """Have nobody watch a site from a moment on; until then it is watched as any other.

        Who keeps its provisioner alive says again and again that this moment is later. A site may be named that was
        not committed yet. Where the moment is now, its drifts are over.

        Parameters
        ----------
        why : in a few words, shown as the state of the watch.
        after : seconds from now on, by the database's clock.
        """

        def work(tx: Connection, now: datetime) -> None:
            row = insert(site_stop).values(site=site, why=why, at=now + timedelta(seconds=after), resumed=now)
            resumed = case((site_stop.c.at <= now, now), else_=site_stop.c.resumed)
            new = {"why": row.excluded.why, "at": row.excluded.at, "resumed": resumed}
            tx.execute(row.on_conflict_do_update(index_elements=["site"], set_=new))
            if after <= 0:
                _settle(tx, now, site)

        self._transact(work)

    def of_sites(self) -> dict[str, str]:
        """Return all sites that have a revision, by name, each with why nobody watches it now; "": it is watched."""
        here = and_(site_stop.c.site == site_table.c.name, site_stop.c.at <= clock())
        query = select(site_table.c.name, site_stop.c.why).select_from(site_table.outerjoin(site_stop, here))
        return self._database.read_once(lambda tx: {row.name: row.why or "" for row in sorted(tx.execute(query))})

    def settle(self, site: str) -> None:
        """End what was found of a stopped site: its drifts, and the check of its provisioner. Again changes nothing."""
        self._database.write(lambda tx: _settle(tx, self._shared_now(tx), site))

    def remove_site(self, site: str) -> None:
        """Take a stopped site away with all that is known of it, in one transaction.

        Raises `SiteInUse`: the site is watched, or an action of it is open; nothing was changed.
        """

        def work(tx: Connection) -> None:
            if _why(tx, self._shared_now(tx), site) is None:
                raise SiteInUse(f"site {site} is watched: only that of a demo that is over is taken away")
            open_one = select(action.c.id).where(action.c.site == site, action.c.state.in_(OPEN)).limit(1)
            busy = tx.scalar(open_one)
            if busy is not None:
                raise SiteInUse(f"action {busy} of site {site} is open: stop it, wait for its end, and try again")
            _remove(tx, site)

        self._database.write(work)


def _why(tx: Connection, now: datetime, site: str) -> str | None:
    here = (site_stop.c.site == site, site_stop.c.at <= now)
    why: str | None = tx.scalar(select(site_stop.c.why).where(*here).with_for_update())
    return why


def _settle(tx: Connection, now: datetime, site: str) -> None:
    why = _why(tx, now, site)
    if why is None:
        return
    touch_site(tx, site)
    cleared = dict.fromkeys(("error", "error_revision", "error_version", "error_action"), null())
    healed = (
        update(node)
        .where(node.c.site == site, or_(is_drifted, is_powered_on))
        .values(status=str(Status.SUCCESS), version=node.c.version + 1, last_updated=now, **cleared)
        .returning(node.c.name)
    )
    names = sorted(tx.scalars(healed))
    tx.execute(update(node_drift).where(node_drift.c.site == site, node_drift.c.ended.is_(None)).values(ended=now))
    tx.execute(delete(check_result).where(check_result.c.subject.in_(checks_of(site))))
    if names:
        said = NewEvent(EventKind.DRIFT, f"it is not judged any more: {why}")
        write_node_events(tx, now, site, names, said)


def checks_of(site: str) -> tuple[str, ...]:
    """Return the subjects of the checks of one site: does its provisioner answer, can its design be read."""
    return f"provisioner of site {site}", f"{DESIGN}{site}"


def _remove(tx: Connection, site: str) -> None:
    actions = select(action.c.id).where(action.c.site == site)
    revisions = select(revision.c.id).where(revision.c.site == site)
    # What has no column of the site, and is not taken away with a row above it.
    tx.execute(delete(revision_collection).where(revision_collection.c.revision_id.in_(revisions)))
    tx.execute(delete(task_trouble).where(task_trouble.c.action_id.in_(actions)))
    tx.execute(delete(lease).where(lease.c.name == lease_of(site)))
    tx.execute(delete(check_result).where(check_result.c.subject.in_(checks_of(site))))
    tx.execute(delete(owner).where(owner.c.name.like(f"{OWNER}%"), owner.c.name.endswith(f"@{site}", autoescape=True)))
    # The provisioner that no other site ever had.
    others = select(action.c.connection).where(action.c.site != site, action.c.connection.is_not(None))
    own = select(literal("provisioner:") + action.c.connection)
    own = own.where(action.c.site == site, action.c.connection.is_not(None), action.c.connection.not_in(others))
    tx.execute(delete(provisioner_call).where(provisioner_call.c.owner.in_(own)))
    tx.execute(delete(owner).where(owner.c.name.in_(own)))
    keep_newest_op(tx)
    # Tables with a foreign key come before those that they name.
    for table in reversed(metadata.sorted_tables):
        if "site" in table.c and table is not status_count:
            tx.execute(delete(table).where(table.c.site == site))
    tx.execute(delete(site_table).where(site_table.c.name == site))
    # Triggers have counted until here.
    tx.execute(delete(status_count).where(status_count.c.site == site))
