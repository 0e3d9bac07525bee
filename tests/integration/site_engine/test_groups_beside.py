"""Groups side by side, driven in turns as Airflow's tasks are: real store, provisioner and clock in memory (rule 8)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from provisioner_client.errors import ProvisionerUnavailable
from site_engine.groups.attempt import StillBeside, interrupt_group
from site_engine.groups.turns import place_taker, turn_by_store
from site_engine.operations.wait import StillRunning
from site_store import ApprovalAnswer, ApprovalRecord, GroupRecord, PlaceTaken
from strategy_lib.phase import GroupState, Reason
from tests.support.driving import Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

ABC = [node("a"), node("b"), node("c")]


@dataclass
class Tasks:
    """The tasks of an action's groups: each goes on for a moment when it is its turn, and leaves off again."""

    driving: Driving
    places: int = 2
    at_work: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.driving.patience = 0.0

    def go_on(self, name: str, key: str = "6") -> object:
        """Have a group's task go on; None: it may not begin yet."""
        store, action_id = self.driving.store, self.driving.action.id
        may_begin = place_taker(name, store.groups.turns(action_id), self._task, self.places)
        try:
            result = self.driving.group(name, key, may_begin=may_begin)
        except PlaceTaken:
            return None
        finally:
            states = store.groups.states(action_id).values()
            self.at_work.append(sum(state is GroupState.RUNNING for state in states))
        return result

    def _task(self, map_index: int) -> str | None:
        states = [one.state for one in self.driving.store.groups.turns(self.driving.action.id)]
        return "failed" if states[map_index] is GroupState.FAILURE else "running"


def record(result: object) -> GroupRecord:
    """Return a group's verdict."""
    assert isinstance(result, GroupRecord), result
    return result


def test_rule_08_no_more_groups_begin_than_there_are_places(begin: Begin, clock: FakeClock) -> None:
    tasks = Tasks(begin(site(ABC, [group("one", ["a"]), group("two", ["b"]), group("three", ["c"])])))
    assert isinstance(tasks.go_on("one"), StillRunning)
    assert tasks.go_on("three") is None, "the free place is that of two"
    assert isinstance(tasks.go_on("two"), StillRunning)
    assert tasks.go_on("three") is None
    for _ in range(3):
        clock.sleep(1)
        result = tasks.go_on("one")
    assert record(result).state is GroupState.SUCCESS
    assert isinstance(tasks.go_on("three"), StillRunning)


def test_rule_11_a_shared_node_is_sent_by_one_and_counted_by_the_other(
    begin: Begin, clock: FakeClock, fake: FakeProvisioner
) -> None:
    driving = begin(site(ABC, [group("one", ["a", "b"]), group("two", ["b", "c"], percent_successful_nodes=100)]))
    tasks = Tasks(driving)
    assert isinstance(tasks.go_on("one"), StillRunning)
    assert isinstance(tasks.go_on("two"), StillRunning)
    assert fake.submissions() == [("prepare_nodes", ["a", "b"]), ("prepare_nodes", ["c"])]
    clock.sleep(1)
    fake.shown_tasks()
    clock.sleep(1)
    waiting = tasks.go_on("two")
    assert isinstance(waiting, StillBeside), "c is prepared; what became of b only one knows"
    (operation,) = waiting.ops
    assert driving.store.operations.get(operation).group == "one"
    assert isinstance(tasks.go_on("one"), StillRunning)
    assert fake.submissions()[2:] == [("deploy_nodes", ["a", "b"])]
    assert isinstance(tasks.go_on("two"), StillRunning), "b is being deployed, and so it is prepared"
    assert fake.submissions()[3:] == [("deploy_nodes", ["c"])]
    clock.sleep(1)
    fake.shown_tasks()
    clock.sleep(1)
    assert isinstance(tasks.go_on("two"), StillBeside)
    assert record(tasks.go_on("one")).state is GroupState.SUCCESS
    two = record(tasks.go_on("two"))
    assert (two.state, two.counts["succeeded"]) == (GroupState.SUCCESS, 2)
    assert fake.double() == []


def test_rule_23_who_waits_for_a_group_that_was_interrupted_goes_on_without_it(begin: Begin, clock: FakeClock) -> None:
    driving = begin(site(ABC, [group("one", ["a", "b"]), group("two", ["b", "c"], maximum_failed_nodes=1)]))
    tasks = Tasks(driving)
    assert isinstance(tasks.go_on("one"), StillRunning)
    assert isinstance(tasks.go_on("two"), StillRunning)
    clock.sleep(5)
    for _ in range(3):
        clock.sleep(1)
        assert isinstance(tasks.go_on("two"), StillRunning | StillBeside)
    assert interrupt_group(driving.store, driving.action, "one")
    for _ in range(4):
        result = tasks.go_on("two")
        clock.sleep(1)
    assert record(result).state is GroupState.SUCCESS
    assert driving.states() == {"a": "prepared", "b": "success", "c": "success"}, "what it left behind was looked at"


