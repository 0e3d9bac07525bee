"""Processes note what they are: by the database's clock, and forgotten when they end or are silent for too long."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from site_store import Lease, LeaseLost, ProcessNote, Role, SiteStore
from tests.integration.site_store.scenario import FakeClock

NOTE = ProcessNote("scheduler:a:1:x", Role.SCHEDULER, "1.0", "0101", "a", 1, 30.0, {"settings": {"core.executor": "x"}})


def test_a_note_keeps_when_it_began_and_has_the_newest_of_all_else(store: SiteStore, clock: FakeClock) -> None:
    store.processes.note(NOTE)
    began = clock()
    clock.move(30)
    store.processes.note(replace(NOTE, environment={"settings": {}}))
    clock.move(5)
    now, (found,) = store.processes.all()
    assert (found.started, found.last_sign, found.environment) == (
        began,
        began + timedelta(seconds=30),
        {"settings": {}},
    )
    assert (found.silent_for(now), found.role, found.every_seconds) == (5.0, Role.SCHEDULER, 30.0)


def test_a_clock_is_compared_with_the_database_s(store: SiteStore, clock: FakeClock) -> None:
    store.processes.note(NOTE, lambda: clock() + timedelta(seconds=12.5))
    store.processes.note(replace(NOTE, id="b"), lambda: clock() - timedelta(seconds=3))
    assert sorted(found.clock_offset for found in store.processes.all()[1]) == [-3.0, 12.5]


def test_one_that_ends_is_forgotten_and_one_that_is_silent_for_long_is_too(
    store: SiteStore, clock: FakeClock, held: Lease
) -> None:
    for name in ("ended", "gone", "there"):
        store.processes.note(replace(NOTE, id=name))
    store.processes.forget("ended")
    clock.move(100)
    store.processes.note(replace(NOTE, id="there"))
    with pytest.raises(LeaseLost):
        store.processes.prune(replace(held, epoch=1), clock())
    assert store.processes.prune(held, clock() - timedelta(seconds=50)) == 1
    assert [found.id for found in store.processes.all()[1]] == ["there"]


def test_an_installation_has_one_salt(stores: list[SiteStore]) -> None:
    salts = {store.processes.salt() for store in stores}
    assert len(salts) == 1
    assert len(salts.pop()) == len("123e4567-e89b-42d3-a456-426614174000")
