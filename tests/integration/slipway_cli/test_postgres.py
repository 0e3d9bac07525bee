"""The embedded PostgreSQL with real processes: who is let in, what it leaves alone, and that it starts again."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import psycopg
import pytest
from sqlalchemy import make_url, text

from site_store import SiteStore
from site_store.sql.address import resolve
from site_store.sql.database import Database
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import note_store, refuse_former_home, upgrade_store
from slipway_cli.embedded.postgres import AIRFLOW, STORE, PostgresCluster, PostgresProcess
from slipway_cli.embedded.postgres_account import MAJOR, free_ids, packages, programs
from slipway_cli.embedded.processes import end_leftovers, members, servers_of
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.postgres import make_cluster, running_server, start_server, with_files

SOCKET = ".s.PGSQL.5432"
STRANGER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
Server = tuple[PostgresCluster, PostgresProcess]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    with running_server(home) as running:
        yield running


def connect(cluster: PostgresCluster, database: str, **changes: str) -> psycopg.Connection:
    url = make_url(cluster.url(database))
    options = {"host": str(url.query["host"]), "user": str(url.username), "dbname": database} | changes
    return psycopg.connect(**options, connect_timeout=10)  # type: ignore[arg-type]  # mypy thinks of the context


def outcome_as(uid: int, gid: int, work: Callable[[], object]) -> str:
    """What becomes of it in a process of another user: "done", or the name of its exception and its message."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
            work()
            said = "done"
        except BaseException as error:  # noqa: BLE001 - it ends here, in a process of its own
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = lines.read()
    os.waitpid(child, 0)
    return said


def test_there_are_two_databases_and_a_role_that_owns_no_more(server: Server) -> None:
    for name in (AIRFLOW, STORE):
        with connect(server[0], name) as connection:
            facts = connection.execute(
                "SELECT current_database(), rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = user"
            ).fetchone()
        assert facts == (name, False, False, False)


def test_no_port_is_open_and_all_writes_are_waited_for(server: Server) -> None:
    cluster, _ = server
    pids = servers_of(cluster.data)
    assert len(pids) > 3
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):  # that of a connection which was just closed
            assert psutil.Process(pid).net_connections(kind="inet") == []
    with connect(cluster, STORE) as connection:
        for setting, value in (("fsync", "on"), ("synchronous_commit", "on"), ("listen_addresses", "")):
            assert connection.execute(f"SHOW {setting}".encode()).fetchone() == (value,)


