"""Who leads: the lease of the controller, its renewal, and its end. On clocks that the test moves."""

from __future__ import annotations

import contextlib
import threading

import pytest

from site_engine.controller.controller import (
    LEASE_SECONDS,
    LONGEST_STEP,
    NAME,
    RENEWALS,
    TICK,
    WAITING_SHARE,
    Controller,
    Job,
)
from site_store import Lease, LeaseLost, SiteStore
from tests.integration.site_engine.test_controller import Clock, counting, made
from tests.support.processes import wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_one_of_two_works_and_the_other_waits(store: SiteStore, clock: Clock) -> None:
    done: list[str] = []
    first, second = made(store, clock, "one", counting(done, "a")), made(store, clock, "two", counting(done, "b"))
    for _ in range(20):
        first.look()
        second.look()
        clock.seconds += TICK
    assert set(done) == {"a"}
    lease = store.leases.get(NAME)
    assert lease is not None
    assert lease.owner == "one"


def test_a_leader_that_was_killed_is_followed_when_its_lease_has_run_out(store: SiteStore, clock: Clock) -> None:
    done: list[str] = []
    killed, next_one = made(store, clock, "one", counting(done, "a")), made(store, clock, "two", counting(done, "b"))
    killed.look()
    clock.seconds += LEASE_SECONDS - 1
    next_one.look()
    assert done == ["a"]
    clock.seconds += 1
    next_one.look()
    assert done == ["a", "b"]
    # It was not killed but stood still, and finds out before it does anything more.
    with pytest.raises(LeaseLost):
        killed.look()
    assert done == ["a", "b"]


def test_a_leader_that_lost_the_lease_in_the_middle_of_a_job_stops_at_the_next_step(
    store: SiteStore, clock: Clock
) -> None:
    done: list[str] = []

    def work(controller: Controller) -> None:
        clock.seconds += LEASE_SECONDS
        other.look()
        controller.lease()
        done.append("a")

    other = made(store, clock, "two", counting(done, "b"))
    late = made(store, clock, "one", Job("slow", TICK, work), counting(done, "c"))
    with pytest.raises(LeaseLost):
        late.look()
    assert done == ["b"]


def test_told_to_stop_it_gives_up_its_lease(store: SiteStore, clock: Clock) -> None:
    done: list[str] = []
    made(store, clock, "one", counting(done, "a")).run(lambda _seconds: True)
    assert done == ["a"]
    made(store, clock, "two", counting(done, "b")).look()
    assert done == ["a", "b"]


@pytest.mark.parametrize("is_taking", [False, True], ids=["right before it takes the lease", "while it takes it"])
def test_one_that_is_told_to_end_by_another_thread_leaves_no_lease_behind(
    store: SiteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch, is_taking: bool
) -> None:
    done: list[str] = []
    ending = made(store, clock, "one", counting(done, "a"))
    take = store.leases.take

    def told_meanwhile(name: str, owner: str, seconds: float) -> Lease | None:
        ending.end()
        return take(name, owner, seconds)

    if is_taking:
        monkeypatch.setattr(store.leases, "take", told_meanwhile)
    else:
        ending.end()
    ending.look()
    monkeypatch.undo()
    assert done == []
    made(store, clock, "two", counting(done, "b")).look()
    assert done == ["b"]


def test_the_lease_is_renewed_now_and_then_and_not_at_every_look(store: SiteStore, clock: Clock) -> None:
    leader = made(store, clock, "one")
    leader.lease_seconds = 60
    ends = []
    for _ in range(9):
        leader.look()
        lease = store.leases.get(NAME)
        assert lease is not None
        ends.append((lease.expires_at - clock.now()).seconds)
        clock.seconds += TICK
    assert ends == [60, 55, 50, 45, 60, 55, 50, 45, 60]


def test_a_leader_whose_step_takes_long_keeps_its_lease_and_one_that_never_comes_back_loses_it(
    store: SiteStore, clock: Clock
) -> None:
    done: list[str] = []
    other = made(store, clock, "two", counting(done, "b"))
    led: list[float] = []

    def work(controller: Controller) -> None:
        began = clock.seconds
        with contextlib.suppress(LeaseLost):
            while clock.seconds - began < 2 * LONGEST_STEP:
                # As the thread beside this one does.
                clock.seconds += LEASE_SECONDS / RENEWALS / 2
                controller.prolong()
                other.look()
                led.extend([clock.seconds - began] if not done else [])
        controller.lease()

    with pytest.raises(LeaseLost):
        made(store, clock, "one", Job("slow", TICK, work)).look()
    assert LONGEST_STEP <= max(led) < LONGEST_STEP + LEASE_SECONDS
    assert done[:1] == ["b"]


