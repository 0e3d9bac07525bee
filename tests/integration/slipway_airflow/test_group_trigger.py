"""Groups beside others go on in the triggerer: to their verdicts, each node once, whatever is killed (rules 8, 12)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import Any

import pytest

from site_engine.provisioners import ProvisionerConnection
from slipway_airflow import trigger_waits
from slipway_airflow.group_trigger import GroupTrigger
from strategy_lib.configuration import DeploymentConfiguration
from strategy_lib.phase import GroupState
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

HANGS = 300.0
KEY = "6"
NAMES = ["one", "two", "three"]
BEGAN = datetime.now(UTC).isoformat()


@pytest.fixture
def side_by_side(begin: Begin, simulator: Simulator, store_url: str, monkeypatch: pytest.MonkeyPatch) -> Driving:
    """An action of three groups of one node each, of which two may be at work at once."""
    monkeypatch.setattr(trigger_waits, "QUIET_SECONDS", 0.0)
    # Who waits is woken up by those that go on, and not by the next look.
    monkeypatch.setattr(trigger_waits, "_LOOK_AT_GROUPS", HANGS)
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    connection = {"conn_type": "drydock", "host": simulator.url}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    driving = begin(
        site([node(f"n-{name}") for name in NAMES], [group(name, [f"n-{name}"]) for name in NAMES]), places=2
    )
    # No API serves it here.
    monkeypatch.setattr(ProvisionerConnection, "design_address", lambda *_: driving.design_ref)
    return driving


def trigger(driving: Driving, name: str, key: str = KEY) -> GroupTrigger:
    """Return the trigger that a group's task would defer to, after the way through Airflow's database."""
    configuration = asdict(DeploymentConfiguration())
    made = GroupTrigger("slipway_provisioner", driving.action.id, name, key, configuration, BEGAN, "http://slipway")
    path, arguments = made.serialize()
    again: GroupTrigger = resolve_name(path)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)
    return again


async def fired(trigger: GroupTrigger) -> Any:
    """Run it until it fires."""
    async for event in trigger.run():
        return event.payload
    raise AssertionError("it ended without an event")


def run(driving: Driving, names: Sequence[str], meanwhile: Callable[[], None] = lambda: None) -> None:
    """Run the triggers of groups beside each other until all have fired."""

    async def run_all() -> None:
        waits = [asyncio.ensure_future(fired(trigger(driving, name))) for name in names]
        await asyncio.to_thread(meanwhile)
        events = await asyncio.wait_for(asyncio.gather(*waits), HANGS)
        assert events == [{"waited_for": f"group {name}"} for name in names]

    asyncio.run(run_all())


def states(driving: Driving) -> dict[str, GroupState]:
    return {turn.name: turn.state for turn in driving.store.groups.turns(driving.action.id)}


def test_rule_08_groups_begin_and_end_without_a_worker(side_by_side: Driving, simulator: Simulator) -> None:
    run(side_by_side, NAMES)
    assert states(side_by_side) == dict.fromkeys(NAMES, GroupState.SUCCESS)
    sent = [(phase, name) for phase, nodes in simulator.submissions() for name in nodes]
    assert len(sent) == len(set(sent)) == 2 * len(NAMES)


def test_rule_08_a_group_waits_for_a_place(side_by_side: Driving, simulator: Simulator) -> None:
    for name in NAMES[:2]:
        simulator.script(f"n-{name}", "prepare", "stuck")
    found = dict[str, GroupState]()

    def look() -> None:
        while list(states(side_by_side).values()).count(GroupState.RUNNING) < 2:
            time.sleep(0.05)
        found.update(states(side_by_side))
        # Drydock does one task at a time.
        simulator.release_stuck()
        simulator.release_stuck()

    run(side_by_side, NAMES, look)
    assert found == {"one": GroupState.RUNNING, "two": GroupState.RUNNING, "three": GroupState.PENDING}
    assert states(side_by_side) == dict.fromkeys(NAMES, GroupState.SUCCESS)


def test_rule_12_one_that_was_cancelled_is_gone_on_with_by_the_next(
    side_by_side: Driving, simulator: Simulator
) -> None:
    simulator.script("n-one", "prepare", "stuck")

    async def cancel() -> None:
        waiting = asyncio.ensure_future(fired(trigger(side_by_side, "one")))
        while not await asyncio.to_thread(simulator.submissions):
            await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel())
    assert states(side_by_side)["one"] is GroupState.RUNNING
    run(side_by_side, ["one"], simulator.release_stuck)
    assert states(side_by_side)["one"] is GroupState.SUCCESS
    assert simulator.submissions() == [("prepare_nodes", ["n-one"]), ("deploy_nodes", ["n-one"])]


def test_what_only_the_task_can_judge_is_left_to_it(side_by_side: Driving, simulator: Simulator) -> None:
    store, action = side_by_side.store, side_by_side.action
    # The action is paused: nothing begins.
    store.actions.set_paused(action.id, True)
    run(side_by_side, ["one"])
    store.actions.set_paused(action.id, False)
    # The task of this one was cleared, and goes on under its new key.
    store.groups.open_attempt(action.id, "one", "7")
    run(side_by_side, ["one"])
    assert store.groups.get(action.id, "one").attempt_key == "7"
    # A person may have cleared a failed one: only Airflow knows.
    store.groups.finish(action.id, "one", 1, GroupState.FAILURE, None)
    run(side_by_side, ["one", "two"])
    assert simulator.submissions() == []
    pending = dict.fromkeys(NAMES[1:], GroupState.PENDING)
    assert states(side_by_side) == {"one": GroupState.FAILURE, **pending}


def test_trouble_is_left_to_the_task_too(
    side_by_side: Driving, monkeypatch: pytest.MonkeyPatch, simulator: Simulator
) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps({"conn_type": "drydock", "host": "http://127.0.0.1:9"})
    )
    run(side_by_side, ["one"])
    assert states(side_by_side)["one"] is GroupState.RUNNING
    monkeypatch.delenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER")
    run(side_by_side, ["two"])
    assert states(side_by_side)["two"] is GroupState.PENDING
    assert simulator.submissions() == []
