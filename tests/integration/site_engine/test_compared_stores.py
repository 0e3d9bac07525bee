"""The controller compares the store with each site's provisioner when it begins, and after a failover (rule 61)."""

from __future__ import annotations

import pytest

from provisioner_client.protocol import Provisioner
from site_engine.controller.controller import Controller, Job
from site_engine.controller.follow import FOLLOW_EVERY, Followed, compare_site, follow_unfinished
from site_engine.errors import ConnectionLookupFailed, NoConnection
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


@pytest.mark.usefixtures("sent")
def test_a_failover_waits_for_no_site_whose_connection_was_deleted(
    store: SiteStore, store_url: str, clock: FakeClock
) -> None:
    found = dict[str, Exception]()

    def follow(name: str, _: Lease, compare: bool) -> Followed:
        def connect() -> Provisioner:
            raise found[name]

        return Followed(problem=compare_site(store, name, connect) if compare else None)

    administer(store_url, "SET session_replication_role = replica", "UPDATE store_state SET timeline = timeline + 1")
    leader = Controller(store, "one", [follow_unfinished(follow)], lambda: clock.now().timestamp())
    gone = NoConnection("alpha", "slipway_provisioner_alpha", "slipway_provisioner", ["drydock"])
    found |= {"alpha": gone, "beta": ConnectionLookupFailed("Airflow does not answer")}
    leader.look()
    assert "took over" in str(store.home.held()), "whether beta has a connection is not known"
    found["beta"] = NoConnection("beta", "slipway_provisioner_beta", "slipway_provisioner", ["drydock"])
    for _ in range(20):
        clock.sleep(FOLLOW_EVERY / 10)
        leader.look()
    leader.give_up()
    assert store.home.held() is None
