"""A PostgreSQL that says nothing is trouble on the way, and holds nobody up; a view of one moment is for reading."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection, make_url, text

from site_store import Lease, NewAction, SiteStore, StoreError, StoreUnavailable
from site_store.sql import database
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.status.leases import require_lease
from tests.integration.site_store.scenario import SITE, Scenario, some
from tests.support.faulty_way import FaultyWay, faulty_way

pytestmark = pytest.mark.timeout(60)  # what would hang, hangs


@pytest.fixture
def way(url: str) -> Iterator[FaultyWay]:
    with faulty_way(f"{make_url(url).query['host']}/.s.PGSQL.5432") as running:
        yield running


def _through(way: FaultyWay, url: str) -> str:
    return f"postgresql://postgres@127.0.0.1:{way.port}/{make_url(url).database}?connect_timeout=2"


def test_one_that_accepts_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StoreUnavailable, match="try again"):
            SiteStore.open(f"postgresql://ann@127.0.0.1:{port}/slipway?connect_timeout=2")


def test_one_that_falls_silent_between_two_calls(way: FaultyWay, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with SiteStore.open(_through(way, url)) as store:
        before = store.sites.committed()
        way.silence()
        with monkeypatch.context() as impatient:
            impatient.setattr(database, "ANSWER_SECONDS", 0.5)
            with pytest.raises(StoreUnavailable, match="try again"):
                store.sites.committed()
        way.mend()
        assert store.sites.committed() == before


def test_one_that_falls_silent_in_the_middle_of_a_transaction(
    way: FaultyWay, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "ANSWER_SECONDS", 0.5)
    opened = Database(resolve(_through(way, url)))

    def work(tx: object) -> None:
        way.silence()
        tx.execute(text("SELECT 1"))  # type: ignore[attr-defined]

    with pytest.raises(StoreUnavailable, match="try again"):
        opened.write(work)
    opened.close()


def test_a_statement_that_takes_too_long_is_ended_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 1)
    opened = Database(resolve(url))
    with pytest.raises(StoreUnavailable, match="statement timeout"):
        opened.read(lambda tx: tx.execute(text("SELECT pg_sleep(600)")))
    opened.close()


@pytest.mark.parametrize(
    ("bounded", "options", "limit"),
    [(True, "", "1min"), (False, "", "0"), (True, "&options=-cstatement_timeout%3D7s", "7s")],
    ids=["as a rule", "a migration takes as long as it takes", "what the URL says comes first"],
)
def test_how_long_a_statement_may_take(url: str, bounded: bool, options: str, limit: str) -> None:
    opened = Database(resolve(url + options), bounded=bounded)
    assert opened.read(lambda tx: tx.scalar(text("SHOW statement_timeout"))) == limit
    opened.close()


def test_a_connection_notices_a_server_that_is_gone_without_a_word(way: FaultyWay, url: str) -> None:
    opened = Database(resolve(_through(way, url)))
    with opened.engine.connect() as connection:
        options = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    assert (options["keepalives_idle"], options["tcp_user_timeout"]) == ("30", "30000")
    opened.close()


def test_rule_55_one_who_is_silent_while_it_has_locked_its_lease_holds_nobody_up(url: str) -> None:
    with SiteStore.open(url, idle_seconds=0.2) as frozen, SiteStore.open(url) as other:
        held = some(frozen.leases.take("site:silent", "frozen", 0.1))
        taken: list[Lease | None] = []

        def work(tx: Connection) -> None:
            require_lease(tx, held, held.expires_at - timedelta(seconds=0.05))
            # The other one waits for the lock, until the database ends this transaction.
            while not taken or taken[-1] is None:
                taken.append(other.leases.take("site:silent", "other", 10))
            tx.execute(text("SELECT 1"))

        with pytest.raises(StoreUnavailable, match="idle-in-transaction timeout"):
            frozen._database.write(work)
        assert taken[-1] is not None
        assert taken[-1].epoch > held.epoch


def test_nothing_is_written_in_a_view_of_one_moment(site: Scenario) -> None:
    with site.store.at_one_moment() as at:
        assert at.actions.unfinished() == []
        site.action()
        assert at.actions.unfinished() == [], "it is of the moment of the first question"
        with pytest.raises(StoreError, match="a view of one moment"):
            at.actions.ensure("deploy_site", "run-2", NewAction("deploy_site", SITE, None, {}, "ann"))
    assert len(site.store.actions.unfinished()) == 1
