"""A store of a real PostgreSQL, empty for each test, and whose counts must be right at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from site_store import Lease, SiteStore
from site_store.sql.address import resolve
from tests.integration.site_store.designs.desk import Desk
from tests.integration.site_store.racing import CALLERS
from tests.integration.site_store.scenario import FakeClock, Scenario, some
from tests.support.stores import empty_database, new_store

# What few changes are about, and much work: many processes at once.
LONGER = {"test_concurrency.py"}

_MOST_OPEN = 2


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave to `make endurance` what takes long."""
    if item.get_closest_marker("soak") is None and item.path.name in LONGER:
        item.add_marker(pytest.mark.endurance)


@pytest.fixture
def empty_url() -> str:
    """URL of a database without tables."""
    return empty_database()


@pytest.fixture
def url() -> Iterator[str]:
    """URL of an empty database with the present schema."""
    with new_store() as url:
        yield url


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def _open_stores() -> Iterator[list[SiteStore]]:
    """Return stores that no test uses at the moment: a new connection costs more than a short test."""
    kept: list[SiteStore] = []
    yield kept
    for store in kept:
        store.close()


@pytest.fixture
def open_store(url: str, clock: FakeClock, _open_stores: list[SiteStore]) -> Iterator[Callable[[], SiteStore]]:
    """Open the test's database once more, as another process would."""
    opened: list[SiteStore] = []

    def open_one() -> SiteStore:
        of_this = next((store for store in _open_stores if store._database.url.database == resolve(url).database), None)
        if of_this is not None:
            _open_stores.remove(of_this)
            opened.append(of_this)
            opened[-1]._database._given_clock = clock
        else:
            opened.append(SiteStore.open(url, now=clock))
        return opened[-1]

    yield open_one
    for store in opened:
        # One to which the test listens is not the next one's.
        if len(_open_stores) < _MOST_OPEN and not store._database.engine._has_events:
            _open_stores.append(store)
        else:
            store.close()


@pytest.fixture
def store(open_store: Callable[[], SiteStore]) -> Iterator[SiteStore]:
    """A store whose roll-up must agree with what it counts when the test is over."""
    opened = open_store()
    yield opened
    assert opened.counts.verify().differences == ()


@pytest.fixture
def stores(open_store: Callable[[], SiteStore]) -> list[SiteStore]:
    """Open the test's database as several processes would that are at it at once."""
    return [open_store() for _ in range(CALLERS)]


@pytest.fixture
def held(store: SiteStore) -> Lease:
    """The controller's lease."""
    return some(store.leases.take("controller", "me", 36_000))


@pytest.fixture
def desk(store: SiteStore) -> Desk:
    return Desk(store)


@pytest.fixture
def site(store: SiteStore, clock: FakeClock) -> Scenario:
    return Scenario(store, clock)
