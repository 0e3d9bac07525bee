"""The controller compares the store with each provisioner when it begins, and when PostgreSQL has begun (rule 61)."""

from __future__ import annotations

import pytest

from design_rendering.reading.documents import load_documents
from provisioner_client.errors import NoTaskListed
from provisioner_client.protocol import Provisioner
from site_engine.controller.controller import Controller, Job
from site_engine.controller.follow import COMPARE_EVERY, compare_site, compare_sites
from site_engine.errors import ConnectionLookupFailed, NoConnection
from site_store import Lease, SiteStore
from tests.support.driving import Begin
from tests.support.fake_clock import FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import administer


@pytest.fixture
def sent(begin: Begin, store: SiteStore) -> SiteStore:
    """Return a store by which something was sent for the site alpha, and for beta something is about to be."""
    begin(site([node("a")], [group("all")])).finish()
    begin(site([node("b")], [group("all")]), "run-2", "beta")
    return store


RESTARTED = "UPDATE store_state SET server_start = server_start - 1"


def test_each_site_is_compared_once_and_again_after_a_start_of_postgresql(
    sent: SiteStore, clock: FakeClock, store_url: str
) -> None:
    asked: list[str] = []
    problems: list[str | None] = ["Drydock does not answer"]

    def compare(name: str, _: Lease) -> str | None:
        asked.append(name)
        problem = problems.pop() if problems else None
        if problem is None:
            sent.home.note_compared(name, None)
        return problem

    def looks(job: Job) -> list[str]:
        leader = Controller(sent, "one", [job], lambda: clock.now().timestamp())
        asked.clear()
        for _ in range(50):
            leader.look()
            clock.sleep(COMPARE_EVERY / 2)
        leader.give_up()
        return list(asked)

    job = compare_sites(compare)
    both = ["alpha", "beta"]
    assert looks(job) == [*both, "alpha"], "once more, as the first time there was no answer"
    assert looks(job) == []
    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    assert looks(job) == both
    assert sent.home.held() is None
    assert looks(compare_sites(compare)) == both, "another process begins anew"


def test_a_site_whose_provisioner_does_not_answer_holds_no_other(
    sent: SiteStore, clock: FakeClock, store_url: str
) -> None:
    def compare(name: str, _: Lease) -> str | None:
        if name == "alpha":
            return "Drydock does not answer"
        sent.home.note_compared(name, None)
        return None

    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    leader = Controller(sent, "one", [compare_sites(compare)], lambda: clock.now().timestamp())
    leader.look()
    leader.give_up()
    assert sent.home.held("beta") is None
    assert "compared it with the store" in str(sent.home.held("alpha"))
    assert [one.problem for one in sent.checks.all() if one.subject == "what provisioners know"] == [
        "site alpha: Drydock does not answer"
    ]


def test_a_site_that_is_new_waits_behind_a_restart_for_no_other(
    sent: SiteStore, clock: FakeClock, store_url: str
) -> None:
    """Nothing was sent for it, as far as the store knows: it is asked, and comes before those that did not answer."""
    asked: list[str] = []

    def compare(name: str, _: Lease) -> str | None:
        asked.append(name)
        clock.sleep(9.0)
        if name in ("alpha", "beta"):
            return "Drydock does not answer"
        sent.home.note_compared(name, None)
        return None

    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    leader = Controller(sent, "one", [compare_sites(compare)], lambda: clock.now().timestamp())
    leader.look()
    text = site([node("c")], [group("all")])
    commit_design(sent, "gamma", text, load_documents(text, "site.yaml"))
    assert sent.home.held("gamma") is not None
    for _ in range(4):
        clock.sleep(COMPARE_EVERY)
        leader.look()
    leader.give_up()
    assert asked == ["alpha", "beta", "gamma", "alpha", "beta"]
    assert sent.home.held("gamma") is None


def test_a_provisioner_without_any_task_is_believed_to_be_new_where_nothing_was_sent(
    sent: SiteStore, store_url: str
) -> None:
    def connect() -> Provisioner:
        raise NoTaskListed("Drydock lists no tasks at all")

    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    assert "no tasks at all" in str(compare_site(sent, "alpha", connect))
    assert compare_site(sent, "beta", connect) is None, "its action has sent nothing yet"
    assert sent.home.held("alpha") is not None
    assert sent.home.held("beta") is None


def test_a_restart_behind_which_nothing_was_sent_ends_by_itself(
    store: SiteStore, clock: FakeClock, store_url: str
) -> None:
    def compare(name: str, _: Lease) -> str | None:
        raise AssertionError(f"nothing is to be asked: {name}")

    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    assert store.home.is_restarted()
    leader = Controller(store, "one", [compare_sites(compare)], lambda: clock.now().timestamp())
    leader.look()
    leader.give_up()
    assert store.home.held() is None


@pytest.mark.usefixtures("sent")
def test_a_site_whose_connection_was_deleted_is_passed_over(store: SiteStore, store_url: str, clock: FakeClock) -> None:
    found = dict[str, Exception]()

    def compare(name: str, _: Lease) -> str | None:
        def connect() -> Provisioner:
            raise found[name]

        return compare_site(store, name, connect)

    administer(store_url, "SET session_replication_role = replica", RESTARTED)
    leader = Controller(store, "one", [compare_sites(compare)], lambda: clock.now().timestamp())
    gone = NoConnection("alpha", "slipway_provisioner_alpha", "slipway_provisioner", ["drydock"])
    found |= {"alpha": gone, "beta": ConnectionLookupFailed("Airflow does not answer")}
    leader.look()
    assert store.home.held("alpha") is None
    assert "took over" in str(store.home.held("beta")), "whether it has a connection is not known"
    found["beta"] = NoConnection("beta", "slipway_provisioner_beta", "slipway_provisioner", ["drydock"])
    for _ in range(20):
        clock.sleep(COMPARE_EVERY / 2)
        leader.look()
    leader.give_up()
    assert store.home.held() is None
