"""Whether anybody looks at the nodes of each site, and what is told of it: an event and a notification at each edge."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, literal, select, update

from site_store.records import Lease
from site_store.sql.postgresql import clock
from site_store.sql.rows import moment
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import LedRepository
from site_store.status.outbox import write_notification
from site_store.status.owner_queries import watched, watched_from
from site_store.tables import site
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.status.leaf import Shown
from strategy_lib.status.watching import Watched, judge_watching
from strategy_lib.status.words import Status


class Watches(LedRepository):
    """The watch over all sites."""

    def all(self) -> dict[str, Watched]:
        """Return how each site is watched, by its name."""
        return self._database.read_once(lambda tx: {name: seen for name, _, seen in _read(tx)})

    def note(self, held: Lease, led_since: datetime) -> dict[str, Shown]:
        """Write down at which sites nobody looks any more, and at which somebody does again; return what is shown.

        Whom a site tells is told. What was owed before there was this controller is not missed by it: the next list
        says how long there was none (`note_gap`).

        Parameters
        ----------
        held, led_since : the lease of the controller, and when it began to look, by the database's clock.

        Raises
        ------
        LeaseLost : nothing was written.
        """

        def work(tx: Connection, now: datetime) -> dict[str, Shown]:
            found = {}
            for name, since, seen in _read(tx):
                is_missed = seen.is_silent(now) and (since or now - led_since > timedelta(seconds=seen.allowed))
                if bool(is_missed) is not (since is not None):
                    found[name] = _note(tx, now, name, since, seen)
            return found

        return self._transact_led(held, work)


def note_gap(tx: Connection, now: datetime, name: str) -> None:
    """Keep in the caller's transaction that nobody looked at a site until now, where nobody was there to note it."""
    seen = watched_from(tx.scalar(select(watched(literal(name)))), now)
    if seen is not None and seen.is_silent(now):
        this = (site.c.name == name, site.c.unwatched_since.is_(None))
        tx.execute(update(site).where(*this).values(unwatched_since=seen.since))


def _read(tx: Connection) -> list[tuple[str, datetime | None, Watched]]:
    query = select(site.c.name, site.c.unwatched_since, watched(site.c.name), clock().label("now"))
    rows = tx.execute(query.order_by(site.c.name)).all()
    judged = [(row.name, row.unwatched_since, watched_from(row.watched, moment(row.now))) for row in rows]
    return [(name, since, seen) for name, since, seen in judged if seen is not None]


def _note(tx: Connection, now: datetime, name: str, since: datetime | None, seen: Watched) -> Shown:
    shown = judge_watching(seen, now)
    kind, value = NotificationKind.SITE_UNWATCHED, seen.since if since is None else None
    if since is not None:
        kind = NotificationKind.SITE_WATCHED
        again = f"the nodes are looked at again; nobody did so since {since:%Y-%m-%d %H:%M:%S} UTC"
        shown = Shown(Status.SUCCESS, shown.message or again)
    tx.execute(update(site).where(site.c.name == name).values(unwatched_since=value))
    data = {"status": str(shown.status), "message": shown.message, "since": (since or seen.since).isoformat()}
    write_events(tx, now, name, None, [NewEvent(EventKind.WATCHING, shown.message, data=data)])
    write_notification(tx, now, name, kind, data=data)
    return shown
