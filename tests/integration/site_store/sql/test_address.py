"""Where the database is, and that its password is never told."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from site_store import NewAction, SiteStore, StoreError, StoreNotConfigured, StoreUnavailable
from site_store.sql.address import describe, resolve
from tests.support.stores import server

SECRET = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("postgresql://u:p@h/d", "postgresql+psycopg"),
        ("postgres://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg2://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg"),
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


@pytest.mark.parametrize("given", ["mysql://h/d", "sqlite:////srv/slipway.db", f"nonsense {SECRET}", "a://["])
def test_an_unusable_url_is_refused_without_being_repeated(given: str) -> None:
    with pytest.raises(StoreNotConfigured, match="the database URL") as by_argument:
        resolve(given, {})
    said = "PostgreSQL alone: name one as postgresql://" if given.startswith("sqlite") else ""
    with pytest.raises(StoreNotConfigured, match=f"SLIPWAY_DATABASE_URL.*{said}") as by_environment:
        resolve(None, {"SLIPWAY_DATABASE_URL": given})
    for caught in (by_argument, by_environment):
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_database_is_named_without_its_password() -> None:
    url = resolve(f"postgresql://ann:{SECRET}@db.example:5433/slipway?sslpassword={SECRET}")
    assert describe(url) == "PostgreSQL database 'slipway' on db.example:5433"


def test_several_servers_are_named_each_with_its_port_and_how_that_is_done_is_said() -> None:
    url = resolve(f"postgresql://ann:{SECRET}@/slipway?host=one:5432&host=two:5433")
    assert describe(url) == "PostgreSQL database 'slipway' on one:5432, two:5433"
    with pytest.raises(
        StoreNotConfigured, match=r"several servers like .*\?host=one:5432&host=two:5432&target_"
    ) as told:
        resolve(f"postgresql://ann:{SECRET}@one:5432,two:5433/slipway")
    assert SECRET not in str(told.value)


def test_a_database_that_cannot_be_reached_is_trouble_on_the_way() -> None:
    with pytest.raises(StoreUnavailable, match="nobody listens at ") as caught:
        SiteStore.open(f"postgresql://ann:{SECRET}@127.0.0.1:1/slipway")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_is_not_repeated() -> None:
    url = server().replace("postgres:@/postgres", f"nobody:{SECRET}@/nowhere")
    with pytest.raises(StoreUnavailable) as caught:
        SiteStore.open(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_what_the_database_refuses_is_not_repeated_either(store: SiteStore) -> None:
    with pytest.raises(StoreError) as caught:
        store.actions.ensure("d", "r", NewAction(f"{SECRET}\0", "north", 1, {}, "ann"))
    assert not isinstance(caught.value, StoreUnavailable)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_password_with_an_at_sign_is_never_shown_as_a_host() -> None:
    with pytest.raises(StoreNotConfigured) as refused:
        resolve("postgresql://slipway:ge@heim@db/slipway")
    assert "%40" in str(refused.value)
    assert "heim" not in str(refused.value)
