"""The store that all requests of a process share."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import make_url

from slipway_api.http.dependencies import open_store
from tests.support.stores import new_store, server


def connections(url: str) -> int:
    """Count the connections that were made by a URL with this name."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    with psycopg.connect(server()) as connection:
        found = connection.execute(query.encode(), [make_url(url).query["application_name"]]).fetchone()
    assert found is not None
    return int(found[0])


def test_a_store_of_an_earlier_environment_keeps_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as first, new_store() as second:
        one, two = f"{first}&application_name=one", f"{second}&application_name=two"
        for url in (one, two):
            monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
            store = open_store()
            assert open_store() is store
            assert store.sites.known() == []
            assert connections(url) > 0
        assert connections(one) == 0
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", one)
        assert open_store().sites.known() == []
        assert connections(two) == 0
