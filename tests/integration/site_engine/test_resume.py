"""Driving a group or a node step to its verdict, whatever call of it is its process's last, and after a restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.protocol import Provisioner
from site_engine.actions.node_steps import NodeStepVerdict
from site_engine.operations.run import LEASE_SECONDS
from site_engine.operations.wait import StillRunning
from site_store import Claim, GroupRecord, OperationStatus, SiteStore
from site_store.operations.tasks import Tasks
from site_store.sql.database import Repository
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase
from tests.support.driving import Begin, Driving, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site
from tests.support.stores import new_store

BOTH = ["a", "b"]
SITE = site([node("a"), node("b")], [group("all", percent_successful_nodes=100)])
DEPLOYMENT = [("prepare_nodes", BOTH), ("deploy_nodes", BOTH)]
STEPS = pytest.mark.parametrize(
    "step", [13, pytest.param(1, marks=pytest.mark.endurance)], ids=["some calls", "each call"]
)
MOMENTS = pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call"])


class Scene:
    """An action at its start, and a provisioner that lists all nodes with a status, if one is given."""

    def __init__(self, url: str, folder: Path, text: str = SITE, listed: str = "") -> None:
        self.clock = FakeClock()
        self.fake = FakeProvisioner(self.clock)
        self.store = SiteStore.open(url, self.clock.now)
        for name in BOTH if listed else ():
            self.fake.set_status(name, listed)
        self.driving = begin_with(self.store, folder, lambda _: self.fake, self.clock)(text)


class Killed(BaseException):
    """The process has ended here."""


class Mortal:
    """A store or a provisioner that is used by a process which dies at one of its calls, before or after it."""

    def __init__(self, target: object, calls: Iterator[int], dies_at: int, *, after: bool) -> None:
        self._target, self._calls, self._dies_at, self._after = target, calls, dies_at, after

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if isinstance(value, Repository):
            return Mortal(value, self._calls, self._dies_at, after=self._after)
        if not callable(value):
            return value

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


def kill_at_each(
    step: int, *, after: bool, folder: Path, drive: Callable[[Driving], object], **of_scene: Any
) -> Iterator[Scene]:
    """Give the scene of each kill when it was gone on with: at every call of the loop, or at every n-th."""
    moments = 0
    for dies_at in count(1, step):
        with new_store() as url:
            scene = Scene(url, folder, **of_scene)
            with scene.store:
                died = crash_then_resume(scene.driving, dies_at, after=after, drive=drive)
                assert scene.fake.double() == [], dies_at
                yield scene
        if not died:
            break
        moments += 1
    assert moments * step > 10, "the loop has that many steps"


def judge(driving: Driving) -> None:
    """Drive the group to its verdict."""
    assert isinstance(driving.group("all"), GroupRecord)


@STEPS
@MOMENTS
def test_rule_12_a_group_that_dies_anywhere_is_resumed_and_sends_nothing_twice(
    tmp_path: Path, after: bool, step: int
) -> None:
    for scene in kill_at_each(step, after=after, folder=tmp_path, drive=judge):
        assert scene.store.groups.get(scene.driving.action.id, "all").state is GroupState.SUCCESS
        assert scene.fake.submissions() == DEPLOYMENT


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.endurance)], ids=["some calls", "each call"])
@MOMENTS
def test_rule_59_a_batch_that_dies_anywhere_is_resumed_and_no_other_is_begun_before(
    tmp_path: Path, after: bool, step: int
) -> None:
    batches = group("all", percent_successful_nodes=100) | {"max_in_flight": 2, "canary": 1}
    text = site([node(name) for name in "abcd"], [batches])
    sent = [(phase, nodes) for nodes in (["a"], ["b", "c"], ["d"]) for phase in ("prepare_nodes", "deploy_nodes")]
    for scene in kill_at_each(step, after=after, folder=tmp_path, drive=judge, text=text):
        assert scene.store.groups.get(scene.driving.action.id, "all").state is GroupState.SUCCESS
        assert scene.fake.submissions() == sent


@STEPS
@MOMENTS
def test_rule_12_a_node_step_that_dies_anywhere_is_resumed_and_sends_nothing_twice(
    tmp_path: Path, after: bool, step: int
) -> None:
    def destroy(driving: Driving) -> None:
        driving.store.tasks.plan_step(driving.action.id, Phase.DESTROY, BOTH)
        ended = driving.node_step(Phase.DESTROY, BOTH)
        assert isinstance(ended, NodeStepVerdict)
        assert ended.failure == ""

    for scene in kill_at_each(step, after=after, folder=tmp_path, drive=destroy, listed="Deployed"):
        assert scene.fake.submissions() == [("destroy_nodes", BOTH)]


@pytest.mark.parametrize(("seconds", "state"), [(0.0, "unknown"), (5.0, "success")], ids=["at work", "over"])
def test_rule_13_what_a_task_that_is_gone_came_to_is_judged_by_the_list_of_nodes(
    begin: Begin, fake: FakeProvisioner, clock: FakeClock, seconds: float, state: str
) -> None:
    """A machine that the list shows at work until the timeout is unknown and followed, whatever became of its task."""
    driving = begin(SITE)
    driving.patience = 0.0
    waiting = driving.group("all")
    assert isinstance(waiting, StillRunning)
    clock.sleep(seconds)
    fake.forget(waiting.provisioner_task)
    driving.patience = 60.0
    judge(driving)
    assert driving.states() == dict.fromkeys(BOTH, state)
    assert (driving.store.operations.get(1).over is None) is (state == "unknown"), "what is over holds nothing"


def test_rule_12_what_another_process_records_between_two_reads_is_no_end(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two triggerers drive one attempt: states from before a record, and operations from after it, say all is over."""
    scene = Scene(store_url, tmp_path, site([node("a"), node("b")], [group("all")]))
    driving = scene.driving
    driving.patience = 0.0
    begun = driving.group("all")
    assert isinstance(begun, StillRunning)
    read = Tasks.attempt_states

    def record_behind(tasks: Tasks, *asked: Any) -> Any:
        found = read(tasks, *asked)
        monkeypatch.undo()
        over = Outcome(frozenset(BOTH), frozenset(), frozenset())
        driving.store.operations.record_outcome(begun.op, over, status=OperationStatus.COMPLETE, result="success")
        return found

    monkeypatch.setattr(Tasks, "attempt_states", record_behind)
    driving.patience = 60.0
    record = driving.finish("all")
    assert (record.state, scene.fake.submissions()) == (GroupState.SUCCESS, DEPLOYMENT)
    scene.store.close()


