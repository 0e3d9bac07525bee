"""Driving a group or a node step to its verdict: each end of an operation, each override, each moment of a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, cast

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.protocol import Provisioner
from site_engine.actions.node_steps import NodeStepVerdict
from site_engine.operations.run import LEASE_SECONDS
from site_engine.operations.wait import StillRunning
from site_store import GroupRecord, NodeRecord, OperationStatus, PlannedGroup, SiteStore
from strategy_lib.criteria import EVERY_NODE
from strategy_lib.node import TaskStatus
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group
from tests.support.driving import Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.memory_store import ACTION, SITE, MemoryStore

BOTH = ["a", "b"]
DEPLOYMENT = [("prepare_nodes", BOTH), ("deploy_nodes", BOTH)]


class Scene:
    """An action whose one group has the nodes a and b, of which both must succeed; all in memory.

    ``listed`` is the status in which the provisioner lists both at first. ``more`` is said of the group.
    """

    def __init__(self, *nodes: str, listed: str = "", **more: Any) -> None:
        self.clock = FakeClock()
        self.fake = FakeProvisioner(self.clock)
        group = Group("all", True, criteria=EVERY_NODE, **more)
        self.memory = MemoryStore(self.clock, [PlannedGroup(group, nodes or ("a", "b"))])
        store = cast(SiteStore, self.memory)
        self.driving = Driving(store, self.memory.actions.get(ACTION), "http://design", lambda _: self.fake, self.clock)
        for name in BOTH if listed else ():
            self.fake.set_status(name, listed)

    def tasks(self, phase: str) -> dict[str, str]:
        """Return what came of each node in a phase."""
        return {name: self.memory.tasks.get(name, phase).status.value for name in BOTH}

    def wait_for_first(self, **more: Any) -> str:
        """Drive the group until its first provisioner task is at work; return that."""
        patience, self.driving.patience = self.driving.patience, 0.0
        waiting = self.driving.group("all", **more)
        assert isinstance(waiting, StillRunning)
        self.driving.patience = patience
        return waiting.provisioner_task


def judged(driving: Driving, **more: Any) -> GroupRecord:
    """Drive the group to its verdict."""
    record = driving.group("all", **more)
    assert isinstance(record, GroupRecord)
    return record


class Killed(BaseException):
    """The process has ended here."""


class Mortal:
    """A store or a provisioner that is used by a process which dies at one of its calls, before or after it."""

    def __init__(self, target: object, calls: Iterator[int], dies_at: int, *, after: bool) -> None:
        self._target, self._calls, self._dies_at, self._after = target, calls, dies_at, after

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            is_repository = type(value).__module__ == MemoryStore.__module__
            return Mortal(value, self._calls, self._dies_at, after=self._after) if is_repository else value

        def call(*arguments: Any, **named: Any) -> Any:
            dies = next(self._calls) == self._dies_at
            if dies and not self._after:
                raise Killed
            result = value(*arguments, **named)
            if dies:
                raise Killed
            return result

        return call


def crash_then_resume(driving: Driving, dies_at: int, *, after: bool, drive: Callable[[Driving], object]) -> bool:
    """Drive in a process that dies at its n-th call, then in one that lives; False when the first one ended."""
    calls = count(1)
    mortal = Driving(
        cast(SiteStore, Mortal(driving.store, calls, dies_at, after=after)),
        driving.action,
        driving.design_ref,
        lambda _: cast(Provisioner, Mortal(driving.connect(), calls, dies_at, after=after)),
        driving.clock,
    )
    try:
        drive(mortal)
    except Killed:
        driving.clock.sleep(LEASE_SECONDS / 3)
        drive(driving)
        return True
    return False


@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call"])
def test_rule_12_a_group_that_dies_anywhere_is_resumed_and_sends_nothing_twice(after: bool) -> None:
    moments = 0
    for dies_at in count(1):
        scene = Scene()
        died = crash_then_resume(scene.driving, dies_at, after=after, drive=judged)
        assert scene.memory.groups.get(ACTION, "all").state is GroupState.SUCCESS, dies_at
        assert scene.fake.submissions() == DEPLOYMENT, dies_at
        assert scene.fake.double() == [], dies_at
        if not died:
            break
        moments += 1
    assert moments > 30, "the loop has that many steps"


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.endurance)], ids=["some calls", "each call"])
@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call"])
def test_rule_59_a_batch_that_dies_anywhere_is_resumed_and_no_other_is_begun_before(after: bool, step: int) -> None:
    moments = 0
    sent = [[phase, nodes] for nodes in (["a"], ["b", "c"], ["d"]) for phase in ("prepare_nodes", "deploy_nodes")]
    for dies_at in count(1, step):
        scene = Scene("a", "b", "c", "d", max_in_flight=2, canary=1)
        died = crash_then_resume(scene.driving, dies_at, after=after, drive=judged)
        assert scene.memory.groups.get(ACTION, "all").state is GroupState.SUCCESS, dies_at
        assert [list(each) for each in scene.fake.submissions()] == sent, dies_at
        assert scene.fake.double() == [], dies_at
        if not died:
            break
        moments += 1
    assert moments * step > 100, "the loop has that many steps"


@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call"])
def test_rule_12_a_node_step_that_dies_anywhere_is_resumed_and_sends_nothing_twice(after: bool) -> None:
    def destroy(driving: Driving) -> None:
        ended = driving.node_step(Phase.DESTROY, BOTH)
        assert isinstance(ended, NodeStepVerdict)
        assert ended.failure == ""

    moments = 0
    for dies_at in count(1):
        scene = Scene(listed="Deployed")
        died = crash_then_resume(scene.driving, dies_at, after=after, drive=destroy)
        assert scene.fake.submissions() == [("destroy_nodes", BOTH)], dies_at
        assert scene.fake.double() == [], dies_at
        if not died:
            break
        moments += 1
    assert moments > 10, "the loop has that many steps"


def test_a_group_is_prepared_then_deployed() -> None:
    scene = Scene()
    record = judged(scene.driving)
    assert (record.state, record.reason) == (GroupState.SUCCESS, None)
    assert scene.fake.submissions() == DEPLOYMENT
    assert [(result.phase.value, result.actual) for result in record.criteria] == [
        ("prepare", "2/2"),
        ("deploy", "2/2"),
    ]


def test_end_complete_with_a_failure_is_the_groups_failure() -> None:
    scene = Scene()
    scene.fake.script("b", "prepare", "fail")
    assert judged(scene.driving).reason is Reason.PREPARE_CRITERIA
    assert scene.tasks("prepare") == {"a": "success", "b": "error"}
    assert scene.fake.submissions() == DEPLOYMENT[:1], "rule 18: nothing is deployed"


def test_end_timed_out_leaves_nodes_unknown_and_the_operation_unfinished() -> None:
    scene = Scene()
    scene.fake.script("b", "prepare", "stuck")
    scene.driving.timeout = 30.0
    assert judged(scene.driving).reason is Reason.PREPARE_CRITERIA
    assert scene.tasks("prepare") == {"a": "success", "b": "unknown"}
    (left,) = scene.memory.operations.unfinished(SITE)
    assert left.status is OperationStatus.TIMED_OUT


@pytest.mark.parametrize(("seconds", "status"), [(0.0, "unknown"), (5.0, "success")], ids=["at work", "over"])
def test_end_gone_is_judged_by_the_list_of_nodes(seconds: float, status: str) -> None:
    """A machine that the list shows at work until the timeout is unknown and followed, whatever became of its task."""
    scene = Scene()
    task = scene.wait_for_first()
    scene.clock.sleep(seconds)
    scene.fake.forget(task)
    judged(scene.driving)
    assert scene.tasks("prepare") == dict.fromkeys(BOTH, status)
    over = scene.memory.operations.get(1).over
    assert (over is None) is (status == "unknown"), "what is over holds nothing"


def test_end_dead_is_seen_and_holds_nothing() -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    task = scene.wait_for_first()
    scene.fake.orphan()
    scene.driving.outlive(task)
    scene.driving.timeout = 3600.0
    scene.driving.patience = 3600.0
    for name in BOTH:
        scene.clock.after(900.0, partial(scene.fake.set_status, name, "New"))
    assert judged(scene.driving).reason is Reason.PREPARE_CRITERIA
    assert scene.tasks("prepare")["a"] == "unknown"
    assert scene.memory.operations.unfinished(SITE) == []


def test_end_refused_fails_the_nodes_with_the_provisioners_words() -> None:
    long_name = "n" * 33
    scene = Scene(long_name)
    assert judged(scene.driving).reason is Reason.PREPARE_CRITERIA
    task = scene.memory.tasks.get(long_name, "prepare")
    assert (task.status, "32 characters" in (task.error or "")) == (TaskStatus.ERROR, True)
    assert scene.fake.submissions() == []


@pytest.mark.parametrize(
    ("redo_done", "digest", "submitted", "deploy"),
    [
        pytest.param(False, "v1", [], "success", id="as wanted: nothing is sent"),
        pytest.param(True, "v1", DEPLOYMENT, "success", id="as wanted, redo_done: all is sent"),
        pytest.param(False, "v0", [], "pending", id="in another design: withheld, rule 21"),
        pytest.param(True, "v0", DEPLOYMENT, "error", id="in another design, redo_done: sent, but not touched"),
    ],
)
def test_override_redo_done_sends_what_is_deployed(
    redo_done: bool, digest: str, submitted: list[Any], deploy: str
) -> None:
    scene = Scene(listed="Deployed")
    scene.memory.tasks.wanted = dict.fromkeys(BOTH, "v1")
    scene.memory.nodes.records = [
        NodeRecord(SITE, name, 1, "v1", None, 1, digest, scene.clock.now(), NodeCondition.DEPLOYED) for name in BOTH
    ]
    judged(scene.driving, redo_done=redo_done)
    assert scene.fake.submissions() == submitted
    assert set(scene.tasks("deploy").values()) == {deploy}


@pytest.mark.parametrize("ignored", [False, True], ids=["waits", "ignore_older_tasks"])
def test_override_ignore_older_tasks_does_not_wait_for_them(ignored: bool) -> None:
    scene = Scene()
    older = DesignSource("http://design")
    scene.fake.script("a", "prepare", "stuck", attempt=1)
    held = scene.memory.operations.begin("02X", SITE, "other", 1, "prepare", ["a"], "http://design")
    scene.memory.operations.mark_submitted(
        held.op, scene.fake.submit(Phase.PREPARE, older, ["a"], held.reference, sent_ago=None)
    )
    scene.memory.operations.finish(held.op, OperationStatus.ABANDONED)
    scene.memory.tasks.all.clear()
    scene.driving.patience = 0.0
    waiting = scene.driving.group("all", ignore_older_tasks=ignored)
    assert isinstance(waiting, StillRunning)
    assert scene.fake.submissions()[1:] == (DEPLOYMENT[:1] if ignored else [])
    explained = scene.memory.tasks.get("a", "prepare").error
    assert (explained is None) is ignored, "a node says what it waits for"


def test_rule_11_a_failed_deployment_is_released_first() -> None:
    scene = Scene(listed="Failed deployment")
    assert judged(scene.driving).state is GroupState.SUCCESS
    assert scene.fake.submissions() == [("destroy_nodes", BOTH), *DEPLOYMENT]


def test_rule_09_a_group_behind_a_failed_one_submits_nothing() -> None:
    clock = FakeClock()
    first, second = Group("one", True, criteria=EVERY_NODE), Group("two", True, depends_on=("one",))
    memory = MemoryStore(clock, [PlannedGroup(first, ("a",)), PlannedGroup(second, ("b",))])
    fake = FakeProvisioner(clock)
    fake.script("a", "prepare", "fail")
    driving = Driving(cast(SiteStore, memory), memory.actions.get(ACTION), "http://design", lambda _: fake, clock)
    driving.group("one")
    record = driving.group("two")
    assert isinstance(record, GroupRecord)
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.DEPENDENCY)
    assert fake.submissions() == [("prepare_nodes", ["a"])]


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [
        pytest.param("success", "", id="all are done"),
        pytest.param("fail", "b: Error Releasing node b", id="one failed"),
        pytest.param("stuck", "b: no result in time", id="no result in time"),
    ],
)
def test_rule_25_a_node_step_says_which_nodes_are_not_done(behaviour: str, failure: str) -> None:
    scene = Scene(listed="Deployed")
    scene.fake.script("b", "destroy", behaviour)
    scene.driving.timeout = 30.0
    ended = scene.driving.node_step(Phase.DESTROY, BOTH)
    assert isinstance(ended, NodeStepVerdict)
    assert failure in ended.failure
    assert ended.criterion.met is not bool(ended.failure)
