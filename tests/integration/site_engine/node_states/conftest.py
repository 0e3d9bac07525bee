"""A store of its own for each test of the controller's work, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from site_store import SiteStore
from tests.integration.site_engine.node_states.drifting import Scene, Scenes
from tests.integration.site_store.scenario import FakeClock
from tests.support.stores import new_store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url, clock) as opened:
        yield opened


@pytest.fixture
def scene_of(store: SiteStore, clock: FakeClock) -> Scenes:
    """Make a scene of a site with these settings."""
    return partial(Scene, store, clock)
