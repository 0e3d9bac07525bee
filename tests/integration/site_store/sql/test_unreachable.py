"""A database that cannot be used: which of its parts is wrong, and what to do, in every command."""

from __future__ import annotations

import copy
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from site_store import SiteStore, StoreUnavailable
from site_store.backups import back_up
from site_store.sql.address import resolve
from site_store.sql.unreachable import explain, quoted
from slipway_cli.main import main
from tests.support.stores import administer, empty_database, server

SECRET = "s3cr3t-w0rd"


@pytest.fixture(scope="module")
def strict() -> Iterator[str]:
    """Give the URL of a database whose server wants a password of `locked`, and lets `shut_out` in never."""
    administer(
        server(),
        "CREATE ROLE locked LOGIN PASSWORD 'another'",
        "CREATE ROLE shut_out LOGIN",
        "CREATE ROLE no_login",
        "CREATE ROLE poor LOGIN",
    )
    url = empty_database()
    administer(url, f"REVOKE CONNECT ON DATABASE {make_url(url).database} FROM PUBLIC")
    with psycopg.connect(url) as connection:
        (file,) = connection.execute("SHOW hba_file").fetchone() or ("",)
    before = Path(file).read_text()
    lines = "local all locked scram-sha-256\nlocal all shut_out reject\n"
    Path(file).write_text(lines + before)
    administer(server(), "SELECT pg_reload_conf()")
    yield url.replace("postgres:@", f"locked:{SECRET}@")
    Path(file).write_text(before)
    administer(server(), "SELECT pg_reload_conf()")


def said(url: str) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        SiteStore.open(url)
    assert SECRET not in str(caught.value)
    assert str(caught.value) == f"{caught.value.what}: {caught.value.fix}"
    return caught.value


def test_a_database_that_is_not_there_is_to_be_created(strict: str) -> None:
    url = strict.replace("locked:", "poor:").replace(f"/{make_url(strict).database}?", "/Slip-way?")
    found = said(url)
    assert "there is no database 'Slip-way' on this server" in found.what
    assert 'CREATE DATABASE "Slip-way" OWNER poor; and then run `slipway store upgrade`' in found.fix
    assert "SLIPWAY_DATABASE_URL" in found.fix
    assert "try again" not in str(found)


@pytest.mark.parametrize(
    ("user", "what", "fix"),
    [
        ("locked", "does not let in 'locked' with this password", "ALTER ROLE locked PASSWORD '…';"),
        ("Nobody", "there is no role 'Nobody'", "CREATE ROLE \"Nobody\" LOGIN PASSWORD '…';"),
        ("no_login", "the role 'no_login' may not log in", "ALTER ROLE no_login LOGIN;"),
        ("shut_out", "pg_hba.conf lets nobody in as 'shut_out'", "scram-sha-256"),
        ("poor", "'poor' may not connect to it", "GRANT CONNECT ON DATABASE empty_"),
    ],
)
def test_a_user_who_is_not_let_in(strict: str, user: str, what: str, fix: str) -> None:
    found = said(strict.replace("locked:", f"{user}:"))
    assert what in found.what
    assert fix in found.fix
    assert "try again" not in str(found)


def test_no_password_is_said(strict: str) -> None:
    assert "does not let in 'locked' with no password" in said(strict.replace(f":{SECRET}@", "@")).what


def test_a_server_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = said(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/slipway")
    assert f"nobody listens at 127.0.0.1, port {port}" in found.what
    assert "start PostgreSQL there, and look at its listen_addresses and port" in found.fix


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    found = said(f"postgresql://ann:{SECRET}@/slipway?host={tmp_path}")
    assert f"PostgreSQL does not run on this machine, by its socket in {tmp_path}" in found.what
    assert "`slipway up`" in found.fix


def test_a_host_that_does_not_resolve() -> None:
    found = said(f"postgresql://ann:{SECRET}@db.invalid/slipway")
    assert "the name 'db.invalid' does not resolve on this machine" in found.what
    assert "`getent hosts db.invalid`" in found.fix


def test_a_server_that_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        found = said(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/slipway?connect_timeout=1")
    assert f"127.0.0.1 does not answer on port {port}" in found.what
    assert "whether a firewall lets this one reach" in found.fix


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("FATAL:  the database system is starting up", "just starting or stopping"),
        ("session is read-only", "takes no writes: it is a replica"),
        ("server does not support SSL, but SSL was required", "has no TLS"),
        ("SSL error: certificate verify failed", "not trusted here"),
        ("FATAL:  Datenbank »slipway« existiert nicht", "at the moment (connection failed: FATAL:  Datenbank"),
    ],
)
def test_other_words_of_a_server(words: str, what: str) -> None:
    error = psycopg.OperationalError(f"connection failed: {words}")
    found = explain(resolve("postgresql://ann@h/d"), "database", error)
    assert what in found.what
    assert str(copy.copy(found)) == str(found), "it survives the way between processes"


def test_a_server_that_takes_no_writes_is_waited_for_and_lets_nobody_send(url: str) -> None:
    with SiteStore.open(f"{url}&options=-cdefault_transaction_read_only%3Don") as replica:
        with pytest.raises(StoreUnavailable, match="takes no writes") as caught:
            replica.events.add("north", "kind", "said")
        assert "host=one:5432&host=two:5432&target_session_attrs=read-write" in caught.value.fix
        with pytest.raises(StoreUnavailable, match="takes no writes"):
            replica.home.require_own("north")
        assert replica.home.held() is None, "it may be read from"


def test_of_several_servers_one_that_is_down_is_passed_over(url: str, tmp_path: Path) -> None:
    parsed = make_url(url)
    down = f"postgresql://postgres:@/{parsed.database}?host=127.0.0.1:9&host={tmp_path}:5432"
    found = said(down)
    assert f"database {parsed.database!r} on 127.0.0.1:9, {tmp_path}:5432 cannot be used" in found.what
    several = f"{down}&host={parsed.query['host']}:5432&target_session_attrs=read-write"
    with SiteStore.open(several) as store:
        store.events.add("north", "kind", "said")
    assert back_up(tmp_path / "backup", several).size > 0


def test_an_error_within_a_session_is_not_taken_for_one_of_the_way_there() -> None:
    ended = psycopg.errors.AdminShutdown('database "x" does not exist')
    assert "at the moment" in explain(resolve("postgresql://ann@h/d"), "database", ended).what


@pytest.mark.parametrize(("name", "shown"), [("slipway", "slipway"), ("my db", '"my db"'), ('a"b', '"a""b"')])
def test_a_name_is_quoted_where_it_has_to_be(name: str, shown: str) -> None:
    assert quoted(name) == shown


@pytest.mark.parametrize(
    "command",
    ["store upgrade", "store prune", "store verify", "store backup F", "store restored", "store rotate", "doctor"],
)
def test_every_command_says_so(command: str, strict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLIPWAY_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "store.backup"
    words = command.replace("F", str(file)).split()
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", strict.replace(f"/{make_url(strict).database}?", "/nowhere?"))
    # `locked` is refused before its database is looked for.
    assert "does not let in 'locked'" in CliRunner().invoke(main, words).output
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", server().replace("/postgres?", "/nowhere?"))
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "Traceback" in done.output) == (1, False)
    assert "CREATE DATABASE nowhere OWNER postgres;" in done.output
    assert not file.exists()
