"""Lists of nodes: the one that each site's provisioner gave last, and long ones of a server that processes share."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from site_store import OperationStatus, SiteStore
from site_store.tables import node
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some, want

LIST: dict[str, dict[str, Any]] = {
    "n1": {"status": "Deployed", "power": "on"},
    "stray": {"status": "Ready", "power": None},
}


def said(store: SiteStore) -> dict[str, tuple[str | None, str | None]]:
    query = select(node.c.name, node.c.provisioner_status, node.c.power).where(node.c.site == SITE)
    return store._database.read(lambda tx: {row.name: (row.provisioner_status, row.power) for row in tx.execute(query)})


def test_the_newest_list_is_kept_with_its_time(store: SiteStore, clock: FakeClock) -> None:
    assert store.provisioner_lists.get(SITE) is None
    store.provisioner_lists.save(SITE, "mine", {})
    clock.move(60)
    store.provisioner_lists.save(SITE, "mine", LIST)
    kept = some(store.provisioner_lists.get(SITE))
    assert (kept.connection, kept.read_at, json.loads(kept.nodes)) == ("mine", clock.time, LIST)
    assert store.provisioner_lists.get("south") is None


def test_a_list_that_comes_late_never_replaces_one_that_was_asked_for_since(store: SiteStore, clock: FakeClock) -> None:
    want(store, 1, {"n1": "d1"})
    slow = clock.time
    clock.move(10)
    quick = clock.time
    clock.move(1)
    lists = store.provisioner_lists
    assert lists.save(SITE, "mine", LIST, quick)
    clock.move(5)
    assert not lists.save(SITE, "mine", {"n1": {"status": "Ready", "power": "off"}}, slow)
    kept = some(lists.get(SITE))
    assert (kept.read_at, json.loads(kept.nodes)) == (quick, LIST)
    assert said(store) == {"n1": ("Deployed", "on")}
    assert not lists.save(SITE, "mine", LIST, slow), "nor does it make what is kept older"
    assert store.site_views.pulse(SITE).listed_at == quick
    clock.move(-3600)
    assert lists.save(SITE, "mine", {}), "of a clock that was put back the newest counts"
    assert said(store) == {"n1": (None, None)}


def test_the_same_list_is_known_by_its_digest_and_says_what_it_does_of_new_nodes(
    store: SiteStore, clock: FakeClock
) -> None:
    want(store, 1, {"n1": "d1"})
    lists = store.provisioner_lists
    assert lists.save(SITE, "mine", LIST)
    first = store.site_views.pulse(SITE)
    clock.move(5)
    want(store, 2, {"n1": "d1", "stray": "d2"})
    assert lists.save(SITE, "mine", LIST)
    second = store.site_views.pulse(SITE)
    assert first.listed is not None
    assert (second.listed, second.listed_at) == (first.listed, clock.time)
    assert said(store) == {"n1": ("Deployed", "on"), "stray": ("Ready", None)}
    kept = some(lists.get(SITE))
    assert json.loads(kept.nodes) == LIST
    lists.save(SITE, "mine", {})
    assert store.site_views.pulse(SITE).listed != first.listed


def test_a_changed_list_is_kept_only_where_the_one_that_it_is_based_on_still_is(
    store: SiteStore, clock: FakeClock
) -> None:
    lists = store.provisioner_lists
    changed = {**LIST, "n1": {"status": "Releasing", "power": "on"}}
    lists.save(SITE, "mine", LIST)
    before = some(lists.get(SITE))
    clock.move(5)
    assert lists.save(SITE, "mine", changed, based_on=before.digest)
    clock.move(5)
    assert not lists.save(SITE, "mine", LIST, based_on=before.digest)
    kept = some(lists.get(SITE))
    assert json.loads(kept.nodes) == changed


def test_what_it_says_of_the_site_s_nodes_stands_with_them(store: SiteStore) -> None:
    want(store, 1, {"n1": "d1", "n2": "d2"})
    store.provisioner_lists.save(SITE, "mine", LIST)
    assert said(store) == {"n1": ("Deployed", "on"), "n2": (None, None)}
    store.provisioner_lists.save(SITE, "mine", {"n2": {"status": "Deploying", "power": "off"}})
    assert said(store) == {"n1": (None, None), "n2": ("Deploying", "off")}


def test_how_operations_left_their_nodes_after_it_was_read(site: Scenario, clock: FakeClock) -> None:
    store = site.store
    lists = store.provisioner_lists
    nodes = ["said", "unsaid", "failed", "silent"]
    want(store, 1, dict.fromkeys([*nodes, "old"], "d1"))
    action = site.running({"one": nodes, "two": ["old"]}, digests=dict.fromkeys([*nodes, "old"], "d1"))
    before = clock.time
    clock.move(1)
    second = site.open(action, "two")
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        site.do(second, phase)
    clock.move(60)
    read_at = clock.time
    lists.save(SITE, "mine", LIST)
    assert lists.left_since(SITE, read_at) == {}
    first = site.open(action, "one")
    site.do(first, Phase.PREPARE)
    clock.move(60)
    deploy = site.submit(site.begin(first, Phase.DEPLOY))
    assert lists.left_since(SITE, read_at) == {}, "it is not over"
    found = outcome(["said", "unsaid"], ["failed", "silent"])
    store.operations.record_outcome(deploy.op, found, status=OperationStatus.COMPLETE, result="failure")
    store.nodes.record_conditions(SITE, {"said": "deployed", "failed": "failed_deployment"}, deploy.op)
    left = {"said": "deployed", "unsaid": "deployed", "failed": "failed_deployment"}
    assert lists.left_since(SITE, read_at) == left, "of the silent one nothing is known"
    assert lists.left_since(SITE, before) == {**left, "old": "deployed"}
    assert lists.left_since("south", before) == {}
    assert lists.left_since(SITE, clock.time) == {}, "a list that was read since says it all"
    for moved in (0.0, -3600.0):
        clock.move(moved)
        lists.save(SITE, "mine", LIST)
        kept = some(lists.get(SITE))
        assert lists.left_since(SITE, kept.read_at) == {}, "whether the clock stands still or runs backwards"


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
