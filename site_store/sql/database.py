"""Connections and transactions: one function runs in one transaction, and again when the database asks for it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from sqlalchemy import URL, Connection, Engine, Pool, Table, create_engine, event, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from site_store.sql import fence
from site_store.sql.address import describe
from site_store.sql.errors import SchemaNotCurrent, StoreError, StoreUnavailable, ValueRefused
from site_store.sql.postgresql import analyse, database_time, given_clock, is_pooled, known_rows
from site_store.sql.sealing import Sealing
from site_store.sql.unreachable import explain, no_writes

T = TypeVar("T")

_ATTEMPTS = 6
_POSTGRESQL_DEFAULTS = {
    "connect_timeout": 10,
    "application_name": "slipway",
    # A server that is gone without a word: seconds until it is asked for a sign of life, and between two questions.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    # Milliseconds until what was sent has to be taken over there.
    "tcp_user_timeout": 30_000,
}
STATEMENT_SECONDS = 60
"""So long a statement may take, with its waiting for others; the largest need some seconds."""
ANSWER_SECONDS = 75
"""So long an answer is waited for: a server that is silent does not end its statements either."""
_FEW_ROWS = 1000
_KEPT_CONNECTIONS = 8
"""At most this many idle connections stay open in a process: to open one costs several reads."""
_RETRIED_SQLSTATES = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_LIMIT_EXCEEDED = "54"
_ENDED_FOR_SILENCE = "25P03"
_READ_ONLY = "25006"

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
_inherited: list[Pool] = []


def _forget_inherited_connections() -> None:
    """After a fork: the child must not talk on its parent's connections, nor close them, nor have them collected."""
    for engine in list(_engines):
        _inherited.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forget_inherited_connections)


