"""The controller: what is done, and what it survives. Everything on clocks that the test moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import pytest

from api_client.airflow_health import ComponentHealth
from site_engine.actions.dead_actions import GONE_TIME
from site_engine.controller.controller import (
    AIRFLOW,
    LONGEST_PAUSE,
    MOST_REFUSALS,
    TICK,
    USER,
    Controller,
    Job,
    close_dead_actions,
    pause_after,
)
from site_engine.controller.owner_jobs import OWNERS_EVERY, check_owners
from site_engine.controller.upkeep import METRICS_EVERY, give_metrics
from site_engine.errors import AccountRefused, AirflowApiError
from site_store import ActionState, NewAction, SiteStore, StoreUnavailable
from site_store.actions.abort import CLOSE
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
