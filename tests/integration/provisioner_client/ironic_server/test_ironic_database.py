"""The embedded Ironic's database in the embedded PostgreSQL, and its environment where nothing can be installed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest

from provisioner_client.ironic_server.database import IronicDatabase
from provisioner_client.ironic_server.installation import IronicServerError, installed
from tests.support.postgres import running_server

TABLES = "CREATE TABLE alembic_version (version_num text); CREATE TABLE nodes (id serial, name text)"


@pytest.fixture(scope="module")
def sockets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with running_server(tmp_path_factory.mktemp("home")) as (cluster, _):
        yield cluster.sockets


@pytest.fixture(autouse=True)
def _back() -> Iterator[None]:
    """Stay in the folder: who prepares a database goes to its socket, to become Ironic there."""
    before = Path.cwd()
    yield
    os.chdir(before)


class Schema:
    """Makes a schema, and notes when it was asked for."""

    def __init__(self, database: IronicDatabase, *, whole: bool = True) -> None:
        self.asked: list[bool] = []
        self._database = database
        self._whole = whole

    def make(self, is_there: bool) -> None:
        self.asked.append(is_there)
        if not is_there:
            run(self._database, TABLES)
            if self._whole:
                run(self._database, "INSERT INTO alembic_version VALUES ('1')")


def run(database: IronicDatabase, statement: str) -> list[tuple[object, ...]]:
    # As Ironic does, by the current folder.
    with psycopg.connect(database.url.replace("+psycopg", "")) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []


def test_a_schema_is_made_once_for_a_version_and_brought_up_to_date_for_another(sockets: Path) -> None:
    database = IronicDatabase(sockets, "once")
    schema = Schema(database)
    for version in ("python-1", "python-1", "python-2", "python-2"):
        database.prepare(version, False, schema.make, 30.0)
    assert schema.asked == [False, True]


def test_machines_are_kept_unless_new_ones_are_wanted_and_the_schema_always(sockets: Path) -> None:
    database = IronicDatabase(sockets, "machines")
    schema = Schema(database)
    for anew, there in ((False, 0), (False, 1), (True, 0)):
        database.prepare("python-1", anew, schema.make, 30.0)
        assert len(run(database, "SELECT * FROM nodes")) == there
        run(database, "INSERT INTO nodes (name) VALUES ('n1')")
    assert run(database, "SELECT id, name FROM nodes") == [(1, "n1")]
    assert schema.asked == [False]


def test_a_making_that_was_interrupted_is_repeated(sockets: Path) -> None:
    database = IronicDatabase(sockets, "half")
    with pytest.raises(IronicServerError, match="stopped"):
        database.prepare("python-1", False, lambda _: (_ for _ in ()).throw(IronicServerError("stopped")), 30.0)
    half = Schema(database, whole=False)
    database.prepare("python-1", False, half.make, 30.0)
    later = Schema(database)
    database.prepare("python-2", False, lambda is_there: later.asked.append(is_there), 30.0)
    assert (half.asked, later.asked) == ([False], [False])


def test_a_database_that_is_removed_is_gone_and_removed_again_without_harm(sockets: Path) -> None:
    database = IronicDatabase(sockets, "gone")
    schema = Schema(database)
    for _ in range(2):
        database.prepare("python-1", False, schema.make, 30.0)
        run(database, "INSERT INTO nodes (name) VALUES ('n1')")
        database.remove(30.0)
        database.remove(30.0)
    assert schema.asked == [False, False]


def test_a_server_that_is_just_being_set_up_is_waited_for(sockets: Path) -> None:
    # `slipway demo` starts Ironic beside Airflow: the server answers before it has the role that owns the databases.
    with patch("provisioner_client.ironic_server.database._ROLE", "later"):
        database = IronicDatabase(sockets, "later")
        with pytest.raises(IronicServerError, match="no role later yet"):
            database.prepare("python-1", False, lambda _: None, 0.1)
        with psycopg.connect(host=str(sockets), user="postgres", dbname="postgres", autocommit=True) as server:
            timer = threading.Timer(0.5, server.execute, ["CREATE ROLE later"])
            timer.start()
            database.prepare("python-1", False, lambda _: None, 30.0)
            timer.join()


def test_what_the_server_refuses_is_a_sentence(sockets: Path) -> None:
    def broken(_: bool) -> None:
        raise psycopg.errors.DiskFull("no space\nand more")

    with pytest.raises(IronicServerError, match=r"database full needs; start Slipway anew, and.*\(no space\)"):
        IronicDatabase(sockets, "full").prepare("python-1", False, broken, 30.0)


def test_a_server_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(IronicServerError, match=r"does not answer in .* after 0\.1 s.*start Slipway in this home"):
            IronicDatabase(folder, "x").prepare("1", False, lambda _: None, 0.1)


@pytest.mark.endurance
def test_without_an_index_it_is_said_what_to_do_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "http://127.0.0.1:1/simple"
    for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, nowhere)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    said: list[str] = []
    with pytest.raises(IronicServerError, match=r"installed once, from a package index.*start again") as raised:
        installed(tmp_path / "ironic", said.append)
    assert "uv said" in str(raised.value)
    assert said == ["installing Ironic (once for this home)"]
    assert [path.name for path in (tmp_path / "ironic").iterdir()] == ["lock"]
