"""The store that all requests of a process share."""

from __future__ import annotations

import psycopg
import pytest

from slipway_api.http.dependencies import open_store
from tests.support.stores import new_store


def connections(url: str) -> int:
    """Count the connections to a database but for the one that asks."""
    query = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(url) as connection:
        found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return int(found[0])


def test_a_store_of_an_earlier_environment_keeps_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as one, new_store() as two:
        idle = {url: connections(url) for url in (one, two)}
        for url in (one, two):
            monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
            store = open_store()
            assert open_store() is store
            assert store.sites.known() == []
            assert connections(url) > idle[url]
        assert connections(one) == idle[one]
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", one)
        assert open_store().sites.known() == []
        assert connections(two) == idle[two]