TEXT = site([node("a"), node("b")], [group("all", maximum_failed_nodes=0)])


@pytest.mark.parametrize("sent", [True, False], ids=["sent after the backup", "never sent"])
def test_rule_55_what_may_have_been_sent_after_the_backup_is_looked_for(
    begin: Begin, fake: FakeProvisioner, sent: bool
) -> None:
    before = begin(TEXT)
    begun = before.store.groups.open_attempt(before.action.id, "all", "6")
    arguments = (before.action.id, before.action.site, "all", begun.attempt, Phase.PREPARE, ["a", "b"])
    intended = before.store.operations.begin(Claim(*arguments, before.design_ref))
    # This is what the backup has. Only the provisioner knows whether the operation was sent after it.
    if sent:
        fake.script("b", "prepare", "stuck")
        design = DesignSource(before.design_ref)
        fake.submit(Phase.PREPARE, design, intended.nodes, intended.reference, sent_ago=None)
    before.store.restoring.settle()
    # A task of the time before goes on: it may send nothing any more.
    before.group("all")
    assert len(fake.submissions()) == int(sent)
    after = begin(TEXT, "run-2")
    after.timeout = 3.0
    after.group("all")
    assert fake.looks >= 1
    assert after.states() == dict.fromkeys(("a", "b"), "not_started" if sent else "success")
    assert len(fake.submissions()) == (1 if sent else 2)
    assert fake.double() == []
