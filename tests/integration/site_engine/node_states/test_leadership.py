"""The loop over all sites: who leads which, when a provisioner is asked, and what a failure leaves as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from site_engine.errors import EngineError
from site_engine.node_states.leadership import LEASE_SECONDS, SiteLeaders
from site_engine.node_states.polls import BACK_OFF, LONGEST_REST, POLL_SECONDS, Round
from site_store import AskedState, Lease, SiteStore, StoreUnavailable, ValueRefused
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import Version
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import new_store

LONG = 600.0
"""Seconds of a lease that a slow answer does not end, which is waited for in the midst of a look here."""


class AtOnce(ThreadPoolExecutor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as a pool does
            done.set_exception(error)
        return done


class Site:
    """A site whose provisioner lists one node, and controllers whose looks and time the test makes."""

    def __init__(self, store: SiteStore, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.asked: list[tuple[str, str]] = []
        self.times: list[float] = []
        self.cursors: list[str | None] = []
        self.lists: list[datetime] = []
        self.takes = 0.0
        self.failure: Exception | None = None
        self.word = "Deployed"
        commit_design(store, SITE, site([node("n1")], [group("g", ["n1"])], region=SITE))
        self.pool = AtOnce()

    def observe(self, name: str, held: Lease, cursor: str | None, since: datetime) -> str | None:
        self.asked.append((name, held.owner))
        self.cursors.append(cursor)
        self.times.append(self.clock().timestamp())
        if self.failure is not None:
            self.clock.move(self.takes)
            raise self.failure
        if not self.lists or self.lists[-1] <= since:
            # As `site_engine/shared_lists.py` does: what was asked for since then serves.
            self.clock.move(0.001)
            self.lists.append(self.clock())
            self.clock.move(self.takes)
        self.store.provisioner_lists.save(name, "c", {"n1": {"status": self.word, "power": "on", "condition": "other"}})
        return f"{held.owner} {len(self.cursors)}"

    def controller(self, owner: str, lease: float = LEASE_SECONDS) -> SiteLeaders:
        return SiteLeaders(self.store, owner, self.observe, lease, monotonic=lambda: self.clock().timestamp())

    def look(self, leaders: SiteLeaders, after: float = 0.0) -> None:
        if after:
            self.clock.move(after)
        leaders.look(self.pool)

    def version(self) -> Version | None:
        return self.store.site_views.versions().get(SITE)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    clock = FakeClock()
    with new_store() as url, SiteStore.open(url, clock) as store:
        yield Site(store, clock)


def test_one_of_two_leads_and_the_other_follows_when_the_lease_has_run_out(here: Site) -> None:
    first, second = here.controller("first"), here.controller("second")
    here.look(first)
    here.look(second)
    assert (first.led(), second.led()) == ((SITE,), ())
    here.look(first, 1)
    before = here.version()
    assert before is not None
    assert before.number == 1
    here.look(second, 9.5)
    assert second.led() == (SITE,)
    here.look(second, 1)
    after = here.version()
    assert after is not None
    assert after > before
    assert after.number == 2, "numbers go on over epochs"
    here.look(first, 0.5)
    assert first.led() == (), "who was replaced writes nothing, and leads no more"
    assert here.version() == after


def test_of_two_sites_the_one_that_is_stopped_is_led_by_nobody(here: Site) -> None:
    commit_design(here.store, "second", site([node("n1")], [group("g", ["n1"])], region="second"))
    first = here.controller("first", LONG)
    here.look(first)
    assert first.led() == (SITE, "second")
    here.store.site_stops.put(SITE, "demo: simulator stopped", after=30)
    here.look(first, 29)
    assert first.led() == (SITE, "second")
    here.look(first, 2)
    asked = len(here.asked)
    here.look(first, 30)
    assert first.led() == ("second",)
    assert {name for name, _ in here.asked[asked:]} == {"second"}
    # Another controller does not begin, and the same one does once it is watched again.
    second = here.controller("second")
    here.look(second, 1)
    assert second.led() == ()
    here.store.site_stops.put(SITE, "demo: simulator stopped", after=30)
    here.look(first, 2)
    assert first.led() == (SITE, "second")


def test_a_lease_is_renewed_while_its_owner_looks(here: Site) -> None:
    first, second = here.controller("first"), here.controller("second")
    for _ in range(8):
        here.look(first, 3)
        here.look(second)
    assert (first.led(), second.led()) == ((SITE,), ())
    held = here.store.leases.get(lease_of(SITE))
    assert held is not None
    assert held.owner == "first"


@pytest.mark.parametrize("lease", [1.0, 10.0])
def test_a_lease_is_kept_however_long_the_looks_take(here: Site, lease: float, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = here.controller("first", lease), here.controller("second", lease)
    pauses = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        here.clock.move(seconds)
        here.look(second)
        return second.led() != () or len(pauses) == 20

    looks = first.look

    def slow(*pools: Any) -> None:
        looks(*pools)
        here.clock.move(lease / 5)

    monkeypatch.setattr(first, "look", slow)
    first.run(pause)
    assert len(pauses) == 20, "the other one never led"


def test_a_site_that_cannot_be_looked_at_stops_no_other(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_design(here.store, "a-first", site([node("n1")], [group("g", ["n1"])], region="a-first"))
    nodes = here.store.site_views.nodes

    def refused(name: str) -> frozenset[str]:
        if name == "a-first":
            raise ValueRefused("a value that is not good")
        return nodes(name)

    monkeypatch.setattr(here.store.site_views, "nodes", refused)
    leaders = here.controller("me")
    here.look(leaders)
    here.look(leaders, 1)
    assert leaders.led() == ("a-first", SITE)
    assert here.version() is not None


def test_a_provisioner_that_fails_changes_no_state_and_is_asked_again_with_growing_pauses(here: Site) -> None:
    leaders = here.controller("me")
    here.look(leaders)
    here.look(leaders, 1)
    published = here.version()
    here.failure = EngineError("the provisioner is away")
    here.word = "Ready"
    asked = len(here.asked)
    for _ in range(25):
        here.look(leaders, 1)
    times = here.times[asked:]
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= BACK_OFF[-1] > gaps[0]
    assert here.version() == published
    here.failure = None
    for _ in range(20):
        here.look(leaders, 1)
    newest = here.version()
    assert newest is not None
    assert newest != published


def test_each_question_goes_on_from_the_last_answer_and_a_new_leader_asks_for_everything(here: Site) -> None:
    first, second = here.controller("first"), here.controller("second")
    for failure in (None, EngineError("the provisioner is away"), None):
        here.failure, asked = failure, len(here.cursors)
        while len(here.cursors) == asked:
            here.look(first, 1)
    first.run(lambda _seconds: True)
    here.look(second, 1)
    assert here.cursors == [None, "first 1", "first 1", None], "no answer leaves it where it was"


def test_a_site_that_was_stopped_at_is_led_by_the_next_at_once(here: Site) -> None:
    first, second = here.controller("first"), here.controller("second")
    first.run(lambda _seconds: True)
    assert first.led() == ()
    here.look(second)
    assert second.led() == (SITE,)


def test_a_store_that_does_not_answer_ends_nothing(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    leaders = here.controller("me")
    here.look(leaders)

    def away(_sites: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(here.store.site_views, "pulses", away)
        here.look(leaders, 1)
    assert here.version() is None
    here.look(leaders, 1)
    assert here.version() is not None


def more_sites(here: Site, number: int) -> list[str]:
    """Commit so many sites beside the first one; return the names of all."""
    names = [SITE, *(f"{SITE}-{place}" for place in range(number))]
    for name in names[1:]:
        commit_design(here.store, name, site([node("n1")], [group("g", ["n1"])], region=name))
    return names


def gaps(times: Sequence[datetime]) -> list[float]:
    return [(after - before).total_seconds() for before, after in pairwise(times)]


def test_one_list_serves_all_sites_of_a_provisioner_which_is_busy_for_a_tenth_of_its_time(here: Site) -> None:
    names = more_sites(here, 4)
    here.takes = 0.8
    leaders = here.controller("me")
    for _ in range(200):
        here.look(leaders, 0.5)
    assert all(7.2 <= gap - here.takes < 8.5 for gap in gaps(here.lists)[1:]), "nine times that without a question"
    assert len(here.asked) >= 5 * (len(here.lists) - 1)
    assert {name for name, _ in here.asked[-5:]} == set(names)


def test_five_sites_are_published_within_the_lease_two_seconds_and_one_list(here: Site) -> None:
    names = more_sites(here, 4)
    first, second = here.controller("first"), here.controller("second")
    here.look(first)
    here.look(first, 1)
    epochs = {name: version.epoch for name, version in here.store.site_views.versions().items()}
    here.takes, lists, killed = 3.0, len(here.lists), here.clock.time
    published: dict[str, float] = {}
    while len(published) < len(names):
        here.look(second, 0.25)
        for name, version in here.store.site_views.versions().items():
            if version.epoch > epochs[name]:
                published.setdefault(name, (here.clock.time - killed).total_seconds())
        assert (here.clock.time - killed).total_seconds() < 60
    assert max(published.values()) <= LEASE_SECONDS + 2 + here.takes
    assert len(here.lists) == lists + 1


def test_a_slow_answer_stops_polling_for_a_minute_at_most(here: Site) -> None:
    here.takes = 35
    leaders = here.controller("me", LONG)
    for _ in range(800):
        here.look(leaders, 0.5)
    found = gaps(here.lists)
    assert len(found) > 3
    assert max(found) <= here.takes + LONGEST_REST + 1


def test_a_site_that_is_handed_over_is_asked_about_though_its_provisioner_rests(here: Site) -> None:
    here.takes = 35
    leaders = here.controller("me", LONG)
    here.look(leaders)
    here.look(leaders, 1)
    lists, before = len(here.lists), here.clock.time
    name = more_sites(here, 1)[-1]
    here.store.provisioner_lists.save(name, "c", {})
    here.takes = 0
    while name not in {one for one, _ in here.asked}:
        here.look(leaders, 0.5)
    assert (here.clock.time - before).total_seconds() <= 2
    assert len(here.lists) == lists + 1


def test_what_a_person_has_set_is_looked_at_though_the_provisioner_rests(here: Site) -> None:
    here.takes = 35
    leaders = here.controller("me", LONG)
    here.look(leaders)
    for _ in range(6):
        here.look(leaders, 1)
    lists = len(here.lists)
    here.store.user_states.change(SITE, ["n1"], AskedState(NodeAvailability.MAINTENANCE, "a disk", force=True), "ann")
    here.look(leaders, 1)
    assert len(here.lists) == lists + 1
    here.look(leaders, 6)
    assert len(here.lists) == lists + 1, "once"


def test_one_that_fails_for_several_sites_is_asked_as_often_as_for_one(here: Site) -> None:
    names = more_sites(here, 4)
    leaders = here.controller("me")
    for _ in range(8):
        here.look(leaders, 1)
    here.failure = EngineError("the provisioner is away")
    for _ in range(60):
        here.look(leaders, 1)
    asked = len(here.asked)
    for _ in range(100):
        here.look(leaders, 1)
    assert len(here.asked) - asked <= 100 / BACK_OFF[-1]
    assert {name for name, _ in here.asked[asked:]} == set(names), "each in its turn"
    here.failure, asked = None, len(here.asked)
    for _ in range(12):
        here.look(leaders, 1)
    assert {name for name, _ in here.asked[asked:]} == set(names), "all of them, once it is back"


def test_an_idle_site_costs_a_part_of_one_statement_and_no_lease_of_its_own(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        commit_design(here.store, f"{SITE}-{number}", site([node("n1")], [group("g", ["n1"])], region=SITE))
    leaders = here.controller("me")
    for _ in range(20):
        leaders.look(here.pool, here.pool)
        here.clock.move(1)
    here.failure = EngineError("the provisioner is away")
    run, done = here.store._database._run, []

    def counted(*args: Any, **kwargs: Any) -> Any:
        done.append(args)
        return run(*args, **kwargs)

    monkeypatch.setattr(here.store._database, "_run", counted)
    for _ in range(30):
        leaders.look(here.pool, here.pool)
        here.clock.move(1)
    # A second: whose the leases are, which sites there are, their pulses; and each third of a lease its renewal.
    assert len(done) <= 30 * 3 + 30 / (LEASE_SECONDS / 3) + 5


@pytest.mark.parametrize(("took", "due"), [(0.1, POLL_SECONDS), (4, 4 + 36), (35, 35 + LONGEST_REST)])
def test_a_provisioner_is_busy_with_questions_for_a_tenth_of_its_time(took: float, due: float) -> None:
    this = Round(began=100.0, answers=1)
    this.end(100.0 + took, 1)
    assert this.due == pytest.approx(100 + due)
    for pause in (*BACK_OFF, BACK_OFF[-1]):
        this.began, this.answers = 199.0, 0
        this.end(200.0, 1)
        assert this.due == pytest.approx(200 + pause)
