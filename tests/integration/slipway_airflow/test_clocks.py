"""A worker whose clock is wrong does what it does by the database's: what it compares was written by that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.errors import TaskStopped
from site_engine.operations.run import OperationRun
from site_engine.process import STOP
from site_store import NewAction, SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.waiting import StepWork, WaitingOperator
from tests.support.fake_clock import FakeClock
from tests.support.revisions import commit_design

BEHIND, AHEAD = timedelta(seconds=120), timedelta(seconds=-120)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every action find a connection over which nothing is sent."""
    provisioner = SimpleNamespace(close=lambda: None)
    settings = SimpleNamespace(poll_in_worker=0.0)
    connection = SimpleNamespace(id="slipway_provisioner", settings=settings, connect=lambda *_: provisioner)
    monkeypatch.setattr(connections, "for_action", lambda *_: connection)


def run_step(url: str, worker_is: timedelta, work: Callable[[SiteStore, str, OperationRun], None]) -> None:
    """Run a step on a worker whose clock is so far behind, or ahead; it carries out `work`. It was stopped before."""
    clock = FakeClock(datetime.now(UTC) + worker_is)
    with SiteStore.open(url, clock.now) as store:
        commit_design(store, "alpha", "", [])
        action = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", "alpha", 1, {}, "tester"))
        store.locks.acquire(action.id)
        store.actions.record_command(action.id, STOP, "ann")
        clock.sleep(8)

        class Step(WaitingOperator):
            def carry_out(self, step: StepWork) -> None:
                work(store, action.id, step.operations)

        ti = SimpleNamespace(dag_id="deploy_site", run_id="run-1", task_id="step", try_number=1)
        Step(task_id="step").run_step(cast(Any, {"ti": ti}), store)


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("worker_is", [BEHIND, AHEAD], ids=["behind", "ahead"])
def test_a_stop_holds_for_a_worker_whatever_its_clock_says(store_url: str, worker_is: timedelta) -> None:
    def stopped(store: SiteStore, action_id: str, operations: OperationRun) -> None:
        operations.stopping.require_going_on()
        store.actions.record_command(action_id, STOP, "ben")
        with pytest.raises(TaskStopped, match="stopped by ben"):
            operations.stopping.require_going_on()

    run_step(store_url, worker_is, stopped)


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("worker_is", [BEHIND, AHEAD], ids=["behind", "ahead"])
def test_rule_14_a_worker_reckons_deadlines_by_the_clock_of_the_database(store_url: str, worker_is: timedelta) -> None:
    def told(store: SiteStore, _: str, operations: OperationRun) -> None:
        assert abs(operations.clock.now() - store.now()) < timedelta(seconds=60)

    run_step(store_url, worker_is, told)
