"""Groups beside others go on in the triggerer: to their verdicts, each node once, whatever is killed (rules 8, 12)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from provisioner_client.node_agent.agent import SHORTEST_KEY
from site_engine.kinds import DEPLOY_GROUP
from site_engine.process import STOP
from site_engine.provisioners import ProvisionerConnection
from site_engine.shared_lists import SHORT_PATIENCE
from site_store import ApprovalAnswer, StepState
from slipway_airflow import group_trigger, triggers
from slipway_airflow.group_trigger import GroupTrigger
from strategy_lib.parsing.configuration import DeploymentConfiguration
from strategy_lib.phase import GroupState, Phase
from strategy_lib.settings import SLIPWAY_NODE_KEY_FILE
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site
from tests.support.stores import administer

HANGS = 300.0
KEY = "6"
NAMES = ["one", "two", "three"]
BEGAN = datetime.now(UTC).isoformat()
# Nothing listens there.
SETTINGS = {"node_states": {"health_url": "http://{address:oob}:9/state"}}
BeginTwo = Callable[[Mapping[str, Mapping[str, Any]]], Driving]


@pytest.fixture
def begin_two(begin: Begin, simulator: Simulator, store_url: str, monkeypatch: pytest.MonkeyPatch) -> BeginTwo:
    """Return what begins an action of these groups, of which two may be at work at once: each has a node of its own."""
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(group_trigger, "_AT_LEAST", 0.0)
    # Who waits is woken up by those that go on, and not by the next look.
    monkeypatch.setattr(triggers, "_LOOK_AT_GROUPS", HANGS)
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    connection = {"conn_type": "drydock", "host": simulator.url}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))

    def begun(more: Mapping[str, Mapping[str, Any]]) -> Driving:
        nodes = [node(f"n-{name}") for name in NAMES]
        for one in nodes:
            one["data"]["addressing"][0]["address"] = "127.0.0.1"
        text = site(nodes, [{**group(name, [f"n-{name}"]), **more.get(name, {})} for name in NAMES])
        driving = begin(
            f"{text}---\n{json.dumps(document('slipway/SiteSettings/v1', 'settings', SETTINGS))}\n", places=2
        )
        # No API serves it here.
        monkeypatch.setattr(ProvisionerConnection, "design_address", lambda *_: driving.design_ref)
        for name in NAMES:
            driving.store.steps.begin(driving.action.id, DEPLOY_GROUP, 1, name)
        return driving

    return begun


@pytest.fixture
def side_by_side(begin_two: BeginTwo) -> Driving:
    """An action of three groups of which two may be at work at once."""
    return begin_two({})


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


def test_a_group_waits_in_the_triggerer_no_longer_for_lists_than_its_threads_may(
    side_by_side: Driving, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, patiences = ProvisionerConnection.connect, set[float]()

    def connected(connection: ProvisionerConnection, redact: Any, marker: Any, observer: Any, shared: Any) -> Any:
        patiences.add(shared.lists.patience)
        return connect(connection, redact, marker, observer, shared)

    monkeypatch.setattr(ProvisionerConnection, "connect", connected)
    run(side_by_side, NAMES)
    assert patiences == {SHORT_PATIENCE}


def test_rule_14_a_group_waits_in_the_triggerer_for_machines_that_are_still_at_work(
    side_by_side: Driving, simulator: Simulator
) -> None:
    simulator.script("n-one", "deploy", "taken_for_done", factor=100_000)
    found = dict[str, GroupState]()

    def look() -> None:
        while list(states(side_by_side).values()).count(GroupState.SUCCESS) < 2:
            time.sleep(0.05)
        found.update(states(side_by_side))
        simulator.post("nodes/n-one", {"status": "Deployed"})

    run(side_by_side, NAMES, look)
    assert found == {"one": GroupState.RUNNING, "two": GroupState.SUCCESS, "three": GroupState.SUCCESS}
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


def test_rule_12_two_triggerers_at_once_send_each_node_once(side_by_side: Driving, simulator: Simulator) -> None:
    # One has lost its heartbeat and goes on, and another has taken over.
    run(side_by_side, ["one", "two", "one"])
    assert list(states(side_by_side).values()) == [GroupState.SUCCESS, GroupState.SUCCESS, GroupState.PENDING]
    assert sorted(simulator.submissions()) == [
        (f"{phase}_nodes", [f"n-{name}"]) for phase in ("deploy", "prepare") for name in ("one", "two")
    ]


def test_what_only_the_task_can_judge_is_left_to_it(
    side_by_side: Driving, simulator: Simulator, store_url: str
) -> None:
    store, action = side_by_side.store, side_by_side.action
    # The action is paused: nothing begins.
    store.actions.set_paused(action.id, True)
    run(side_by_side, ["one"])
    store.actions.set_paused(action.id, False)
    # The store is a copy of which nobody has said what it is (rule 61).
    skip = "SET session_replication_role = replica"
    administer(store_url, skip, "UPDATE store_state SET database_id = database_id + 1")
    run(side_by_side, ["one"])
    administer(store_url, skip, "UPDATE store_state SET database_id = database_id - 1")
    # The task of this one was cleared, and goes on under its new key.
    store.groups.open_attempt(action.id, "one", "7")
    run(side_by_side, ["one"])
    assert store.groups.get(action.id, "one").attempt_key == "7"
    assert simulator.submissions() == []
    assert states(side_by_side) == {"one": GroupState.RUNNING, **dict.fromkeys(NAMES[1:], GroupState.PENDING)}


def fail(driving: Driving, name: str) -> None:
    """Have a group fail, and its task end."""
    store, action_id = driving.store, driving.action.id
    record = store.groups.open_attempt(action_id, name, KEY)
    store.groups.finish(action_id, name, record.attempt, GroupState.FAILURE, None)
    store.steps.leave(action_id, DEPLOY_GROUP, 1, StepState.FAILED, None, name)


def test_rule_08_behind_a_failed_group_others_begin_without_a_worker(begin_two: BeginTwo, simulator: Simulator) -> None:
    driving = begin_two({"two": {"depends_on": ["one"]}})
    fail(driving, "one")
    # A person may have cleared the failed one: whether it is tried again only Airflow knows.
    run(driving, ["two", "three"])
    assert list(states(driving).values()) == [GroupState.FAILURE, GroupState.PENDING, GroupState.SUCCESS]
    assert simulator.submissions() == [("prepare_nodes", ["n-three"]), ("deploy_nodes", ["n-three"])]


def test_rule_08_a_cleared_group_waits_for_a_place_and_its_task_begins_the_new_attempt(
    side_by_side: Driving, simulator: Simulator
) -> None:
    fail(side_by_side, "one")
    store, action_id = side_by_side.store, side_by_side.action.id
    for name in NAMES[1:]:
        simulator.script(f"n-{name}", "prepare", "stuck")
    found = list[GroupState]()

    async def wait() -> None:
        others = [asyncio.ensure_future(fired(trigger(side_by_side, name))) for name in NAMES[1:]]
        while list(states(side_by_side).values()).count(GroupState.RUNNING) < 2:
            await asyncio.sleep(0.05)
        store.steps.begin(action_id, DEPLOY_GROUP, 2, "one")
        cleared = asyncio.ensure_future(fired(trigger(side_by_side, "one", "7")))
        cleared.add_done_callback(lambda _: found.extend(states(side_by_side).values()))
        # Drydock does one task at a time.
        for _ in NAMES[1:]:
            await asyncio.to_thread(simulator.release_stuck)
        await asyncio.wait_for(asyncio.gather(cleared, *others), HANGS)

    asyncio.run(wait())
    assert found.count(GroupState.RUNNING) < 2, "it has not come back before a place was free"
    assert store.groups.get(action_id, "one").attempt == 1


def test_rule_26_a_person_is_asked_by_the_task(begin_two: BeginTwo, simulator: Simulator) -> None:
    driving = begin_two({"one": {"approval": "before"}})
    run(driving, ["one"])
    (asked,) = driving.store.approvals.of_action(driving.action.id, "one")
    assert asked.answer is None
    assert (states(driving)["one"], simulator.submissions()) == (GroupState.RUNNING, [])
    # It keeps its place, and another one is free.
    run(driving, ["two"])
    assert list(states(driving).values()) == [GroupState.RUNNING, GroupState.SUCCESS, GroupState.PENDING]
    driving.store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann", "")
    run(driving, ["one"])
    assert states(driving)["one"] is GroupState.SUCCESS


def test_rule_24_of_a_stopped_action_nothing_more_is_sent(side_by_side: Driving, simulator: Simulator) -> None:
    store, action = side_by_side.store, side_by_side.action
    simulator.script("n-one", "prepare", "stuck")

    def stop() -> None:
        while not simulator.submissions():
            time.sleep(0.05)
        store.actions.record_command(action.id, STOP, "ann")
        simulator.release_stuck()

    run(side_by_side, ["one"], stop)
    assert simulator.submissions() == [("prepare_nodes", ["n-one"])]


def test_rule_58_nodes_that_are_not_ready_at_once_are_left_to_the_task(
    begin_two: BeginTwo, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driving = begin_two({"one": {"ready": {"timeout": 600}}})
    monkeypatch.delenv(SLIPWAY_NODE_KEY_FILE.name, raising=False)
    run(driving, ["one"])
    assert simulator.submissions() == [], "nobody can be asked without the site's key"
    key = tmp_path / "key"
    key.write_text("k" * SHORTEST_KEY)
    key.chmod(0o600)
    monkeypatch.setenv(SLIPWAY_NODE_KEY_FILE.name, str(key))
    run(driving, ["one"])
    assert simulator.submissions() == [("prepare_nodes", ["n-one"]), ("deploy_nodes", ["n-one"])]
    assert states(driving)["one"] is GroupState.RUNNING
    (asked,) = (one for one in driving.store.operations.of_action(driving.action.id) if one.phase is Phase.READY)
    assert asked.ended is None


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
