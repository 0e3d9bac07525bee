"""Who waits to write to a SQLite file looks often whether it is its turn: nobody waits for seconds behind others."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from site_store import SiteStore, StoreUnavailable
from tests.support.stores import new_store


@pytest.fixture
def busy(tmp_path: Path) -> tuple[SiteStore, sqlite3.Connection]:
    """A store, and another one who has begun to write."""
    store = SiteStore.open(new_store(tmp_path))
    (file,) = tmp_path.rglob("*.db")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return store, other


def test_who_waits_looks_every_few_milliseconds(
    busy: tuple[SiteStore, sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = busy
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 20:
            other.execute("COMMIT")

    monkeypatch.setattr("site_store.sql.database.time.sleep", sleep)
    held = store.leases.take("controller", "me", 60)
    assert held is not None
    assert len(slept) == 20
    assert max(slept) < 0.01
    assert store._database.read(lambda tx: tx.exec_driver_sql("PRAGMA busy_timeout").scalar()) == 30_000
    other.close()
    store.close()


def test_who_has_waited_long_enough_is_told(
    busy: tuple[SiteStore, sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = busy
    monkeypatch.setattr("site_store.sql.database.BUSY_SECONDS", 0)
    with pytest.raises(StoreUnavailable, match="locked"):
        store.leases.take("controller", "me", 60)
    other.close()
    store.close()
