"""The phase ready of a group, driven as its task does: with a real store, and nodes and a clock in memory (rule 58)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from site_engine.operations import readiness
from site_engine.operations.readiness import Answer, StillAsking, ask_in_turn
from site_store import ActionState, OperationStatus
from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.settings import SettingError
from strategy_lib.status.node_row import NodeRow
from tests.support.driving import LOG, Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import document, group, node, site

UP = Reported(NodeAvailability.UP, "")
LOADING = Reported(NodeAvailability.INITIALIZING, "loads images")


@dataclass
class Agents:
    """Agents of nodes: each is up so many seconds after the first question to it; one that is not listed at once."""

    clock: FakeClock
    after: Mapping[str, float] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    asked: list[tuple[str, ...]] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    signed: Mapping[str, int] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)

    async def __call__(self, _: str, urls: Mapping[str, str], most: int) -> Mapping[str, Answer]:
        now = self.clock.now().timestamp()
        self.asked.append(tuple(urls))
        self.urls.update(urls)
        said: dict[str, Answer] = {}
        for name in urls:
            waits = self.after.get(name, 0.0)
            up = now - self._since.setdefault(name, now) >= waits
            word = replace(UP if up else LOADING, signed=self.signed.get(name, 2))
            said[name] = "Connection refused" if name in self.silent else word
        return said


@pytest.fixture
def agents(clock: FakeClock) -> Agents:
    return Agents(clock)


def design(names: str, timeout: int = 60, more: Mapping[str, Any] | None = None, **criteria: Any) -> str:
    nodes = []
    for number, name in enumerate(names, 1):
        one = node(name)
        one["data"]["addressing"] = [{"network": "oob", "address": f"10.0.0.{number}"}]
        nodes.append(one)
    asks = {**group("g", **criteria), "ready": {"timeout": timeout}, **(more or {})}
    settings = {"node_states": {"health_url": "http://{address:oob}:9650/state"}}
    return site(nodes, [asks]) + f"---\n{json.dumps(document('slipway/SiteSettings/v1', 'settings', settings))}\n"


def started(begin: Begin, agents: Agents, text: str) -> Driving:
    driving = begin(text)
    driving.ask = agents
    return driving


def known_of(driving: Driving, name: str) -> NodeRow:
    return next(record for record in driving.store.nodes.of_site("alpha") if record.name == name)


def test_rule_58_a_node_is_successful_when_it_is_ready(begin: Begin, agents: Agents, fake: FakeProvisioner) -> None:
    agents.after = {"b": 30}
    driving = started(begin, agents, design("ab", percent_successful_nodes=100))
    record = driving.finish("g")
    assert record.state is GroupState.SUCCESS
    assert [result.phase for result in record.criteria] == [Phase.PREPARE, Phase.DEPLOY, Phase.READY]
    assert agents.urls == {"a": "http://10.0.0.1:9650/state", "b": "http://10.0.0.2:9650/state"}
    assert agents.asked[0] == ("a", "b")
    assert set(agents.asked[1:]) == {("b",)}, "a node that was ready is not asked again"
    (asking,) = [one for one in driving.store.operations.of_action(driving.action.id) if one.phase is Phase.READY]
    assert (asking.status, asking.provisioner_task, asking.sending) == (OperationStatus.COMPLETE, None, None)
    assert asking.running_since is not None
    known = known_of(driving, "a")
    assert (known.status, known.error, known.is_up_to_date) == ("success", None, True)


def test_rule_58_a_node_that_is_not_ready_in_time_has_failed_with_the_reason(begin: Begin, agents: Agents) -> None:
    agents.after, agents.silent = {"b": 1000}, frozenset("c")
    driving = started(begin, agents, design("abc", percent_successful_nodes=50))
    record = driving.finish("g")
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.READY_CRITERIA)
    tasks = {one.node: one for one in driving.store.tasks.of_nodes(driving.action.id)}
    assert tasks["a"].state is NodeState.SUCCESS
    late = tasks["b"].ready
    silent = tasks["c"].ready
    assert late is not None
    assert silent is not None
    assert late.error == "deployed, but not ready within 60 s: it says initializing (loads images)"
    assert silent.error == "deployed, but not ready within 60 s: Connection refused"
    assert tasks["b"].deploy.status is TaskStatus.SUCCESS
    assert driving.states() == {"a": "success", "b": "failure", "c": "failure"}
    known = known_of(driving, "b")
    # It is deployed in this design, and it failed: both are true.
    assert (known.status, known.error, known.is_up_to_date) == ("error", late.error, True)
    assert known.failures == 1
    counts = driving.store.tasks.node_counts(driving.action.id)["g"]
    assert (counts[NodeState.SUCCESS], counts[NodeState.FAILURE]) == (1, 2)


def test_the_criteria_may_leave_out_a_node_that_is_not_ready(begin: Begin, agents: Agents) -> None:
    agents.silent = frozenset("c")
    driving = started(begin, agents, design("abc", minimum_successful_nodes=2))
    assert driving.finish("g").state is GroupState.SUCCESS


def test_it_waits_without_a_worker_and_the_time_runs_from_the_first_question(
    begin: Begin, agents: Agents, clock: FakeClock, fake: FakeProvisioner
) -> None:
    agents.after = {"b": 40}
    driving = started(begin, agents, design("ab", percent_successful_nodes=100))
    driving.patience = 10.0
    still = driving.group("g")
    assert isinstance(still, StillAsking)
    assert driving.states() == {"a": "success", "b": "success"}
    assert driving.store.tasks.left_to_ask(still.op) == ["b"]
    begun = driving.store.operations.get(still.op).created
    assert (still.deadline - begun).total_seconds() == 60
    submitted = len(fake.submissions())
    # Another process, as after kill -9, goes on with the same operation and submits nothing.
    clock.sleep(30)
    driving.group("g")
    assert driving.finish("g").state is GroupState.SUCCESS
    assert len(fake.submissions()) == submitted
    assert sum(one.phase is Phase.READY for one in driving.store.operations.of_action(driving.action.id)) == 1


def test_who_comes_back_after_the_deadline_asks_once_more(begin: Begin, agents: Agents, clock: FakeClock) -> None:
    agents.after = {"a": 1000, "b": 70}
    driving = started(begin, agents, design("ab", minimum_successful_nodes=1))
    driving.patience = 5.0
    assert isinstance(driving.group("g"), StillAsking)
    clock.sleep(90)
    asked = len(agents.asked)
    assert driving.finish("g").state is GroupState.SUCCESS
    assert len(agents.asked) == asked + 1
    assert driving.states() == {"a": "failure", "b": "success"}


def test_rule_23_a_cleared_group_asks_again_and_deploys_nothing(
    begin: Begin, agents: Agents, fake: FakeProvisioner
) -> None:
    agents.silent = frozenset("a")
    driving = started(begin, agents, design("ab", percent_successful_nodes=100))
    assert driving.finish("g").reason is Reason.READY_CRITERIA
    submitted = len(fake.submissions())
    agents.silent = frozenset()
    record = driving.finish("g", "7")
    assert (record.state, record.attempt) == (GroupState.SUCCESS, 2)
    assert len(fake.submissions()) == submitted
    assert agents.asked[-1] == ("a",)
    known = known_of(driving, "a")
    assert (known.status, known.error, known.failures) == ("success", None, 0)
    assert "not ready within 60 s" in (known.fixed or "")


def test_rule_24_an_action_that_ends_meanwhile_leaves_them_unknown(begin: Begin, agents: Agents) -> None:
    agents.after = {"a": 40}
    driving = started(begin, agents, design("ab"))
    driving.patience = 1.0
    assert isinstance(driving.group("g"), StillAsking)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    assert driving.states() == {"a": "unknown", "b": "success"}
    assert driving.store.operations.unfinished("alpha") == [], "nothing is left to be seen over"


def test_rule_39_a_node_waits_until_another_one_is_ready(begin: Begin, agents: Agents, fake: FakeProvisioner) -> None:
    text = design("ab", more={"depends_on_nodes": ["a"]}, percent_successful_nodes=100)
    driving = started(begin, agents, text)
    driving.finish("g")
    phases = [one.phase for one in driving.store.operations.of_action(driving.action.id)]
    assert phases == [Phase.PREPARE, Phase.DEPLOY, Phase.READY, Phase.DEPLOY, Phase.READY]


def test_the_triggerer_keeps_who_is_ready_and_leaves_the_end_to_the_task(
    begin: Begin, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.after = {"a": 20, "b": 1000}
    driving = started(begin, agents, design("ab"))
    driving.patience = 3.0
    still = driving.group("g")
    assert isinstance(still, StillAsking)
    # A design of 10,000 nodes takes seconds to read: it was, before there was anything to wait for.
    monkeypatch.delattr(readiness, "read_revision")
    clock = agents.clock

    async def turns() -> bool:
        waiting = asyncio.create_task(ask_in_turn(driving.store, agents, still.op, still.timeout, LOG, every=0.01))
        while not waiting.done():
            clock.sleep(1.0)
            await asyncio.sleep(0.005)
        return waiting.result()

    assert asyncio.run(turns()) is False
    operation = driving.store.operations.get(still.op)
    assert operation.ended is None
    assert driving.store.tasks.left_to_ask(still.op) == ["b"]
    assert driving.store.questions.get(still.op) is not None
    assert driving.finish("g").state is GroupState.SUCCESS, "who comes back reads it no more, either"
    assert driving.store.questions.get(still.op) is None


def test_the_triggerer_says_once_that_it_cannot_ask_and_goes_on(
    begin: Begin, agents: Agents, caplog: pytest.LogCaptureFixture
) -> None:
    agents.after = {"a": 1000}
    driving = started(begin, agents, design("a"))
    driving.patience = 3.0
    still = driving.group("g")
    assert isinstance(still, StillAsking)
    tries = 0

    async def keyless(_: str, __: Mapping[str, str], ___: int) -> Mapping[str, Answer]:
        nonlocal tries
        tries += 1
        agents.clock.sleep(30)
        raise SettingError("SLIPWAY_NODE_KEY_FILE", "set it")

    assert asyncio.run(ask_in_turn(driving.store, keyless, still.op, still.timeout, LOG, every=0.0)) is False
    assert tries >= 2
    assert sum("SLIPWAY_NODE_KEY_FILE" in line for line in caplog.messages) == 1


def test_rule_63_a_node_that_has_named_itself_is_not_ready_by_an_answer_that_does_not(
    begin: Begin, agents: Agents
) -> None:
    driving = started(begin, agents, design("ab", timeout=20, percent_successful_nodes=50))
    agents.signed = {"a": 1, "b": 1}
    driving.store.nodes.take_signatures("alpha", {"a": 2})
    driving.finish("g")
    assert driving.states() == {"a": "failure", "b": "success"}
    late = next(one for one in driving.store.tasks.of_nodes(driving.action.id) if one.node == "a").ready
    assert late is not None
    assert "has answered by version 2 before: put the present agent on it" in str(late.error)
