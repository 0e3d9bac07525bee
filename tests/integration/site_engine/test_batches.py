"""Batches within a group, and canaries (rule 59), with a real store, and a provisioner and a clock in memory."""

from __future__ import annotations

import random

import pytest

from site_engine.actions.reports import reported_node
from site_engine.operations.wait import StillRunning
from site_store import ApprovalAnswer, ApprovalRecord, AskedState, GroupRecord
from strategy_lib import simulate
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.phase import GroupState, Reason
from tests.integration.site_engine.test_groups_beside import Tasks
from tests.support.driving import Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

NAMES = ["a", "b", "c", "d", "e"]
FIVE = [node(name) for name in NAMES]
BY_TWO = {**group("all", maximum_failed_nodes=1), "max_in_flight": 2}
CANARIES = {**group("all", maximum_failed_nodes=1), "canary": 2}


def sent(fake: FakeProvisioner, since: int = 0) -> list[str]:
    """Return what was submitted."""
    return [f"{action.removesuffix('_nodes')} {' '.join(nodes)}" for action, nodes in fake.submissions()[since:]]


def message(driving: Driving, name: str) -> str | None:
    """Return what the report says of a node."""
    return next(
        reported_node(one).message for one in driving.store.tasks.of_nodes(driving.action.id) if one.node == name
    )


def test_rule_59_each_batch_is_a_provisioner_task_of_its_own(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(FIVE, [BY_TWO]))
    assert driving.finish().state is GroupState.SUCCESS
    assert sent(fake) == ["prepare a b", "deploy a b", "prepare c d", "deploy c d", "prepare e", "deploy e"]
    assert [one.round for one in driving.store.operations.of_action(driving.action.id)] == [0, 0, 1, 1, 2, 2]
    assert fake.double() == []


def test_rule_59_no_more_batches_begin_and_the_report_says_why(begin: Begin, fake: FakeProvisioner) -> None:
    for name in ("a", "b"):
        fake.script(name, "deploy", "flaky")
    driving = begin(site(FIVE, [BY_TWO]))
    record = driving.finish()
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.DEPLOY_CRITERIA)
    assert sent(fake) == ["prepare a b", "deploy a b"]
    assert (record.counts["not_started"], record.counts["prepared"]) == (3, 2)
    assert message(driving, "e") == (
        "its deploy criteria can no longer be met: maximum_failed_nodes needs 1, and 2 is the best there can be"
    )
    # A person clears the group: what kept them is judged anew.
    assert driving.finish(key="8").state is GroupState.SUCCESS
    assert sent(fake)[2:5] == ["destroy a b", "prepare a b", "deploy a b"]
    assert message(driving, "e") is None


def test_rule_59_canaries_are_deployed_first_and_tell_why_the_rest_is_not(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "deploy", "flaky")
    driving = begin(site(FIVE, [CANARIES, group("later", ["c"], critical=False)]))
    record = driving.finish()
    assert (record.state, record.reason, record.criteria) == (GroupState.FAILURE, Reason.CANARY, ())
    assert sent(fake) == ["prepare a b", "deploy a b"]
    assert driving.states() == {"a": "success", "b": "failure", **dict.fromkeys("cde", "not_started")}
    said = message(driving, "d")
    assert said is not None
    assert said == "the canaries failed: b (Error deploying node b)"
    # Rule 11: what this group has not begun is another's to send.
    assert driving.finish("later").state is GroupState.SUCCESS
    # Rule 23: the canary that is not done goes first; the rest follows it.
    before = len(fake.submissions())
    assert driving.finish(key="8").state is GroupState.SUCCESS
    assert sent(fake, before) == ["destroy b", "prepare b", "deploy b", "prepare d e", "deploy d e"]


