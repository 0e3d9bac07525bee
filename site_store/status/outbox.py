"""The outbox: what others are told, written in the transaction of its event, and how far it is on its way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Update, delete, func, select, update
from ulid import ULID

from site_store.records import Lease
from site_store.sql.errors import NotFound
from site_store.sql.postgresql import insert
from site_store.sql.rows import filled, plain
from site_store.status.leases import LedRepository
from site_store.status.status_records import DeliveryRecord, OutboxRecord
from site_store.tables import delivery, outbox, revision
from strategy_lib.parsing.notifications import NOBODY, NotificationKind, Notifications, parse_notifications

_ROUTED_AT_ONCE = 500
_REPEATED = outbox.c.kind != str(NotificationKind.OBJECTS_CHANGED)


def write_notification(
    tx: Connection,
    now: datetime,
    site: str,
    kind: NotificationKind,
    *,
    action_id: str | None = None,
    group: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> str:
    """Write what happened in the caller's transaction, and return its event's id, which stays the same.

    Who is told is decided afterwards, by the site's newest document of notifications.

    Parameters
    ----------
    data : facts about it, without secrets; dates and sets are made JSON.
    """
    event_id = str(ULID.from_datetime(now))
    tx.execute(
        insert(outbox).values(
            event_id=event_id,
            site=site,
            kind=str(kind),
            action_id=action_id,
            group_name=group,
            created=now,
            data=plain(data or {}),
        )
    )
    return event_id


def read_notifications(tx: Connection, site: str) -> Notifications:
    """Return who is told what about a site, by its newest revision whose design could be read."""
    query = (
        select(revision.c.notifications)
        .where(revision.c.site == site, revision.c.notifications.is_not(None))
        .order_by(revision.c.number.desc())
        .limit(1)
    )
    found = tx.scalar(query)
    return NOBODY if found is None else parse_notifications(found)


class Outbox(LedRepository):
    """Notifications, and their deliveries to the targets of their sites."""

    def targets(self, site: str) -> Notifications:
        """Return who is told what about a site, by its newest revision."""
        return self._database.read(lambda tx: read_notifications(tx, site))

    def get(self, event_id: str) -> OutboxRecord:
        """Return a notification. Raises `NotFound`: no notification has this id, or it was deleted."""
        query = select(outbox).where(outbox.c.event_id == event_id)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        if row is None:
            raise NotFound(f"there is no notification {event_id!r} (any more)")
        return outbox_record(row)

    def newest(self, site: str, limit: int = 50) -> list[OutboxRecord]:
        """Return the newest notifications of a site, newest first."""
        query = select(outbox).where(outbox.c.site == site).order_by(outbox.c.id.desc()).limit(limit)
        return self._database.read(lambda tx: [outbox_record(row) for row in tx.execute(query)])

    def route(self, held: Lease) -> int:
        """Decide who is told of what is new, and return of how many events. Raises `LeaseLost`: nothing was written.

        Changes of objects are left out here and in `due`: they are told in another way (`object_changes.py`).
        """

        def work(tx: Connection, now: datetime) -> int:
            new = select(outbox).where(outbox.c.routed.is_(None), _REPEATED).order_by(outbox.c.id)
            found = [outbox_record(row) for row in tx.execute(new.limit(_ROUTED_AT_ONCE))]
            known = {site: read_notifications(tx, site) for site in {event.site for event in found}}
            for event in found:
                for target in known[event.site].wanting(NotificationKind(event.kind)):
                    row = insert(delivery).values(outbox_id=event.id, target=target.name, next_try=now)
                    tx.execute(row.on_conflict_do_nothing())
            if found:
                ids = [event.id for event in found]
                tx.execute(update(outbox).where(outbox.c.id.in_(ids)).values(routed=now))
            return len(found)

        return self._transact_led(held, work)

    def due(self, limit: int = 20) -> list[tuple[OutboxRecord, DeliveryRecord]]:
        """Return deliveries that are due, the longest first."""

        def work(tx: Connection) -> list[tuple[OutboxRecord, DeliveryRecord]]:
            query = (
                select(delivery)
                .join(outbox, outbox.c.id == delivery.c.outbox_id)
                .where(_REPEATED, delivery.c.delivered.is_(None), delivery.c.next_try <= self._shared_now(tx))
                .order_by(delivery.c.next_try, delivery.c.outbox_id, delivery.c.target)
                .limit(limit)
            )
            due = [filled(DeliveryRecord, row) for row in tx.execute(query)]
            events = select(outbox).where(outbox.c.id.in_([one.outbox_id for one in due]))
            by_id = {row.id: outbox_record(row) for row in tx.execute(events)}
            return [(by_id[one.outbox_id], one) for one in due]

        return self._database.read(work)

    def record_attempt(
        self, held: Lease, tried: DeliveryRecord, error: str | None, pause: timedelta | None = None
    ) -> None:
        """Keep what came of an attempt to deliver.

        Parameters
        ----------
        tried : the delivery as it was before.
        error : why it failed, without secrets; None: it was delivered.
        pause : after a failure: when to try again, from now on; None: never.

        Raises
        ------
        LeaseLost : the lease is lost; the attempt is repeated by another.
        """

        def work(tx: Connection, now: datetime) -> None:
            values: dict[str, Any] = {"attempts": tried.attempts + 1, "error": error, "next_try": None}
            if error is None:
                values["delivered"] = now
            elif pause is not None:
                values["next_try"] = now + pause
            tx.execute(update_delivery(tried).values(values))

        self._transact_led(held, work)

    def waiting(self) -> dict[str, int]:
        """Return how many deliveries each site has waiting, sites without any left out."""
        query = (
            select(outbox.c.site, func.count().label("number"))
            .join(delivery, delivery.c.outbox_id == outbox.c.id)
            .where(delivery.c.delivered.is_(None), delivery.c.next_try.is_not(None))
            .group_by(outbox.c.site)
        )
        return self._database.read(lambda tx: {row.site: row.number for row in tx.execute(query)})

    def prune(self, held: Lease, before: datetime) -> int:
        """Forget what happened before that, with its deliveries; return how much. Raises `LeaseLost`."""

        def work(tx: Connection, _now: datetime) -> int:
            return int(tx.execute(delete(outbox).where(outbox.c.created < before)).rowcount)

        return self._transact_led(held, work)


def update_delivery(told: DeliveryRecord) -> Update:
    """Return the statement that changes a delivery."""
    return update(delivery).where(delivery.c.outbox_id == told.outbox_id, delivery.c.target == told.target)


def outbox_record(row: Row[*tuple[Any, ...]]) -> OutboxRecord:
    return filled(OutboxRecord, row, group=row.group_name)
