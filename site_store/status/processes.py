"""Processes: who runs Slipway's code now, in which version, and what each says of its environment.

What is judged by it is `slipway doctor`'s and the upgrade's; no status of a site depends on it (rule 30 has owners).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, select, text

from site_store.records import Lease
from site_store.sql.postgresql import clock, insert, is_pooled
from site_store.sql.rows import filled, moment, plain
from site_store.status.leases import LedRepository
from site_store.tables import process, store_state


class Role(StrEnum):
    """What a process is for: as its command is called."""

    API_SERVER = "api-server"
    SCHEDULER = "scheduler"
    TRIGGERER = "triggerer"
    DAG_PROCESSOR = "dag-processor"
    WORKER = "worker"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True)
class ProcessNote:
    """What a process says of itself.

    Attributes
    ----------
    id : no other process has it. The tasks of a machine of workers share one: the newest is the machine's note.
    version : of Slipway.
    store_schema : the schema that its code writes.
    every_seconds : it notes itself so often; None: only when there is work, so that silence says nothing.
    environment : what the doctor judges, as JSON values; no secret, and of keys only what `Processes.salt` made.
    """

    id: str
    role: str
    version: str
    store_schema: str
    host: str
    pid: int
    every_seconds: float | None
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProcessRecord(ProcessNote):
    """A note with its times, by the database's clock; `clock_offset` is the seconds its own clock is ahead of that."""

    started: datetime
    last_sign: datetime
    clock_offset: float

    def silent_for(self, now: datetime) -> float:
        """Return the seconds since its last sign."""
        return (now - self.last_sign).total_seconds()


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The PostgreSQL of the store: how many connections it allows, and whether a pooler stands before it."""

    max_connections: int
    is_pooled: bool


def own_time() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


class Processes(LedRepository):
    """Processes by their ids."""

    def note(self, said: ProcessNote, own: Callable[[], datetime] = own_time) -> None:
        """Keep what a process says of itself, and that it is there now.

        Parameters
        ----------
        own : the clock of its machine, which is compared with the database's.
        """

        def work(tx: Connection, now: datetime) -> None:
            # Read next to each other: what lies between is a part of a round trip.
            offset = (own() - now).total_seconds()
            values = {**asdict(said), "environment": plain(said.environment)}
            row = insert(process).values(**values, started=now, last_sign=now, clock_offset=offset)
            changed = {name: row.excluded[name] for name in (*values, "last_sign", "clock_offset") if name != "id"}
            tx.execute(row.on_conflict_do_update(index_elements=["id"], set_=changed))

        self._transact(work)

    def forget(self, process_id: str) -> None:
        """Forget a process that ends as it was told to: its silence is no trouble."""
        self._transact(lambda tx, _: tx.execute(delete(process).where(process.c.id == process_id)))

    def prune(self, held: Lease, before: datetime) -> int:
        """Forget those whose last sign is older than a moment, and return how many. Raises `LeaseLost`."""
        old = delete(process).where(process.c.last_sign < before)
        return self._transact_led(held, lambda tx, _: tx.execute(old).rowcount)

    def all(self) -> tuple[datetime, list[ProcessRecord]]:
        """Return the database's time and all that are known, also those that are silent; by role and host."""

        def work(tx: Connection) -> tuple[datetime, list[ProcessRecord]]:
            rows = tx.execute(select(process).order_by(process.c.role, process.c.host, process.c.started)).all()
            return moment(tx.scalar(select(clock()))), [filled(ProcessRecord, row) for row in rows]

        return self._database.read(work)

    def server(self) -> ServerFacts:
        """Return what the store's PostgreSQL says of itself."""

        def work(tx: Connection) -> ServerFacts:
            allowed = int(tx.scalar(text("SELECT current_setting('max_connections')")) or 0)
            return ServerFacts(allowed, is_pooled(tx.connection.driver_connection))

        return self._database.read(work)

    def salt(self) -> str:
        """Return the salt of this installation: digests that are made with it say nothing elsewhere."""
        return self._database.read_once(lambda tx: str(tx.scalar(select(store_state.c.salt))))