def test_a_lease_that_is_given_up_while_it_is_renewed_stays_given_up(
    store: SiteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    ending = made(store, clock, "one", counting(done, "a"))
    ending.look()
    clock.seconds += LEASE_SECONDS / RENEWALS
    renew = store.leases.renew

    def late(held: Lease, seconds: float) -> Lease:
        renewed = renew(held, seconds)
        ending._held = None
        return renewed

    monkeypatch.setattr(store.leases, "renew", late)
    ending.prolong()
    made(store, clock, "two", counting(done, "b")).look()
    assert done == ["a", "b"]


def test_a_leader_at_a_long_step_is_renewed_by_a_thread_of_its_own_until_it_ends(
    store: SiteStore, clock: Clock
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def work(_controller: Controller) -> None:
        begun.set()
        goes_on.wait(120)

    leader = made(store, clock, "one", Job("slow", TICK, work))
    leader.lease_seconds = 0.3
    thread = threading.Thread(target=leader.run, args=(lambda _seconds: True,))
    thread.start()
    try:
        assert begun.wait(30)
        first = store.leases.get(NAME)
        assert first is not None
        clock.seconds += 0.2
        wait_until(lambda: (store.leases.get(NAME) or first).expires_at > first.expires_at, "it is renewed", 20)
    finally:
        goes_on.set()
        thread.join()
    last = store.leases.get(NAME)
    assert last is not None
    assert last.expires_at <= clock.now(), "and it is given back"


def test_who_waits_asks_so_often_that_another_leads_within_fifteen_seconds(store: SiteStore, clock: Clock) -> None:
    done: list[str] = []
    made(store, clock, "killed", counting(done, "a")).look()
    waiting, pauses = made(store, clock, "two", counting(done, "b")), list[float]()

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        clock.seconds += seconds
        return "b" in done

    # At the worst it has looked right before the lease ran out.
    clock.seconds += 0.1
    waiting.run(pause)
    assert sum(pauses[:-1]) <= LEASE_SECONDS * (1 + WAITING_SHARE) < 15
    assert set(pauses[:-1]) == {LEASE_SECONDS * WAITING_SHARE}


@pytest.mark.parametrize("step", [3.0, -3.0, 0.4, -0.4])
def test_a_clock_of_the_database_that_steps_a_little_again_and_again_leaves_one_leader_with_its_work(
    store: SiteStore, clock: Clock, step: float
) -> None:
    """Leases are measured by that clock, and pauses by one that only goes forward."""
    done: list[str] = []
    machine = Clock()
    work = counting(done, "a"), counting(done, "b")
    one, two = (made(store, clock, name, job) for name, job in zip(("one", "two"), work, strict=True))
    one.monotonic = two.monotonic = machine.monotonic
    for _ in range(20):
        one.look()
        two.look()
        assert store.leases.get(NAME) is not None
        machine.seconds += TICK
        clock.seconds += TICK + step
        step = -step
    assert done == ["a"] * 20
    lease = store.leases.get(NAME)
    assert lease is not None
    assert lease.owner == "one"


def test_a_clock_of_the_database_that_steps_past_the_lease_costs_a_change_of_leaders_and_no_second_one(
    store: SiteStore, clock: Clock
) -> None:
    done: list[str] = []
    one, two = made(store, clock, "one", counting(done, "a")), made(store, clock, "two", counting(done, "b"))
    one.look()
    first = store.leases.get(NAME)
    assert first is not None
    clock.seconds += LEASE_SECONDS + 1
    two.look()
    with pytest.raises(LeaseLost):
        one.look()
    # Back again: the lease seems to be longer, and its epoch never falls.
    clock.seconds -= LEASE_SECONDS + 1
    two.look()
    one.look()
    second = store.leases.get(NAME)
    assert second is not None
    assert (second.owner, second.epoch > first.epoch, done[:2]) == ("two", True, ["a", "b"])
