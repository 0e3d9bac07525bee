"""Changes of objects on their way to those who watch them: told once at most, in any order, never again (rule 41).

They are notifications of the kind `objects_changed`, written in the transaction of the change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, delete, func, select, update

from design_rendering.kinds.objects import ObjectKey
from site_store.records import Lease
from site_store.sql.postgresql import insert
from site_store.sql.rows import filled
from site_store.status.leases import LedRepository
from site_store.status.outbox import outbox_record, read_notifications, update_delivery, write_notification
from site_store.status.status_records import DeliveryRecord, OutboxRecord
from site_store.tables import delivery, outbox
from strategy_lib.actors import WEBHOOK, concerns
from strategy_lib.parsing.notifications import NotificationKind

INSTALLED = "watcher:"
"""What the name of a watcher has before it as the target of a delivery; any other target is a webhook of the site."""

_AT_ONCE = 1000
_ROUTED_AT_ONCE = 100
_CHANGES = outbox.c.kind == str(NotificationKind.OBJECTS_CHANGED)
_BEGUN = "begun, and not known to have ended"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What a revision did to an object: `added`, `changed` or `removed`; the version that it has now, or had."""

    key: ObjectKey
    change: str
    version: int


@dataclass(frozen=True, slots=True)
class WatcherCount:
    """How many changes of those that are kept a watcher waits for, was told, or was told in vain."""

    watcher: str
    waiting: int = 0
    told: int = 0
    failed: int = 0


def write_changes(
    tx: Connection, now: datetime, site: str, changes: Sequence[ObjectChange], user: str, revision: int | None = None
) -> None:
    """Write in the caller's transaction what has changed; nothing where nothing has.

    Parameters
    ----------
    user, revision : who did it, and the revision that it is a part of; None: it was asked for again (`touch`).
    """
    for start in range(0, len(changes), _AT_ONCE):
        found = [[one.key.kind, one.key.name, one.change, one.version] for one in changes[start : start + _AT_ONCE]]
        data = {"revision": revision, "user": user, "changes": found}
        write_notification(tx, now, site, NotificationKind.OBJECTS_CHANGED, data=data)


def changes_of(event: OutboxRecord, names: Collection[str] = ()) -> tuple[ObjectChange, ...]:
    """Return the changes that an event tells of; with `names` only those of objects that they name."""
    return tuple(
        ObjectChange(ObjectKey(kind, name), change, version)
        for kind, name, change, version in event.data.get("changes", ())
        if not names or concerns(names, kind, name)
    )


def watcher_of(target: str) -> str:
    """Return the watcher that a delivery to this target is for."""
    return target.removeprefix(INSTALLED) if target.startswith(INSTALLED) else WEBHOOK


class ObjectChanges(LedRepository):
    """Changes of objects, and their deliveries to watchers."""

    def route(self, held: Lease, watchers: Mapping[str, Collection[str]]) -> int:
        """Decide who is told of what is new, and return of how many events; those that nobody watches are forgotten.

        Parameters
        ----------
        watchers : the watchers that are installed, with what they watch.

        Raises
        ------
        LeaseLost : nothing was written.
        """

        def work(tx: Connection, now: datetime) -> int:
            new = select(outbox).where(outbox.c.routed.is_(None), _CHANGES).order_by(outbox.c.id).limit(_ROUTED_AT_ONCE)
            found = [outbox_record(row) for row in tx.execute(new)]
            known = {site: read_notifications(tx, site) for site in {event.site for event in found}}
            watched: list[int] = []
            for event in found:
                hooks = known[event.site].wanting(NotificationKind.OBJECTS_CHANGED)
                names = {hook.name: frozenset(hook.objects) for hook in hooks}
                names |= {f"{INSTALLED}{name}": frozenset(watches) for name, watches in watchers.items()}
                told = [target for target, watches in names.items() if changes_of(event, watches)]
                for target in told:
                    row = insert(delivery).values(outbox_id=event.id, target=target, next_try=now)
                    tx.execute(row.on_conflict_do_nothing())
                watched += [event.id] if told else []
            ids = {event.id for event in found}
            tx.execute(update(outbox).where(outbox.c.id.in_(watched)).values(routed=now))
            tx.execute(delete(outbox).where(outbox.c.id.in_(ids.difference(watched))))
            return len(found)

        return self._transact_led(held, work)

    def waiting(self) -> set[str]:
        """Return the watchers that something waits for."""
        query = select(delivery.c.target).join(outbox, outbox.c.id == delivery.c.outbox_id)
        query = query.where(_CHANGES, delivery.c.next_try.is_not(None), delivery.c.delivered.is_(None)).distinct()
        return self._database.read(lambda tx: {watcher_of(target) for target in tx.scalars(query)})

    def take(self, held: Lease, watcher: str) -> tuple[OutboxRecord, DeliveryRecord] | None:
        """Return what a watcher is told next, and note that this has begun: nobody tells it again. None: nothing.

        Raises `LeaseLost`: another tells it.
        """
        installed = delivery.c.target.startswith(INSTALLED, autoescape=True)
        of_it = ~installed if watcher == WEBHOOK else delivery.c.target == f"{INSTALLED}{watcher}"

        def work(tx: Connection, _now: datetime) -> tuple[OutboxRecord, DeliveryRecord] | None:
            query = select(delivery).join(outbox, outbox.c.id == delivery.c.outbox_id).where(_CHANGES, of_it)
            query = query.where(delivery.c.next_try.is_not(None), delivery.c.delivered.is_(None))
            row = tx.execute(query.order_by(delivery.c.outbox_id, delivery.c.target).limit(1)).one_or_none()
            if row is None:
                return None
            found = filled(DeliveryRecord, row)
            tx.execute(update_delivery(found).values(attempts=1, next_try=None, error=_BEGUN))
            event = tx.execute(select(outbox).where(outbox.c.id == found.outbox_id)).one()
            return outbox_record(event), found

        return self._transact_led(held, work)

    def record(self, held: Lease, told: DeliveryRecord, error: str | None) -> None:
        """Keep what came of it; `error` has no secrets, and None is success. Raises `LeaseLost`."""

        def work(tx: Connection, now: datetime) -> None:
            done = None if error is not None else now
            tx.execute(update_delivery(told).values(error=error, delivered=done))

        self._transact_led(held, work)

    def counts(self) -> list[WatcherCount]:
        """Return for each watcher how many of the changes that are kept it was told, by name."""
        columns = (
            func.sum(_one(delivery.c.next_try.is_not(None))),
            func.sum(_one(delivery.c.delivered.is_not(None))),
            func.sum(_one(delivery.c.error.is_not(None))),
        )
        query = select(delivery.c.target, *columns).join(outbox, outbox.c.id == delivery.c.outbox_id).where(_CHANGES)
        rows = self._database.read(lambda tx: tx.execute(query.group_by(delivery.c.target)).all())
        found: dict[str, list[int]] = {}
        for target, *numbers in rows:
            before = found.setdefault(watcher_of(target), [0, 0, 0])
            found[watcher_of(target)] = [a + int(b) for a, b in zip(before, numbers, strict=True)]
        return [WatcherCount(name, *numbers) for name, numbers in sorted(found.items())]


def touched_nodes(versions: Mapping[str, int]) -> list[ObjectChange]:
    """Return nodes that were asked for again, with their new versions, as changes."""
    return [ObjectChange(ObjectKey("node", name), "touched", version) for name, version in sorted(versions.items())]


def _one(condition: Any) -> Any:
    return case((condition, 1), else_=0)
