"""Where the database is, and that its password is never told."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from site_store import SchemaNotCurrent, SiteStore, StoreError, StoreNotConfigured, StoreUnavailable
from site_store.sql.address import describe, resolve
from site_store.sql.database import Database

SECRET = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("postgresql://u:p@h/d", "postgresql+psycopg"),
        ("postgres://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg2://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg"),
        ("sqlite:////srv/x.db", "sqlite"),
    ],
)
def test_every_usual_url_is_understood(given: str, driver: str) -> None:
    assert resolve(given).drivername == driver


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "usual"),
        ({"SLIPWAY_HOME": "house"}, "house"),
        ({"SLIPWAY_HOME": "house", "SLIPWAY_DATABASE_URL": ""}, "house"),
        ({"SLIPWAY_HOME": "house", "SLIPWAY_DATABASE_URL": "postgresql:///own"}, "own"),
    ],
)
def test_without_a_url_the_environment_says_where(
    environment: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for home, database in ((".slipway", "usual"), ("house", "house")):
        (tmp_path / home).mkdir()
        (tmp_path / home / "store.url").write_text(f"postgresql:///{database}")
    assert resolve(None, environment).database == expected


def test_a_home_without_a_database_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(StoreNotConfigured, match="set SLIPWAY_DATABASE_URL, or SLIPWAY_HOME to the home of a `slipway"):
        resolve(None, {"SLIPWAY_HOME": str(tmp_path)})


@pytest.mark.parametrize("given", ["mysql://h/d", "sqlite://", "sqlite:///:memory:", f"nonsense {SECRET}", "a://["])
def test_an_unusable_url_is_refused_without_being_repeated(given: str) -> None:
    with pytest.raises(StoreNotConfigured, match="the database URL") as by_argument:
        resolve(given, {})
    with pytest.raises(StoreNotConfigured, match="SLIPWAY_DATABASE_URL") as by_environment:
        resolve(None, {"SLIPWAY_DATABASE_URL": given})
    for caught in (by_argument, by_environment):
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_database_is_named_without_its_password() -> None:
    url = resolve(f"postgresql://ann:{SECRET}@db.example:5433/slipway?sslpassword={SECRET}")
    assert describe(url) == "PostgreSQL database 'slipway' on db.example:5433"


def test_a_database_that_cannot_be_reached_is_trouble_on_the_way() -> None:
    with pytest.raises(StoreUnavailable, match="try again") as caught:
        SiteStore.open(f"postgresql://ann:{SECRET}@127.0.0.1:1/slipway")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_is_not_repeated(postgresql_server: str) -> None:
    url = postgresql_server.replace("postgres:@/postgres", f"nobody:{SECRET}@/nowhere")
    with pytest.raises(StoreUnavailable) as caught:
        SiteStore.open(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_what_the_database_refuses_is_not_repeated_either(store: SiteStore, engine: str) -> None:
    if engine == "sqlite":
        with pytest.raises(StoreError) as caught:
            store._database.write(lambda tx: tx.exec_driver_sql("SELECT * FROM nothing WHERE 1 = ?", (SECRET,)))
    else:
        with pytest.raises(StoreError) as caught:
            store.actions.ensure("d", "r", f"{SECRET}\0", "north", 1, {}, "ann")
    assert not isinstance(caught.value, StoreUnavailable)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_directory_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(StoreNotConfigured, match="set SLIPWAY_HOME"):
        SiteStore.upgrade(f"sqlite:///{blocked}/slipway.db")
    with pytest.raises((SchemaNotCurrent, StoreUnavailable)):
        SiteStore.open(f"sqlite:///{blocked}/slipway.db")


def test_a_locked_database_is_trouble_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_template: Path
) -> None:
    monkeypatch.setattr("site_store.sql.database.BUSY_SECONDS", 0)
    file = tmp_path / "slipway.db"
    file.write_bytes(sqlite_template.read_bytes())
    holder, other = Database(resolve(f"sqlite:///{file}")), Database(resolve(f"sqlite:///{file}"))

    def look(tx: Connection) -> None:
        tx.execute(text("SELECT 1"))

    def meet(tx: Connection) -> None:
        look(tx)
        other.write(look)

    with pytest.raises(StoreUnavailable, match="locked"):
        holder.write(meet)
    other.write(look)
