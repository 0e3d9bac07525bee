"""A long list of a server: one has the flight for it, its answer is kept with its time, and who was killed loses it."""

from __future__ import annotations

from datetime import timedelta

from site_store import SiteStore
from tests.integration.site_store.scenario import FakeClock, some

NAME = "list of nodes of Drydock at drydock:9000"
PAUSES = (5.0, 10.0, 30.0)


def test_one_has_the_flight_and_its_answer_has_the_time_at_which_it_was_asked_for(
    store: SiteStore, clock: FakeClock
) -> None:
    lists, need = store.shared_lists, clock.time
    assert lists.get(NAME).asked_at is None
    clock.move(1)
    assert lists.begin(NAME, "one", 10, need) == 0.0
    asked = clock.time
    clock.move(2)
    assert lists.begin(NAME, "two", 10, clock.time) is None
    assert lists.get(NAME).is_asked
    assert lists.land(NAME, "one", "[1]", took=2)
    assert lists.answer(NAME, need) == "[1]"
    assert lists.answer(NAME, asked) is None, "who needs it since then needs a newer one"
    known = lists.get(NAME)
    assert (known.asked_at, known.is_asked) == (asked, False)
    assert lists.begin(NAME, "two", 10, need) is None, "an answer is there"
    assert lists.begin(NAME, "two", 10, asked) == 2.0
    assert lists.answer(NAME, need) == "[1]", "the last answer serves meanwhile"
    assert lists.begin("another", "three", 10, asked) == 0.0


def test_who_was_killed_holds_nobody_up_and_says_nothing_any_more(store: SiteStore, clock: FakeClock) -> None:
    lists, need = store.shared_lists, clock.time
    lists.begin(NAME, "one", 10, need)
    clock.move(6)
    assert lists.prolong(NAME, "one", 10)
    clock.move(9)
    assert lists.begin(NAME, "two", 10, need) is None, "it has said that it is alive"
    clock.move(1)
    assert lists.begin(NAME, "two", 10, need) is not None
    assert not lists.land(NAME, "one", "[1]", took=16)
    assert not lists.prolong(NAME, "one", 10)
    assert not lists.fail(NAME, "one", "away")
    assert not lists.time_out(NAME, "one", "slow", 16, PAUSES)
    known = lists.get(NAME)
    assert (known.asked_at, known.problem, known.is_asked) == (None, None, True)


def test_a_list_that_ran_out_of_time_is_left_alone_for_as_long_and_for_longer_each_time(
    store: SiteStore, clock: FakeClock
) -> None:
    lists = store.shared_lists
    lists.begin(NAME, "quick", 10, clock.time)
    assert lists.time_out(NAME, "quick", "a proxy's time was over", 1, PAUSES)
    assert lists.get(NAME).again_at == clock.time + timedelta(seconds=5)
    clock.move(5)
    lists.begin(NAME, "fine", 10, clock.time)
    lists.land(NAME, "fine", "[]", took=1)
    clock.move(1)
    for place, pause in enumerate((20, 20, 30, 30)):
        lists.begin(NAME, f"flight {place}", 10, clock.time)
        clock.move(20)
        assert lists.time_out(NAME, f"flight {place}", "slow", 20, PAUSES)
        known = lists.get(NAME)
        assert (known.problem, known.again_at) == ("slow", clock.time + timedelta(seconds=pause))
        clock.move(pause - 1)
        assert lists.begin(NAME, "other", 10, clock.time) is None
        clock.move(1)
    assert lists.begin(NAME, "other", 10, clock.time) == 20.0, "more time is given to it"
    assert lists.land(NAME, "other", "[]", took=1)
    assert lists.get(NAME).again_at is None
    lists.begin(NAME, "last", 10, clock.time)
    assert lists.fail(NAME, "last", "away")
    assert lists.get(NAME).problem == "away"
    assert lists.begin(NAME, "next", 10, clock.time) == 1.0
    assert lists.get(NAME).problem is None


def test_the_list_of_a_server_that_nobody_asks_any_more_is_deleted_and_no_other(
    store: SiteStore, clock: FakeClock
) -> None:
    lists, need = store.shared_lists, clock.time
    for name in ("gone", "asked again", "asked for now"):
        clock.move(1)
        assert lists.begin(name, "one", 10, need) is not None
        assert lists.land(name, "one", "[1]", took=1)
    clock.move(86_400)
    lists.begin("asked again", "two", 10, clock.time)
    lists.land("asked again", "two", "[2]", took=1)
    lists.begin("asked for now", "two", 10, clock.time)
    held = some(store.leases.take("controller", "me", 60))
    assert lists.prune(held, clock.time - timedelta(days=1)) == 1
    assert lists.answer("gone", need) is None
    assert (lists.answer("asked again", need), lists.answer("asked for now", need)) == ("[2]", "[1]")
