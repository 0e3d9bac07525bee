"""The loop over all sites: who leads which, when a provisioner is asked, and what a failure leaves as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from site_engine.errors import EngineError
from site_engine.node_states.leaders import BACK_OFF, LEASE_SECONDS, POLL_SECONDS, Poll, SiteLeaders
from site_store import Lease, SiteStore, StoreUnavailable, ValueRefused
from site_store.node_states.user_states import lease_of
from strategy_lib.node_states.publication import Version
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import new_store


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
        self.takes = 0.0
        self.failure: Exception | None = None
        self.word = "Deployed"
        commit_design(store, SITE, site([node("n1")], [group("g", ["n1"])], region=SITE))
        self.pool = AtOnce()

    def observe(self, name: str, held: Lease, cursor: str | None) -> str | None:
        self.asked.append((name, held.owner))
        self.cursors.append(cursor)
        self.times.append(self.clock().timestamp())
        self.clock.move(self.takes)
        if self.failure is not None:
            raise self.failure
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


def test_sites_that_share_a_provisioner_take_turns_and_keep_it_busy_for_a_tenth_of_its_time(here: Site) -> None:
    names = [SITE, *(f"{SITE}-{number}" for number in range(4))]
    for name in names[1:]:
        commit_design(here.store, name, site([node("n1")], [group("g", ["n1"])], region=name))
    here.takes = 0.5
    leaders = here.controller("me")
    for _ in range(200):
        here.look(leaders, 0.5)
    # Until it has answered for a site, nobody knows which provisioner that is.
    asked, times = here.asked[len(names) :], here.times[len(names) :]
    assert all(after - before >= 5 for before, after in pairwise(times)), (
        "0.5 s, and nine times that without a question"
    )
    turns = [name for name, _ in asked]
    assert len(turns) > 2 * len(names)
    assert turns == (turns[: len(names)] * len(turns))[: len(turns)], "each in its turn"
    assert set(turns[: len(names)]) == set(names)


def test_one_that_fails_for_several_sites_is_asked_as_often_as_for_one(here: Site) -> None:
    names = [SITE, *(f"{SITE}-{number}" for number in range(4))]
    for name in names[1:]:
        commit_design(here.store, name, site([node("n1")], [group("g", ["n1"])], region=name))
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


def test_a_provisioner_is_busy_with_questions_for_a_tenth_of_its_time() -> None:
    poll = Poll(took=0.1)
    poll.ended(0.1, None)
    assert poll.due == pytest.approx(POLL_SECONDS)
    poll.took = 4
    poll.ended(104, None)
    assert poll.due == pytest.approx(104 + 36)
    for pause in (*BACK_OFF, BACK_OFF[-1]):
        poll.ended(200, EngineError("away"))
        assert poll.due == pytest.approx(200 + pause)