def test_only_the_homes_own_user_can_reach_the_socket_and_the_data(server: Server) -> None:
    cluster, _ = server
    for folder in (cluster.data, cluster.sockets, cluster.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(cluster.folder.stat().st_mode) in (0o700, 0o710)
    assert stat.S_IMODE((cluster.sockets / SOCKET).stat().st_mode) == 0o700


@as_root
def test_another_user_is_refused(server: Server) -> None:
    cluster, _ = server

    def reach() -> None:
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(str(cluster.sockets / SOCKET))

    assert outcome_as(os.geteuid(), os.getegid(), reach) == "done"
    assert outcome_as(STRANGER, STRANGER, reach).startswith("PermissionError")
    assert outcome_as(STRANGER, STRANGER, lambda: connect(cluster, STORE).close()).startswith("OperationalError")


@as_root
def test_the_user_whom_it_runs_as_is_not_let_in_either(server: Server) -> None:
    cluster, _ = server
    found = cluster.data.stat()
    assert (found.st_uid, found.st_gid) == free_ids(), "it is nobody else's, and not root's"
    before = Path.cwd()
    os.chdir(cluster.data)  # past the home, which is closed to it
    try:
        for role in ("slipway", "postgres"):
            come_in = partial(connect, cluster, STORE, host="/proc/self/cwd/../run", user=role)
            said = outcome_as(*free_ids(), come_in)
            assert "Peer authentication failed" in said or "could not look up local user" in said, said
    finally:
        os.chdir(before)


def test_the_callers_own_postgresql_is_not_meant(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("PGPORT", "1"), ("PGHOST", "db.example"), ("PGUSER", "ann"), ("PGDATABASE", "hers")):
        monkeypatch.setenv(variable, value)
    cluster, process = server
    assert process.answers()
    database = Database(resolve(cluster.url(STORE)))
    assert database.read(lambda tx: tx.scalar(text("SELECT current_database()"))) == STORE
    database.close()


def test_a_role_that_is_not_ours_is_refused(server: Server) -> None:
    with pytest.raises(psycopg.OperationalError, match="Peer authentication failed"):
        connect(server[0], STORE, user="stranger")


@pytest.mark.endurance
def test_no_rights_of_folders_that_were_there_change(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    home = closed / "home"
    home.mkdir(parents=True)
    for folder in (closed, home):
        folder.chmod(0o700)
    before = [(f, f.stat().st_mode, f.stat().st_uid, f.stat().st_gid) for f in [home, *home.parents]]
    make_cluster(home)
    with running_server(home) as (cluster, _), connect(cluster, STORE) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert [(f, f.stat().st_mode, f.stat().st_uid, f.stat().st_gid) for f in [home, *home.parents]] == before


@pytest.mark.endurance
@pytest.mark.parametrize("name", ["x" * 120, "with blank, comma: and $SIGN"])
def test_a_home_with_a_long_or_odd_path_has_a_private_short_way(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    home.mkdir(mode=0o700)
    with running_server(home) as (cluster, _):
        way = cluster.host
        assert len(str(way / SOCKET)) < 108
        assert way.resolve() == cluster.sockets
        assert stat.S_IMODE(way.parent.stat().st_mode) == 0o700
        way.unlink()
        way.parent.rmdir()
        cluster.look_after()
        assert stat.S_IMODE(way.parent.stat().st_mode) == 0o700
        with connect(cluster, STORE) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not way.parent.exists()


@pytest.mark.endurance
def test_after_kill_9_of_all_it_starts_again_with_what_was_committed(tmp_path: Path) -> None:
    cluster, process = start_server(tmp_path)
    with connect(cluster, STORE) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.kill_rest()
    assert not process.is_running()
    # The number of the dead server may be another process's by now.
    lines = (cluster.data / "postmaster.pid").read_text().splitlines()
    (cluster.data / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with running_server(tmp_path) as (again, _), connect(again, STORE) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


def test_files_of_another_user_are_refused_by_name(tmp_path: Path) -> None:
    cluster = with_files(tmp_path)
    identities = cluster.data / "pg_ident.conf"
    identities.write_text(identities.read_text().replace(pwd.getpwuid(os.geteuid()).pw_name, "ann"))
    with pytest.raises(SlipwayCliError, match="was made by ann and lets in nobody else"):
        cluster.open()


@pytest.mark.endurance
def test_files_that_were_half_made_are_made_anew(tmp_path: Path) -> None:
    half = tmp_path / "postgresql" / "new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    assert not PostgresCluster(tmp_path).exists()
    make_cluster(tmp_path)
    with running_server(tmp_path) as (cluster, _):
        assert cluster.exists()
    assert not half.exists()


@pytest.mark.endurance
def test_a_server_whose_supervisor_is_gone_ends_by_itself(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.support.postgres import start_server\n"
        "print(start_server(Path(sys.argv[1]))[1].pid, flush=True); time.sleep(600)"
    )
    root = Path(__file__).parents[3]
    with_files(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert members({pid}) == [pid]
        parent.kill()
    with running_server(tmp_path) as (cluster, _):  # it answers only when the other one is gone
        assert pid not in servers_of(cluster.data)


@pytest.mark.endurance
def test_a_server_that_is_left_over_is_named_and_ended(tmp_path: Path) -> None:
    cluster, process = start_server(tmp_path)
    said = end_leftovers(tmp_path, cluster.data)
    assert any("postgres" in line and f"(process {process.pid})" in line for line in said)
    assert servers_of(cluster.data) == []
    process.is_running()


@pytest.mark.endurance
@as_root
def test_program_files_that_its_user_cannot_reach_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    (package,) = packages()
    assert programs(MAJOR, free_ids()).is_relative_to(package), "here it can reach them"
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        reachable, closed = Path(directory), Path(directory) / "closed"
        reachable.chmod(0o755)
        closed.mkdir(mode=0o700)  # as /root is
        for name in (package.name, f"{package.name}.libs"):
            (closed / name).symlink_to(package.with_name(name))
        monkeypatch.setattr("slipway_cli.embedded.postgres_account.packages", lambda: [closed / package.name])
        monkeypatch.setattr("slipway_cli.embedded.postgres_account.PROGRAM_COPIES", reachable / "copies")
        copied = programs(MAJOR, free_ids())
        assert copied.is_relative_to(reachable / "copies")
        done = subprocess.run(
            [copied / "initdb", "--version"], user=free_ids()[0], capture_output=True, text=True, check=True, cwd="/"
        )
        assert f"PostgreSQL) {MAJOR}." in done.stdout
        assert programs(MAJOR, free_ids()) == copied, "once is enough"


def test_a_new_home_gets_an_empty_store_beside_airflows_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = EmbeddedSettings.from_environment(home, 0, {})
    with running_server(home) as (cluster, _):
        step = upgrade_store(settings, dict(os.environ) | {"SLIPWAY_DATABASE_URL": cluster.url(STORE)})
        while not step.is_over():
            time.sleep(0.02)
        note_store(settings, cluster.url(STORE))
        with SiteStore.open((home / "store.url").read_text()) as store:
            assert store.sites.committed() == []
        assert cluster.url(AIRFLOW) != cluster.url(STORE)
        note_store(EmbeddedSettings.from_environment(home, 0, {"SLIPWAY_DATABASE_URL": "postgresql://h/d"}), "")
    assert not (home / "store.url").exists(), "the user names another database"


def test_a_home_of_the_builds_that_kept_a_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "slipway.db").write_bytes(b"a store")
    with pytest.raises(SlipwayCliError, match=r"before Slipway's first release.* start with another SLIPWAY_HOME"):
        refuse_former_home(EmbeddedSettings.from_environment(tmp_path, 0, {}))
    refuse_former_home(EmbeddedSettings.from_environment(tmp_path, 0, {"SLIPWAY_DATABASE_URL": "postgresql://h/d"}))
    assert (tmp_path / "slipway.db").read_bytes() == b"a store"
