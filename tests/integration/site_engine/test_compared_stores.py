"""The controller compares the store with each site's provisioner when it begins, and after a failover (rule 61)."""

from __future__ import annotations

import pytest

from site_engine.controller.controller import Controller, Job
from site_engine.controller.follow import FOLLOW_EVERY, Followed, follow_unfinished
from site_store import Lease, SiteStore
from tests.support.driving import Begin
from tests.support.fake_clock import FakeClock
from tests.support.sites import group, node, site
from tests.support.stores import administer


@pytest.fixture
def sent(begin: Begin, store: SiteStore) -> SiteStore:
    """Return a store by which something was sent for the site alpha, and for beta something is about to be."""
    begin(site([node("a")], [group("all")])).finish()
    begin(site([node("b")], [group("all")]), "run-2", "beta")
    return store


def test_each_site_is_compared_once_and_again_after_a_failover(
    sent: SiteStore, clock: FakeClock, store_url: str
) -> None:
    asked: list[tuple[str, bool]] = []
    problems: list[str | None] = ["Drydock does not answer"]

    def follow(name: str, _: Lease, compare: bool) -> Followed:
        asked.append((name, compare))
        problem = problems.pop() if problems else None
        if compare and problem is None:
            sent.home.note_compared(name, None)
        return Followed(problem=problem)

    def looks(job: Job) -> list[tuple[str, bool]]:
        leader = Controller(sent, "one", [job], lambda: clock.now().timestamp())
        asked.clear()
        for _ in range(50):
            leader.look()
            clock.sleep(FOLLOW_EVERY / 10)
        leader.give_up()
        return list(asked)

    job = follow_unfinished(follow)
    both = [("alpha", True), ("beta", True)]
    assert looks(job) == [*both, ("alpha", True)], "once more, as the first time there was no answer"
    assert looks(job) == []
    administer(store_url, "SET session_replication_role = replica", "UPDATE store_state SET timeline = timeline + 1")
    assert looks(job) == both
    assert sent.home.held() is None
    assert looks(follow_unfinished(follow)) == both, "another process begins anew"


def test_a_failover_of_a_store_by_which_nothing_was_sent_ends_by_itself(
    store: SiteStore, clock: FakeClock, store_url: str
) -> None:
    def follow(name: str, _: Lease, compare: bool) -> Followed:
        raise AssertionError(f"nothing is to be asked: {name}, {compare}")

    administer(store_url, "SET session_replication_role = replica", "UPDATE store_state SET timeline = timeline + 1")
    assert store.home.is_failover()
    leader = Controller(store, "one", [follow_unfinished(follow)], lambda: clock.now().timestamp())
    leader.look()
    leader.give_up()
    assert store.home.held() is None