def test_rule_26_and_23_a_batch_is_rejoined_by_the_process_that_comes_back(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("c", "prepare", "stuck")
    driving = begin(site(FIVE, [BY_TWO]))
    driving.patience = 2.0
    assert isinstance(driving.group("all"), StillRunning)
    fake.release_stuck()
    driving.patience = 60.0
    assert driving.finish().state is GroupState.SUCCESS
    assert len(fake.submissions()) == 6
    assert fake.double() == []


def test_rule_11_failed_deployments_are_released_first_and_stay_in_their_batch(
    begin: Begin, fake: FakeProvisioner
) -> None:
    driving = begin(site(FIVE[:3], [BY_TWO]))
    fake.set_status("b", "Failed deployment")
    assert driving.finish().state is GroupState.SUCCESS
    assert sent(fake) == ["destroy b", "prepare a b", "deploy a b", "prepare c", "deploy c"]


@pytest.mark.parametrize(("moment", "submitted"), [("before", 0), ("after", 6)])
def test_a_group_in_batches_asks_once(begin: Begin, fake: FakeProvisioner, moment: str, submitted: int) -> None:
    driving = begin(site(FIVE, [{**BY_TWO, "approval": moment, "approvers": ["ann"]}]))
    asked = driving.group("all")
    assert isinstance(asked, ApprovalRecord)
    assert len(fake.submissions()) == submitted
    driving.store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann")
    assert driving.finish().state is GroupState.SUCCESS
    assert len(fake.submissions()) == 6


def test_rule_51_a_node_out_of_use_is_no_canary(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(FIVE[:4], [{**BY_TWO, "canary": 1}]))
    changed = driving.store.user_states.change(
        "alpha", ["a"], AskedState(NodeAvailability.MAINTENANCE, "disk", force=True), "ann"
    )
    assert changed.change.modified
    assert driving.finish().state is GroupState.SUCCESS
    assert sent(fake) == ["prepare b", "deploy b", "prepare c d", "deploy c d"]
    said = message(driving, "a")
    assert said is not None
    assert "maintenance" in said


def test_rule_08_groups_in_batches_side_by_side_share_nodes_and_keep_their_bounds(
    begin: Begin, clock: FakeClock, fake: FakeProvisioner
) -> None:
    groups = [
        {**group("one", "abc", percent_successful_nodes=100), "max_in_flight": 1},
        {**group("two", "bcde", percent_successful_nodes=100), "max_in_flight": 2, "canary": 1},
    ]
    tasks = Tasks(begin(site(FIVE, groups)))
    results: dict[str, object] = {}
    for _ in range(60):
        results = {name: tasks.go_on(name) for name in ("one", "two")}
        if all(isinstance(result, GroupRecord) for result in results.values()):
            break
        clock.sleep(1)
        fake.shown_tasks()
    verdicts = [result.state for result in results.values() if isinstance(result, GroupRecord)]
    assert verdicts == [GroupState.SUCCESS] * 2
    acts = [(phase, name) for phase, nodes in fake.submissions() for name in nodes]
    assert len(acts) == len(set(acts)) == 2 * len(FIVE)
    assert fake.double() == []
    for operation in tasks.driving.store.operations.of_action(tasks.driving.action.id):
        assert len(operation.nodes) <= (1 if operation.group == "one" else 2)


@pytest.mark.parametrize("seed", range(4))
def test_rule_59_a_run_does_what_the_rehearsal_said(begin: Begin, fake: FakeProvisioner, seed: int) -> None:
    dice = random.Random(seed)
    names = [f"n{number}" for number in range(dice.randint(3, 7))]
    groups = [
        {
            **group(name, names[place::2], critical=dice.random() < 0.5, maximum_failed_nodes=dice.randint(0, 1)),
            "max_in_flight": dice.choice([1, 2, "50%"]),
            "canary": dice.choice([1, 2, 9]),
            "retries": {"prepare": dice.randint(0, 1), "deploy": dice.randint(0, 1)},
        }
        for place, name in enumerate("xy")
    ]
    outcomes = {phase: {name: "failure" for name in names if dice.random() < 0.2} for phase in ("prepare", "deploy")}
    for phase, fates in outcomes.items():
        for name in fates:
            fake.script(name, phase, "fail")
    said = simulate({"groups": groups}, [{"name": name} for name in names], outcomes)
    driving = begin(site([node(name) for name in names], groups))
    for name in said["order"]:
        record = driving.finish(name)
        assert (str(record.state), record.reason) == (said["groups"][name]["state"], said["groups"][name]["reason"])
    wanted = [f"{one['phase']} {' '.join(one['nodes'])}" for one in said["submissions"]]
    # The rehearsal knows nothing of what the provisioner's list says: failed deployments are released first.
    assert [one for one in sent(fake) if not one.startswith("destroy")] == wanted
    assert driving.states() == said["nodes"]
