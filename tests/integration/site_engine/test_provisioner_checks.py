"""Provisioners are asked now and then whether they answer: one in each look, on a clock that the test moves."""

from __future__ import annotations

from site_engine.controller.controller import TICK, Controller, Job
from site_engine.controller.owner_jobs import PROVISIONERS_EVERY, check_provisioners
from site_engine.errors import AirflowApiError
from site_store import SiteStore
from tests.support.fake_clock import FakeClock
from tests.support.revisions import commit_design
from tests.support.stores import check_results


def made(store: SiteStore, clock: FakeClock, *jobs: Job) -> Controller:
    """Return a controller as a new process has it."""
    return Controller(store, "one", jobs, lambda: clock.now().timestamp())


def problems(store: SiteStore) -> dict[str, str | None]:
    """Return what the newest checks found."""
    return check_results(store)


def test_one_sites_failure_does_not_keep_the_others_from_being_asked(store: SiteStore, clock: FakeClock) -> None:
    for site in ("alpha", "beta", "gamma"):
        commit_design(store, site, "a: 1\n", [])

    def check(site: str) -> str | None:
        if site == "alpha":
            raise AirflowApiError("asking the provisioner of site alpha: HTTP 500")
        return None

    leader = made(store, clock, check_provisioners(check))
    for _ in range(3):
        leader.look()
    assert problems(store) == {
        "provisioner of site beta": None,
        "provisioner of site gamma": None,
        "provisioners": (
            "the provisioner of site alpha is not checked: asking the provisioner of site alpha: HTTP 500"
        ),
    }


def test_every_provisioner_is_asked_and_the_last_answer_is_kept(store: SiteStore, clock: FakeClock) -> None:
    for site in ("alpha", "beta"):
        commit_design(store, site, "a: 1\n", [])
    answers: dict[str, str | None] = {"alpha": None, "beta": "Drydock does not answer"}
    leader = made(store, clock, check_provisioners(lambda site: answers[site]))
    leader.look()
    leader.look()
    assert problems(store) == {
        "provisioner of site alpha": None,
        "provisioner of site beta": "Drydock does not answer",
        "provisioners": None,
    }
    answers["beta"] = None
    clock.sleep(TICK)
    leader.look()
    assert problems(store)["provisioner of site beta"] == "Drydock does not answer", "not asked again so soon"
    # As it goes on in between, it keeps its lease.
    for _ in range(int(PROVISIONERS_EVERY / TICK) + 1):
        clock.sleep(TICK)
        leader.look()
    assert set(problems(store).values()) == {None}


def test_one_provisioner_is_asked_in_each_look_so_that_other_jobs_do_not_wait(
    store: SiteStore, clock: FakeClock
) -> None:
    for site in ("alpha", "beta", "gamma"):
        commit_design(store, site, "a: 1\n", [])
    done: list[str] = []

    def slow(site: str) -> None:
        done.append(site)
        for _ in range(10):
            clock.sleep(2.5)
            # As the thread beside it does.
            leader.prolong()

    leader = made(store, clock, check_provisioners(slow), Job("other", TICK, lambda _: done.append("other")))
    for _ in range(4):
        leader.look()
        clock.sleep(TICK)
    assert done == ["alpha", "other", "beta", "other", "gamma", "other", "alpha", "other"]