def test_rule_26_while_a_group_waits_for_a_person_its_place_is_taken(begin: Begin, clock: FakeClock) -> None:
    asking = group("one", ["a"]) | {"approval": "before"}
    driving = begin(site(ABC, [asking, group("two", ["b"]), group("three", ["c"])]))
    tasks = Tasks(driving)
    asked = tasks.go_on("one")
    assert isinstance(asked, ApprovalRecord)
    assert isinstance(tasks.go_on("two"), StillRunning), "the other place is free"
    assert tasks.go_on("three") is None
    driving.store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann", "")
    assert isinstance(tasks.go_on("one"), StillRunning)
    assert tasks.go_on("three") is None


def strategy(draw: random.Random) -> tuple[list[str], dict[str, list[str]], list[dict[str, object]]]:
    """Return nodes, and groups of some of them, with criteria that decide after deploy."""
    names = [f"n{number}" for number in range(draw.randint(1, 7))]
    members: dict[str, list[str]] = {}
    groups = []
    for number in range(draw.randint(1, 6)):
        name = f"g{number}"
        members[name] = sorted(draw.sample(names, draw.randint(1, len(names))))
        after = [other for other in members if other != name and draw.random() < 0.25]
        criteria = {"percent_successful_nodes": draw.choice([50, 80, 100])}
        groups.append(group(name, members[name], critical=draw.random() < 0.5, after=after, **criteria))
    return names, members, groups


@pytest.mark.parametrize(
    "number", [1, pytest.param(40, marks=pytest.mark.endurance), pytest.param(400, marks=pytest.mark.soak)]
)
def test_in_whatever_order_tasks_go_on_and_wherever_they_are_killed(
    begin: Begin, clock: FakeClock, fake: FakeProvisioner, number: int
) -> None:
    """Each node is sent once a phase, and each group is judged by what became of all its nodes (rules 9, 11 to 15)."""
    for seed in range(number):
        draw = random.Random(seed)
        names, members, groups = strategy(draw)
        # Each time other machines.
        place = {name: f"s{seed}-{name}" for name in names}
        failing = {name for name in names if draw.random() < 0.2}
        for name in failing:
            fake.script(place[name], "deploy", "fail")
        for one in groups:
            one["selectors"] = [{"node_names": [place[name] for name in members[str(one["name"])]]}]
        driving = begin(site([node(name) for name in place.values()], groups), f"run-{seed}", f"site-{seed}")
        tasks = Tasks(driving, draw.randint(2, 4))
        before = len(fake.submissions())
        verdicts: dict[str, GroupRecord] = {}
        for _ in range(2000):
            name = draw.choice([name for name in members if name not in verdicts])
            if draw.random() < 0.15:
                # The answer is lost, or nothing was sent: the task dies of it.
                fake.fault("submit", ProvisionerUnavailable("reset"), taken=draw.random() < 0.5)
            try:
                result = tasks.go_on(name)
            except ProvisionerUnavailable:
                result = None
            if isinstance(result, GroupRecord):
                verdicts[name] = result
            if len(verdicts) == len(members):
                break
            clock.sleep(draw.choice([0.0, 0.3, 1.1]))
        assert len(verdicts) == len(members), f"seed {seed}: they wait for ever"
        assert max(tasks.at_work) <= tasks.places
        sent = [(phase, name) for phase, nodes in fake.submissions()[before:] for name in nodes]
        assert len(sent) == len(set(sent)), f"seed {seed}: sent twice"
        expect(members, groups, failing, verdicts, f"seed {seed}")
    assert fake.double() == []


def expect(
    members: dict[str, list[str]],
    groups: list[dict[str, object]],
    failing: set[str],
    verdicts: dict[str, GroupRecord],
    seed: str,
) -> None:
    """Compare verdicts with a plain reading: what became of a node does not depend on who sent it."""
    good: dict[str, bool] = {}
    for one in groups:
        name = str(one["name"])
        after, criteria = one["depends_on"], one["success_criteria"]
        assert isinstance(after, list)
        assert isinstance(criteria, dict)
        if not all(good[other] for other in after):
            good[name] = False
            assert verdicts[name].reason is Reason.DEPENDENCY, seed
            continue
        well = len(set(members[name]) - failing)
        good[name] = well * 100 >= criteria["percent_successful_nodes"] * len(members[name])
        assert (verdicts[name].state is GroupState.SUCCESS) is good[name], f"{seed}: {name}"
        # A shared node may have failed to be deployed before this group's prepare is judged.
        assert verdicts[name].reason in (None, Reason.PREPARE_CRITERIA, Reason.DEPLOY_CRITERIA), seed
        if good[name]:
            assert verdicts[name].counts["succeeded"] == well, f"{seed}: {name}"


def test_who_waits_without_a_worker_is_woken_by_the_store(begin: Begin, clock: FakeClock) -> None:
    driving = begin(site(ABC, [group("one", ["a"]), group("two", ["b"]), group("three", ["c"])]))
    tasks = Tasks(driving)
    tasks.go_on("one")
    tasks.go_on("two")

    def turn() -> str | None:
        return turn_by_store("three", driving.store.groups.turns(driving.action.id), 2).wait_for

    assert turn() == "one"
    for _ in range(4):
        clock.sleep(1)
        tasks.go_on("two")
    assert turn() is None
