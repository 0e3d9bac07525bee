"""The engine with a real store, and a provisioner and a clock in memory: no process, no socket, no real second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from site_store import SiteStore
from tests.support.driving import Begin, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner


@pytest.fixture
def clock() -> FakeClock:
    """A clock that only waiting moves."""
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeProvisioner:
    """A provisioner in which nothing has happened; its tasks take a second of its clock."""
    return FakeProvisioner(clock)


@pytest.fixture
def store(store_url: str, clock: FakeClock) -> Iterator[SiteStore]:
    """Open a new store by the same clock."""
    with SiteStore.open(store_url, clock.now) as store:
        yield store


@pytest.fixture
def begin(store: SiteStore, fake: FakeProvisioner, clock: FakeClock, tmp_path: Path) -> Begin:
    """Commit a design and begin an action on it."""
    return begin_with(store, tmp_path, lambda _: fake, clock)
