"""Rule 60: who may write in the store."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import text

from site_store import SchemaNotCurrent, SiteStore
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.sql.fence import CURRENT, unfenced
from site_store.tables import metadata

_OTHER = "UPDATE store_state SET writes_from = '9999'"


def _restrict(url: str) -> None:
    database = Database(resolve(url))
    database.write(lambda tx: tx.execute(text(_OTHER)))
    database.close()


@pytest.fixture
def opened(empty_url: str) -> SiteStore:
    """A store of its own, of which nothing is kept."""
    SiteStore.upgrade(empty_url)
    return SiteStore.open(empty_url)


def test_who_has_the_store_open_writes_nothing_once_newer_code_alone_may(opened: SiteStore, empty_url: str) -> None:
    opened.events.add("north", "kind", "before")
    _restrict(empty_url)
    with opened as store, pytest.raises(SchemaNotCurrent, match="of schema 9999 or newer may write") as caught:
        store.events.add("north", "kind", "behind")
    assert f"this process is of schema {CURRENT}: nothing was written; stop it and start" in str(caught.value)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT message FROM event").fetchall() == [("before",)]


def test_who_may_not_write_goes_on_with_no_task_of_a_provisioner_either(opened: SiteStore, empty_url: str) -> None:
    opened.home.require_own("north")
    _restrict(empty_url)
    with opened as store, pytest.raises(SchemaNotCurrent, match="of schema 9999 or newer may write"):
        store.home.require_own("north")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM lease", "UPDATE node SET rack = 'r1'", "INSERT INTO content DEFAULT VALUES", "TRUNCATE event"],
)
def test_who_does_not_ask_writes_nothing(url: str, statement: str) -> None:
    with (
        psycopg.connect(url) as connection,
        pytest.raises(psycopg.OperationalError, match="older Slipway") as caught,
    ):
        connection.execute(statement.encode())
    assert f"SELECT slipway_may_write('{CURRENT}')" in str(caught.value)


def test_a_person_may_write_by_hand_in_one_transaction(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT slipway_may_write('{CURRENT}')".encode())
        connection.execute("DELETE FROM lease")
        connection.commit()
        # The word is good for that transaction alone.
        with pytest.raises(psycopg.OperationalError, match="an older Slipway"):
            connection.execute("DELETE FROM lease")


def test_every_table_is_fenced(url: str) -> None:
    database = Database(resolve(url))
    assert database.read(lambda tx: unfenced(tx, list(metadata.tables))) == []
    database.close()


def test_a_server_whose_transactions_see_one_moment_lets_nobody_slip_through(opened: SiteStore, empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'repeatable read'")
        try:
            with SiteStore.open(empty_url) as store:
                level = store._database.write(lambda tx: tx.scalar(text("SHOW transaction_isolation")))
        finally:
            connection.execute("ALTER ROLE CURRENT_USER RESET default_transaction_isolation")
    opened.close()
    assert level == "read committed"
