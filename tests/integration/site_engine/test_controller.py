"""The controller: who leads, what is done, and what it survives. Everything on clocks that the test moves."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import pytest

from api_client.airflow_health import ComponentHealth
from site_engine.actions.dead_actions import GONE_TIME
from site_engine.controller.controller import (
    AIRFLOW,
    LEASE_SECONDS,
    LONGEST_PAUSE,
    LONGEST_STEP,
    MOST_REFUSALS,
    NAME,
    RENEWALS,
    TICK,
    USER,
    WAITING_SHARE,
    Controller,
    Job,
    close_dead_actions,
    pause_after,
)
from site_engine.controller.owner_jobs import OWNERS_EVERY, check_owners
from site_engine.controller.upkeep import METRICS_EVERY, give_metrics
from site_engine.errors import AccountRefused, AirflowApiError
from site_store import ActionState, Lease, LeaseLost, NewAction, SiteStore, StoreUnavailable
from site_store.actions.abort import CLOSE
from tests.support.processes import wait_until
from tests.support.stores import check_results


class Clock:
    """The time of the database and of the processes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


class Runs:
    """Airflow's runs; it does not answer while `away`."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.away = False
        self.asked = 0

    def run_states(self, runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        self.asked += 1
        if self.away:
            raise AirflowApiError("Airflow does not answer")
        return {run: self.states[run[1]] for run in runs if run[1] in self.states}

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        return self.states.get(run_id)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runs() -> Runs:
    return Runs()


def made(store: SiteStore, clock: Clock, owner: str, *jobs: Job) -> Controller:
    """Return a controller as a new process has it."""
    return Controller(store, owner, jobs, clock.monotonic)


def counting(done: list[str], name: str, problem: Callable[[], str | None] = lambda: None) -> Job:
    """Return a job that notes each time it is done, and fails while there is a problem."""

    def work(_controller: Controller) -> None:
        done.append(name)
        if (found := problem()) is not None:
            raise AirflowApiError(found)

    return Job(name, TICK, work)


def run(store: SiteStore, site: str = "alpha") -> tuple[str, str]:
    """Let an action be at work on a site; return its id and that of its DAG run."""
    action = store.actions.create(NewAction("deploy_site", site, 1, {}, "ann", context_marker=None), exclusive=True)
    store.locks.acquire(action.id)
    return action.id, str(action.run_id)


def problems(store: SiteStore) -> dict[str, str | None]:
    """Return what the newest checks found."""
    return check_results(store)


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


def test_dead_actions_are_closed_and_the_audit_names_slipway(store: SiteStore, clock: Clock, runs: Runs) -> None:
    (over, ended), (going, run_id) = run(store, "alpha"), run(store, "beta")
    runs.states |= {ended: "failed", run_id: "running"}
    made(store, clock, "one", close_dead_actions(runs)).look()
    assert [store.actions.get(action_id).state for action_id in (over, going)] == [
        ActionState.CANCELLED,
        ActionState.RUNNING,
    ]
    assert [(one.command, one.user) for one in store.actions.commands(over)][-1] == (CLOSE, USER)
    assert store.locks.owner("alpha") is None
    assert problems(store) == {AIRFLOW: None}


def test_an_airflow_that_does_not_have_a_run_is_believed_after_two_minutes_only(
    store: SiteStore, clock: Clock, runs: Runs
) -> None:
    gone, _ = run(store)
    leader = made(store, clock, "one", close_dead_actions(runs))
    states = []
    for _ in range(int(GONE_TIME.total_seconds() / TICK) + 1):
        leader.look()
        states.append(store.actions.get(gone).state)
        clock.seconds += TICK
    assert states.index(ActionState.CANCELLED) == GONE_TIME.total_seconds() / TICK
    assert [(one.command, one.user) for one in store.actions.commands(gone)][-1] == (CLOSE, USER)
    # Another process begins anew.
    other, _ = run(store)
    made(store, clock, "one", close_dead_actions(runs)).look()
    assert store.actions.get(other).state is ActionState.RUNNING


def test_airflow_is_not_asked_while_nothing_is_open(store: SiteStore, clock: Clock, runs: Runs) -> None:
    made(store, clock, "one", close_dead_actions(runs)).look()
    assert runs.asked == 0


def test_an_outage_of_airflow_closes_nothing_and_is_over_by_itself(
    store: SiteStore, clock: Clock, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    gone, ended = run(store)
    runs.states[ended] = "failed"
    runs.away = True
    done: list[str] = []
    leader = made(store, clock, "one", close_dead_actions(runs), counting(done, "other"))
    for _ in range(24):
        leader.look()
        clock.seconds += TICK
    assert store.actions.get(gone).state is ActionState.RUNNING
    assert problems(store) == {AIRFLOW: "Airflow does not answer", "other": None}
    assert (runs.asked < 10, len(done)) == (True, 24), "asked less often, and the other job goes on"
    assert len([line for line in caplog.messages if "does not answer" in line]) == 1
    runs.away = False
    for _ in range(int(LONGEST_PAUSE / TICK) + 1):
        leader.look()
        clock.seconds += TICK
    assert store.actions.get(gone).state is ActionState.CANCELLED
    assert problems(store)[AIRFLOW] is None


def test_pauses_grow_and_have_an_end() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 4, 7, 1000)] == [1, 2, 4, 8, LONGEST_PAUSE, LONGEST_PAUSE]


def test_an_outage_of_the_store_is_survived(
    store: SiteStore, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    pauses: list[float] = []
    real = store._database.write_at

    def away(_work: object) -> None:
        raise StoreUnavailable("the database is away")

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        clock.seconds += seconds
        monkeypatch.setattr(store._database, "write_at", away if 1 <= len(pauses) <= 8 else real)
        return len(pauses) == 20

    made(store, clock, "one", counting(done, "a")).run(pause)
    # It led; could not renew; its lease ran out, and it took it again.
    assert done[:1] == ["a"]
    assert len(done) > 2
    assert LONGEST_PAUSE not in pauses[:3]
    assert max(pauses) > TICK
    assert len([line for line in caplog.messages if "does not answer" in line]) == 1


def test_a_defect_in_one_job_is_told_and_does_not_stop_the_others(
    store: SiteStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_controller: Controller) -> None:
        raise ZeroDivisionError

    done: list[str] = []
    made(store, clock, "one", Job("broken", TICK, broken), counting(done, "a")).look()
    assert done == ["a"]
    assert problems(store)["broken"] == "ZeroDivisionError in the controller; its log has more"
    assert "ZeroDivisionError" in caplog.text


def test_owners_are_looked_at_and_a_silent_airflow_is_one_of_them(store: SiteStore, clock: Clock) -> None:
    found = {"scheduler": ComponentHealth(None, 1), "triggerer": ComponentHealth("Airflow says unhealthy", 40)}
    answers = [found]

    def health() -> dict[str, ComponentHealth]:
        if not answers:
            raise AirflowApiError("Airflow does not answer")
        return answers.pop()

    leader = made(store, clock, "one", check_owners(health))
    leader.look()
    assert problems(store) == {
        "airflow: api-server": None,
        "airflow: scheduler": None,
        "airflow: triggerer": "Airflow says unhealthy",
    }
    for _ in range(int(OWNERS_EVERY / TICK)):
        clock.seconds += TICK
        leader.look()
    assert problems(store)["airflow: api-server"] == "Airflow does not answer"
    assert problems(store)["airflow: scheduler"] is None, "what was known last stays"


def test_metrics_are_read_once_a_minute_though_nobody_scrapes(store: SiteStore, clock: Clock) -> None:
    done: list[float] = []
    leader = made(store, clock, "one", give_metrics(lambda: done.append(clock.seconds)))
    begun = clock.seconds
    for _ in range(25):
        leader.look()
        clock.seconds += TICK
    assert [at - begun for at in done] == [0, METRICS_EVERY, 2 * METRICS_EVERY]
    assert problems(store)["metrics"] is None


def test_who_is_refused_lets_another_lead_and_tries_again_after_growing_pauses(store: SiteStore, clock: Clock) -> None:
    tries: list[float] = []

    def refused(_controller: Controller) -> None:
        tries.append(clock.seconds)
        raise AccountRefused("logging in as nobody: HTTP 401")

    bad = made(store, clock, "bad", Job("airflow", TICK, refused))
    for _ in range(int(1000 / TICK)):
        bad.look()
        clock.seconds += TICK
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert gaps[: MOST_REFUSALS + 2] == [TICK, TICK, 60, 120, 240]
    done: list[str] = []
    made(store, clock, "good", counting(done, "a")).look()
    assert done == ["a"]
