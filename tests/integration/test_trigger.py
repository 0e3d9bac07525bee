"""The trigger by itself, at a real simulator and a real store: what it waits for, and what it writes down."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pkgutil import resolve_name
from typing import Any

import pytest
import requests

from site_engine.operations import wait
from site_engine.operations.wait import StillRunning
from slipway_airflow import triggers
from slipway_airflow.triggers import ProvisionerTaskTrigger
from strategy_lib.phase import GroupState
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

REAL_QUIET_SECONDS = triggers.QUIET_SECONDS


@pytest.fixture
def waiting(
    begin: Begin, simulator: Simulator, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Driving, StillRunning]:
    """Have a group whose provisioner task is stuck, as it is when the group's task defers."""
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 0.0)
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    connection = {"conn_type": "drydock", "host": simulator.url}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    simulator.script("a", "prepare", "stuck")
    driving = begin(site([node("a")], [group("all")]))
    driving.patience = 0.0
    still = driving.group("all")
    assert isinstance(still, StillRunning)
    return driving, still


def trigger(still: StillRunning, **more: Any) -> ProvisionerTaskTrigger:
    """Return the trigger that the task would defer to, after the way through Airflow's database."""
    times = {"interval": 0.1, "timeout": 60, "queue_timeout": 60, **more}
    made = ProvisionerTaskTrigger("slipway_provisioner", still.provisioner_task, still.op, **times)
    path, arguments = made.serialize()
    assert path == f"{ProvisionerTaskTrigger.__module__}.{ProvisionerTaskTrigger.__qualname__}"
    return ProvisionerTaskTrigger(**json.loads(json.dumps(arguments)))


async def first_event(trigger: ProvisionerTaskTrigger) -> dict[str, Any]:
    """Run it until it fires."""
    async for event in trigger.run():
        return dict(event.payload)
    raise AssertionError("it ended without an event")


def test_it_is_quiet_for_as_long_as_airflow_may_mistake_an_early_event() -> None:
    assert REAL_QUIET_SECONDS >= 15


def test_an_event_comes_no_earlier_than_the_quiet_time(
    waiting: tuple[Driving, StillRunning], simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, still = waiting
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 1.5)
    simulator.release_stuck()
    while simulator.get("tasks")[-1]["status"] != "complete":
        pass
    began = time.monotonic()
    assert asyncio.run(first_event(trigger(still)))["how"] == "complete"
    assert time.monotonic() - began >= 1.5


def test_it_fires_when_the_task_is_complete(waiting: tuple[Driving, StillRunning], simulator: Simulator) -> None:
    driving, still = waiting

    async def run() -> dict[str, Any]:
        event = asyncio.ensure_future(first_event(trigger(still)))
        await asyncio.sleep(0.5)
        assert not event.done()
        await asyncio.to_thread(simulator.release_stuck)
        return await event

    assert asyncio.run(run())["how"] == "complete"
    assert driving.store.operations.get(still.op).running_since is not None


def test_a_run_that_an_earlier_version_deferred_resumes_and_ends_well(
    waiting: tuple[Driving, StillRunning], simulator: Simulator
) -> None:
    driving, still = waiting
    # As Airflow's database has them from that version: the text of the path, and the arguments by name.
    path = "slipway_airflow.triggers.ProvisionerTaskTrigger"
    stored = {
        "conn_id": "slipway_provisioner",
        "provisioner_task": still.provisioner_task,
        "op": still.op,
        "interval": 0.1,
        "timeout": 60.0,
        "queue_timeout": 60.0,
        "give_up": None,
    }
    made = resolve_name(path)(**stored)
    assert made.serialize() == (path, {**stored, "settling": False})
    simulator.release_stuck()
    event = asyncio.run(first_event(made))
    assert (event["how"], event["provisioner_task"]) == ("complete", still.provisioner_task)
    driving.patience = 60.0
    assert driving.finish().state is GroupState.SUCCESS
    assert len(simulator.get("tasks")) == 2, "nothing was submitted twice"


def test_rule_14_it_fires_when_no_node_is_at_work_any_more(
    waiting: tuple[Driving, StillRunning], simulator: Simulator
) -> None:
    driving, still = waiting
    simulator.script("a", "deploy", "taken_for_done", factor=100_000)
    simulator.release_stuck()
    while not still.settling:
        driving.patience = 0.2
        found = driving.group("all")
        assert isinstance(found, StillRunning)
        still = found

    async def run() -> dict[str, Any]:
        event = asyncio.ensure_future(first_event(trigger(still, settling=still.settling)))
        await asyncio.sleep(0.5)
        assert not event.done(), "its task is over, and the machine is still being deployed"
        await asyncio.to_thread(simulator.post, "nodes/a", {"status": "Deployed"})
        return await event

    assert asyncio.run(run())["how"] == "complete"
    driving.patience = 60.0
    assert driving.finish().state is GroupState.SUCCESS


def test_rule_14_it_fires_at_the_timeout(waiting: tuple[Driving, StillRunning]) -> None:
    _, still = waiting
    assert asyncio.run(first_event(trigger(still, timeout=0.5)))["how"] == "timed_out"


@pytest.mark.endurance
@pytest.mark.parametrize("older", [False, True], ids=["its own task", "an older task"])
def test_it_fires_when_the_provisioner_was_killed_under_the_task(
    waiting: tuple[Driving, StillRunning], simulator: Simulator, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    driving, still = waiting
    monkeypatch.setattr(wait, "WHILE_HELD", timedelta(seconds=0.2))
    monkeypatch.setattr(wait, "WHILE_OWN", timedelta(seconds=0.2))
    while simulator.get("state")["running"] != still.provisioner_task:
        pass
    simulator.kill()
    simulator.start("--restart-mode", "orphan", "--grace", "0")
    driving.outlive(still.provisioner_task)
    more = {"give_up": (datetime.now(UTC) + timedelta(minutes=5)).isoformat()} if older else {}
    assert asyncio.run(first_event(trigger(still, **more)))["how"] == "dead"


def test_it_gives_up_at_a_given_moment(waiting: tuple[Driving, StillRunning]) -> None:
    _, still = waiting
    moment = (datetime.now(UTC) + timedelta(seconds=0.5)).isoformat()
    event = asyncio.run(first_event(trigger(still, give_up=moment)))
    assert event["how"] == "timed_out"


@pytest.mark.endurance
def test_it_fires_when_the_task_is_gone_and_bears_an_outage(
    waiting: tuple[Driving, StillRunning], simulator: Simulator
) -> None:
    _, still = waiting

    async def run() -> dict[str, Any]:
        event = asyncio.ensure_future(first_event(trigger(still)))
        await asyncio.to_thread(simulator.kill)
        await asyncio.sleep(1.0)
        assert not event.done(), "an outage is waited out"
        await asyncio.to_thread(simulator.start)
        await asyncio.to_thread(simulator.post, "reset")
        # Of an empty list Drydock's client does not believe that a task is gone.
        body = {"action": "verify_site", "design_ref": "file:///nowhere"}
        await asyncio.to_thread(requests.post, f"{simulator.url}/api/v1.0/tasks", json=body, timeout=10)
        return await event

    assert asyncio.run(run())["how"] == "gone"