class Database:
    """A database and its transactions. Safe for several threads, and after a fork.

    Every failure comes out as a `StoreError`; no parameter and no password is ever part of a message.
    """

    def __init__(
        self,
        url: URL,
        now: Callable[[], datetime] | None = None,
        *,
        bounded: bool = True,
        idle_seconds: float | None = None,
        keys: tuple[str, ...] = (),
    ) -> None:
        """Nothing is opened yet.

        Parameters
        ----------
        now : the clock of tests, in aware times, in place of the machine's and of the database's.
        bounded : whether statements have to end in time. Migrations take as long as they take.
        idle_seconds : after so long PostgreSQL ends a transaction whose process is silent, and frees what it locked.
        keys : what texts with secrets are encrypted with (`sealing.read_keys`).
        """
        self.url = url
        self.sealing = Sealing(keys, self.read_once, self.write)
        self._given_clock = now
        self._version = fence.CURRENT
        self.name = describe(url)
        self.engine = _engine(url, bounded, idle_seconds)
        # One snapshot for all statements of a read.
        self._reading = self.engine.execution_options(isolation_level="REPEATABLE READ")
        # A statement by itself is a snapshot, and needs no transaction around it: half of the round trips.
        self._reading_once = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        _engines.add(self.engine)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot; nothing that it writes is kept."""
        return self._run(self._reading, work, keep=False)

    def read_once(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which executes one reading statement: what is read again and again costs least so."""
        return self._run(self._reading_once, work, keep=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction and commit it; if it raises, nothing has happened.

        `work` may run several times, and must therefore change nothing but the database.

        Raises `StoreUnavailable`: the database could not be reached, or stayed locked. Repeating the whole call is
        safe. Raises `ValueRefused`: the database refused a value. Raises `SchemaNotCurrent`: the store was upgraded
        since this process began, and its version may not write there any more (rule 60).
        """
        return self.write_at(lambda tx, _: work(tx))

    def write_at(self, work: Callable[[Connection, datetime], T]) -> T:
        """Do the same with the time of the database: to ask whether one may write tells it (`shared_time`)."""

        def admitted(tx: Connection) -> T:
            moment = fence.enter(tx, self._version)
            return work(tx, self._given_clock() if self._given_clock else moment)

        return self._run(self.engine, admitted, keep=True)

    def upgrade(self, work: Callable[[Connection], T]) -> T:
        """Run `work` as `write` does, whatever the schema is: for what brings that up to date."""
        return self._run(self.engine, work, keep=True)

    def refresh_statistics(self, rows: int, *tables: Table) -> None:
        """Let the database look at tables that have just grown by so many rows: it plans by what it knows of them.

        PostgreSQL does so by itself a minute later. Tables that it knows to be about as large
        are left alone, and so are small ones.
        """
        if rows < _FEW_ROWS:
            return

        def work(tx: Connection) -> None:
            if known_rows(tx, tables) * 2 < rows:
                analyse(tx, tables)

        # What was added is there, whether or not this succeeds.
        with contextlib.suppress(StoreError):
            self.write(work)

    def machine_time(self) -> datetime:
        """Return the time of this machine: for what people read."""
        return self._given_clock() if self._given_clock else datetime.now(UTC)

    def shared_time(self, tx: Connection) -> datetime:
        """Return the time of the database: for what several machines compare, such as the end of a lease."""
        return self._given_clock() if self._given_clock else database_time(tx)

    def close(self) -> None:
        """Close all idle connections; the database opens new ones when used again."""
        self.engine.dispose()

    def _run(self, engine: Engine, work: Callable[[Connection], T], *, keep: bool) -> T:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with given_clock(self._given_clock), engine.connect() as connection:
                    result = work(connection)
                    if keep:
                        connection.commit()
                    return result
            except DBAPIError as error:
                if attempt == _ATTEMPTS or not _asks_for_repetition(error):
                    raise self._explained(error) from error
                # Spread, so that two that met do not meet again.
                time.sleep(random.uniform(0.5, 1.0) * 0.02 * 2**attempt)
        raise AssertionError("unreachable")

    def _explained(self, error: DBAPIError) -> StoreError:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        if getattr(error.orig, "sqlstate", None) == fence.REFUSED:
            return SchemaNotCurrent(f"the {self.name} refuses it: {reason}")
        if getattr(error.orig, "sqlstate", None) == _READ_ONLY:
            what, fix = no_writes(self.url)
            return StoreUnavailable(f"the {self.name} cannot be used: {what}", fix)
        # What is larger than can be indexed is an OperationalError too, and does not get smaller by repetition.
        wrong = str(getattr(error.orig, "sqlstate", None) or "").startswith(_LIMIT_EXCEEDED)
        ended = getattr(error.orig, "sqlstate", None) == _ENDED_FOR_SILENCE
        if ended or (isinstance(error, OperationalError | InterfaceError) and not wrong):
            return explain(self.url, self.name, error.orig)
        return ValueRefused(f"{self.name} refused what it was given: {reason}")


class Repository:
    """All that the store does with one noun: each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> datetime:
        return self._database.machine_time()

    def _shared_now(self, tx: Connection) -> datetime:
        return self._database.shared_time(tx)

    def _transact(self, work: Callable[[Connection, datetime], T]) -> T:
        """Run `work` in one transaction, with the database's time (`Database.write_at`)."""
        return self._database.write_at(work)


def _asks_for_repetition(error: DBAPIError) -> bool:
    """Whether the database rolled back only because of others at work, so that the same again may well pass."""
    return getattr(error.orig, "sqlstate", None) in _RETRIED_SQLSTATES


def _dump_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for no answer longer than `ANSWER_SECONDS`."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer; the connection of one that never came can be used no more."""
        try:
            return super().wait(gen, interval, ANSWER_SECONDS if timeout is None else timeout)
        except psycopg.OperationalError:
            if timeout is None and self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise


def _engine(url: URL, bounded: bool, idle_seconds: float | None = None) -> Engine:
    engine = create_engine(
        url,
        # Whatever the server's default is: who may write is read behind the lock of that (rule 60).
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        json_serializer=_dump_json,
        pool_pre_ping=True,
        pool_size=_KEPT_CONNECTIONS,
        max_overflow=20,
        pool_recycle=1800,
        connect_args={key: value for key, value in _POSTGRESQL_DEFAULTS.items() if key not in url.query},
    )
    limits = _limits(url, bounded, idle_seconds)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        if is_pooled(connection):
            # Each transaction may have another connection of the pooler's, on which others have prepared statements.
            connection.prepare_threshold = None
        else:
            # Not among the options of the connection: poolers refuse those.
            for setting, value in limits.items():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
        connection.commit()

    @event.listens_for(engine, "begin")
    def begun(tx: Connection) -> None:
        pooled = tx.connection.driver_connection.prepare_threshold is None  # type: ignore[union-attr]
        if pooled and tx.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            # What is set for a session stays with the connection, which the pooler gives to another.
            for setting, value in limits.items():
                tx.execute(text("SELECT set_config(:setting, :value, true)"), {"setting": setting, "value": value})

    if not bounded:
        return engine

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        return _BoundedConnection.connect(*arguments, **options)

    return engine


def _limits(url: URL, bounded: bool, idle_seconds: float | None) -> dict[str, str]:
    """Return PostgreSQL's settings that end what takes too long."""
    found = {}
    if bounded and "statement_timeout" not in str(url.query.get("options", "")):
        found["statement_timeout"] = f"{STATEMENT_SECONDS}s"
    if bounded and idle_seconds is not None:
        found["idle_in_transaction_session_timeout"] = f"{round(idle_seconds * 1000)}ms"
    return found


class OneMoment(Database):
    """Reads all in one transaction, which belongs to one thread. It writes nothing, and repeats nothing."""

    def __init__(self, database: Database, connection: Connection) -> None:
        vars(self).update(vars(database))
        self._connection = connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on the snapshot. Raises `StoreUnavailable`: the whole answer has to be made again."""
        try:
            with given_clock(self._given_clock):
                return work(self._connection)
        except DBAPIError as error:
            raise self._explained(error) from error

    def read_once(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on the snapshot, as `read` does."""
        return self.read(work)

    def write_at(self, work: Callable[[Connection, datetime], T]) -> T:
        """Refuse it: `StoreError`."""
        raise StoreError("a view of one moment is for reading: write with the store that it was made of")


@contextmanager
def one_moment(database: Database) -> Iterator[OneMoment]:
    """Give the database as it is when it is first read.

    Raises `StoreUnavailable`: it could not be reached.
    """
    try:
        connection = database._reading.connect()
    except DBAPIError as error:
        raise database._explained(error) from error
    with connection:
        yield OneMoment(database, connection)
