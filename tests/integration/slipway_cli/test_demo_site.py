"""The site of a demo in the store: watched while the demo lives, stopped whatever ends it, and taken away at last."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_store import SiteStore
from slipway_cli import SlipwayCliError
from slipway_cli.demo.order import GIVEN_UP_AFTER, STOPPED, demo_store, remove_site, watched
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.integration.site_store.scenario import FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import new_store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url, clock) as store:
        for name in ("example", "north"):
            commit_design(store, name, site([node("n1")], [group("g", ["n1"])], region=name))
        yield store


def test_the_site_of_a_demo_is_watched_while_it_lives_and_stopped_afterwards(store: SiteStore) -> None:
    with watched(store, "example"):
        assert store.site_stops.of_sites() == {"example": "", "north": ""}
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}
    with watched(store, "example"):
        assert store.site_stops.of_sites() == {"example": "", "north": ""}


def test_a_demo_that_is_interrupted_leaves_its_site_stopped(store: SiteStore) -> None:
    with pytest.raises(KeyboardInterrupt), watched(store, "example"):
        raise KeyboardInterrupt
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}


def test_a_demo_that_lives_puts_off_the_stop_and_a_killed_one_does_not(
    store: SiteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, said = store.site_stops.put, threading.Event()

    def note(*given: object) -> None:
        put(*given)  # type: ignore[arg-type]
        said.set()

    monkeypatch.setattr(store.site_stops, "put", note)
    with watched(store, "example", every=0.01):
        clock.move(GIVEN_UP_AFTER - 1)
        said.clear()
        assert said.wait(60)
        said.clear()
        assert said.wait(60)
        clock.move(GIVEN_UP_AFTER - 1)
        assert store.site_stops.of_sites()["example"] == ""
    # As a killed one left it: it had said it when it began, and nothing more.
    put("example", STOPPED, GIVEN_UP_AFTER)
    clock.move(GIVEN_UP_AFTER + 1)
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}


def test_only_the_site_of_a_demo_that_is_over_is_taken_away(store: SiteStore) -> None:
    assert not remove_site(store, "nowhere")
    with pytest.raises(SlipwayCliError, match="site north is watched"):
        remove_site(store, "north")
    with watched(store, "example"), pytest.raises(SlipwayCliError, match="given up after 30 s"):
        remove_site(store, "example")
    assert remove_site(store, "example")
    assert store.sites.known() == ["north"]


def test_the_store_of_a_home_is_found_or_it_is_said_that_there_is_none(tmp_path: Path) -> None:
    settings = EmbeddedSettings.from_environment(tmp_path / "home", 0)
    with pytest.raises(SlipwayCliError, match="store"), demo_store(settings):
        pass
