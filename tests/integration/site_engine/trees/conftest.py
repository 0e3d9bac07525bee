"""A real store, with a site and its actions in few words, by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from site_store import SiteStore
from tests.integration.site_store.scenario import FakeClock, Scenario
from tests.support.stores import new_store


@pytest.fixture
def moment() -> FakeClock:
    """The database's clock."""
    return FakeClock()


@pytest.fixture
def site(moment: FakeClock) -> Iterator[Scenario]:
    """A site in a new store."""
    with new_store() as url, SiteStore.open(url, moment) as store:
        yield Scenario(store, moment)
