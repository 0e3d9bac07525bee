"""The history, and that it does not grow for ever."""

from __future__ import annotations

from site_store import SiteStore
from tests.integration.site_store.scenario import SITE, FakeClock


def test_events_come_back_oldest_first_and_bounded(store: SiteStore) -> None:
    for number in range(5):
        store.events.add(SITE, "note", f"number {number}", action_id="A", group="g", node="n1", data={"n": number})
    store.events.add(SITE, "note", "of nobody")
    assert [event.message for event in store.events.of_action("A", limit=2)] == ["number 3", "number 4"]
    first = store.events.of_action("A")[0]
    assert (first.site, first.group, first.node, first.kind, first.data) == (SITE, "g", "n1", "note", {"n": 0})


def test_old_events_are_pruned_and_nothing_else(store: SiteStore, clock: FakeClock) -> None:
    began = clock.time
    store.events.add(SITE, "note", "old", action_id="A")
    clock.move(100)
    store.events.add(SITE, "note", "new", action_id="A")
    assert store.events.prune(began) == 0
    assert store.events.prune(clock.time) == 1
    assert [(event.message, event.at) for event in store.events.of_action("A")] == [("new", clock.time)]
