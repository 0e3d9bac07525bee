"""What happened: a history for people, bounded by `Events.prune`. No decision is ever taken from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, literal, select

from site_store.records import EventRecord, Lease
from site_store.sql.errors import NotFound
from site_store.sql.postgresql import names
from site_store.sql.rows import filled, plain
from site_store.status.leases import LedRepository
from site_store.tables import event


class EventKind(StrEnum):
    """What the store itself writes to the history; others may add kinds of their own."""

    SITE_ACQUIRED = "site_acquired"
    SITE_TAKEN_OVER = "site_taken_over"
    ACTION_CLOSED = "action_closed"
    ACTION_REOPENED = "action_reopened"
    NEW_ATTEMPT = "new_attempt"
    EARLIER_RESULT = "earlier_result"
    GROUP_FINISHED = "group_finished"
    APPROVAL = "approval"
    OPERATION_BEGUN = "operation_begun"
    OUTCOME = "outcome"
    SUPERSEDED = "superseded"
    CONTRADICTION = "contradiction"
    IGNORED = "ignored"
    LATE_RESULT = "late_result"
    TOUCHED = "touched"
    ADOPTED = "adopted"
    USER_STATE = "user_state"
    NODE_STATE = "node_state"
    DRIFT = "drift"
    REPAIR = "repair"
    NODE_TROUBLE = "node_trouble"
    RESTORED = "restored"
    WATCHING = "watching"
    REPORTER = "reporter"


KEPT = (EventKind.NEW_ATTEMPT, EventKind.ACTION_REOPENED)
"""Events that are never deleted: they say what came of an attempt, or of an action, before it began again."""


_MANY_ALIKE = 100


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be written."""

    kind: str
    message: str
    group: str | None = None
    node: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


def write_events(tx: Connection, at: datetime, site: str, action_id: str | None, events: Iterable[NewEvent]) -> None:
    """Add events in the caller's transaction."""
    rows = [
        {
            "at": at,
            "site": site,
            "action_id": action_id,
            "group_name": new.group,
            "node": new.node,
            "kind": str(new.kind),
            "message": new.message,
            "data": plain(new.data),
        }
        for new in events
    ]
    if rows:
        tx.execute(insert(event), rows)


def write_node_events(tx: Connection, at: datetime, site: str, nodes: Collection[str], new: NewEvent) -> None:
    """Add the same event of each of these nodes in the caller's transaction: of very many it is one statement."""
    if len(nodes) < _MANY_ALIKE:
        write_events(tx, at, site, None, [replace(new, node=name) for name in nodes])
        return
    these = names(nodes).subquery()
    facts = {"at": at, "site": site, "kind": str(new.kind), "message": new.message, "data": plain(new.data)}
    said = (literal(value, event.c[name].type) for name, value in facts.items())
    tx.execute(insert(event).from_select(["node", *facts], select(*these.c, *said)))


def read_events(tx: Connection, action_id: str, limit: int, *, of_nodes: bool = True) -> list[EventRecord]:
    """Return the newest `limit` events of an action, oldest first; without those of single nodes on demand."""
    newest = select(event).where(event.c.action_id == action_id).order_by(event.c.id.desc()).limit(limit)
    if not of_nodes:
        newest = newest.where(event.c.node.is_(None))
    return [_record(row) for row in reversed(tx.execute(newest).all())]


def _record(row: Row[*tuple[Any, ...]]) -> EventRecord:
    return filled(EventRecord, row, group=row.group_name)


class Events(LedRepository):
    """The history."""

    def add(
        self,
        site: str,
        kind: str,
        message: str,
        *,
        action_id: str | None = None,
        group: str | None = None,
        node: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one event, now."""
        new = NewEvent(kind, message, group, node, data or {})
        self._database.write(lambda tx: write_events(tx, self._shared_now(tx), site, action_id, [new]))

    def of_action(self, action_id: str, limit: int = 1000, *, of_nodes: bool = True) -> list[EventRecord]:
        """Return the newest `limit` events of an action, oldest first; without those of single nodes on demand."""
        return self._database.read(lambda tx: read_events(tx, action_id, limit, of_nodes=of_nodes))

    def get(self, number: int) -> EventRecord:
        """Return an event by its number. Raises `NotFound`: there is none, or none any more."""
        row = self._database.read(lambda tx: tx.execute(select(event).where(event.c.id == number)).one_or_none())
        if row is None:
            raise NotFound(f"there is no event {number}: events are deleted after a while")
        return _record(row)

    def prune(self, older_than: datetime, held: Lease | None = None) -> int:
        """Delete events before a moment, except `KEPT`, and return how many. Only metrics depend on what is kept.

        Raises `LeaseLost`: `held` is not held any more, which a controller names.
        """
        old = delete(event).where(event.c.at < older_than, event.c.kind.not_in(KEPT))

        def work(tx: Connection, _now: datetime) -> int:
            return tx.execute(old).rowcount

        return self._transact_led(held, work)
