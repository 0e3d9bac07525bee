"""Machines that the list shows at work though their provisioner task reports success, at a simulator (rules 13, 14)."""

from __future__ import annotations

import pytest

from site_engine.actions.reports import make_report
from site_engine.controller.follow import Followed
from site_engine.kinds import DEPLOY_GROUP, kind_of
from site_engine.operations.wait import StillRunning
from site_store import ActionState, OperationStatus
from site_store.operations.tasks import Tasks
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import GroupState, Phase, Reason, Verdict
from strategy_lib.reports.report import Report
from tests.support.driving import Begin, Driving
from tests.support.processes import die, do_and_be_killed
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

SITE = "alpha"
TEXT = site([node("a"), node("b")], [group("all", percent_successful_nodes=100)])
NEVER = 100_000.0
"""So many times as late as Drydock waits."""
SENT = [("prepare_nodes", ["a", "b"]), ("deploy_nodes", ["a", "b"])]
PHASES = pytest.mark.parametrize(
    ("phase", "at_work", "done", "sent"),
    [("prepare", "Commissioning", "Ready", SENT[:1]), ("deploy", "Deploying", "Deployed", SENT)],
)


def report(driving: Driving) -> Report:
    """Make the action's report."""
    states = {step: "failed" if step == DEPLOY_GROUP else "success" for step in kind_of("deploy_site").steps}
    return make_report(driving.store.reports.facts(driving.action.id), states, driving.store.now())


def until_at_work(driving: Driving, simulator: Simulator, status: str) -> StillRunning:
    """Drive the group until its task is over, and the list shows a at work; return what a task would wait for."""
    patience, driving.patience = driving.patience, 0.2
    while True:
        waiting = driving.group("all")
        assert isinstance(waiting, StillRunning)
        if waiting.settling:
            break
    driving.patience = patience
    assert {one["name"]: one["status"] for one in simulator.get("nodes")}["a"] == status
    return waiting


@PHASES
def test_rule_13_what_drydock_s_retry_takes_for_done_is_waited_for(
    begin: Begin, simulator: Simulator, phase: str, at_work: str, done: str, sent: list[tuple[str, list[str]]]
) -> None:
    simulator.script("a", phase, "taken_for_done", factor=NEVER)
    driving = begin(TEXT)
    waiting = until_at_work(driving, simulator, at_work)
    assert simulator.get("tasks")[-1]["status"] == "complete"
    assert driving.store.operations.get(waiting.op).status is OperationStatus.SUBMITTED
    assert simulator.submissions() == sent
    simulator.post("nodes/a", {"status": done})
    assert driving.finish().state is GroupState.SUCCESS
    assert simulator.submissions() == SENT, "nothing is sent twice"


@PHASES
@pytest.mark.parametrize("well", [True, False], ids=["ends well", "fails"])
def test_rule_14_what_is_at_work_until_the_timeout_is_unknown_and_followed(
    begin: Begin,
    simulator: Simulator,
    phase: str,
    at_work: str,
    done: str,
    sent: list[tuple[str, list[str]]],
    *,
    well: bool,
) -> None:
    simulator.script("a", phase, "taken_for_done", factor=NEVER)
    driving = begin(TEXT)
    driving.timeout = 3.0
    record = driving.finish()
    assert (record.state, simulator.submissions()) == (GroupState.FAILURE, sent)
    assert record.reason is (Reason.PREPARE_CRITERIA if phase == "prepare" else Reason.DEPLOY_CRITERIA)
    assert driving.states() == {"a": "unknown", "b": "prepared" if phase == "prepare" else "success"}
    made = report(driving)
    assert (made.verdict, "every group succeeded" in made.verdict_text) == (Verdict.FAILURE, False)
    (said,) = [one.message for one in made.nodes if one.name == "a"]
    assert f"reported as a success, but the node list says {at_work}" in (said or "")
    (left,) = driving.store.operations.unfinished(SITE, ["a"])
    assert left.status is OperationStatus.TIMED_OUT
    driving.store.actions.close(driving.action.id, ActionState.FAILED, made.verdict_text)
    assert driving.follow() == Followed(1, 0), "it is still at work"
    assert driving.states()["a"] == "unknown"
    simulator.post(
        "nodes/a", {"status": done if well else f"Failed {'commissioning' if done == 'Ready' else 'deployment'}"}
    )
    assert driving.follow() == Followed(1, 1)
    good = "prepared" if phase == "prepare" else "success"
    assert driving.states()["a"] == (good if well else "failure")
    assert driving.store.operations.unfinished(SITE) == []
    records = {one.name: one for one in driving.store.nodes.of_site(SITE)}
    assert (records["a"].done_digest is not None) is (well and phase == "deploy")
    assert driving.store.groups.get(driving.action.id, "all").state is GroupState.FAILURE, "no verdict changes"


def test_rule_14_of_two_that_are_at_work_each_is_known_as_soon_as_it_settles(
    begin: Begin, simulator: Simulator
) -> None:
    simulator.script("*", "deploy", "taken_for_done", factor=NEVER)
    driving = begin(TEXT)
    driving.timeout = 3.0
    assert driving.finish().state is GroupState.FAILURE
    driving.store.actions.close(driving.action.id, ActionState.FAILED, "late")
    simulator.post("nodes/a", {"status": "Deployed"})
    assert driving.follow() == Followed(1, 0)
    assert driving.states() == {"a": "success", "b": "unknown"}
    events = len(driving.store.events.of_action(driving.action.id))
    assert driving.follow() == Followed(1, 0)
    assert len(driving.store.events.of_action(driving.action.id)) == events, "it is said once"
    simulator.post("nodes/b", {"status": "Failed deployment"})
    assert driving.follow() == Followed(1, 1)
    assert driving.states() == {"a": "success", "b": "failure"}


def test_rule_24_the_next_action_waits_for_what_is_still_at_work(begin: Begin, simulator: Simulator) -> None:
    simulator.script("a", "deploy", "taken_for_done", factor=NEVER)
    first = begin(TEXT)
    first.timeout = 3.0
    first.finish()
    first.store.actions.close(first.action.id, ActionState.FAILED, "late")
    second = begin(TEXT, "run-2")
    second.patience = 0.0
    waiting = second.group("all")
    assert isinstance(waiting, StillRunning)
    assert (waiting.op, waiting.settling) == (first.store.operations.unfinished(SITE, ["a"])[0].op, True)
    assert len(simulator.submissions()) == 2, "nothing is sent meanwhile"
    simulator.post("nodes/a", {"status": "Deployed"})
    second.patience = 60.0
    assert second.finish().state is GroupState.SUCCESS
    assert first.states()["a"] == "success"
    assert len(simulator.submissions()) == 2, "both are as wanted"


def killed_at_looks(driving: Driving, number: int) -> None:
    """Drive the group in a process that is killed when it has seen so often that a is at work."""
    looks = iter([Tasks.unsettled] * (number - 1))

    def work() -> None:
        pytest.MonkeyPatch().setattr(Tasks, "unsettled", lambda *given: next(looks, die)(*given))
        driving.group("all")

    do_and_be_killed(work)


def test_rule_14_kill_9_while_nodes_are_at_work_waits_on_until_the_same_deadline(
    begin: Begin, simulator: Simulator
) -> None:
    simulator.script("a", "deploy", "taken_for_done", factor=NEVER)
    driving = begin(TEXT)
    killed_at_looks(driving, 1)
    assert driving.states()["a"] == "deploying"
    until_at_work(driving, simulator, "Deploying")
    begun = driving.store.operations.of_action(driving.action.id, "all")[-1]
    assert begun.running_since is not None, "the clock of the dead process goes on"
    simulator.post("nodes/a", {"status": "Deployed"})
    assert driving.finish().state is GroupState.SUCCESS
    assert simulator.submissions() == SENT
    assert simulator.double() == {}


@pytest.mark.parametrize("killed", [False, True], ids=["deferred", "killed"])
def test_rule_11_what_was_seen_at_work_and_is_allocated_later_was_not_left_so_by_us(
    begin: Begin, simulator: Simulator, *, killed: bool
) -> None:
    simulator.script("a", "deploy", "taken_for_done", factor=NEVER)
    driving = begin(TEXT)
    driving.timeout = 20.0
    if killed:
        killed_at_looks(driving, 2)
    else:
        until_at_work(driving, simulator, "Deploying")
    simulator.post("nodes/a", {"status": "Allocated"})
    assert driving.finish().state is GroupState.FAILURE
    assert {one.name: one.condition for one in driving.store.nodes.of_site(SITE)}["a"] == NodeCondition.ALLOCATED
    assert driving.store.nodes.left_undeployed(SITE, ["a"]) == {}, "a stranger may have allocated it"


@pytest.mark.parametrize("killed", [False, True], ids=["given up", "killed"])
def test_rule_24_a_node_that_is_done_is_not_held_by_one_of_its_operation_that_is_still_at_work(
    begin: Begin, simulator: Simulator, *, killed: bool
) -> None:
    simulator.script("a", "deploy", "taken_for_done", factor=NEVER)
    first = begin(TEXT)
    if killed:
        until_at_work(first, simulator, "Deploying")
    else:
        first.timeout = 3.0
        first.finish()
        assert first.states() == {"a": "unknown", "b": "success"}
    first.store.actions.close(first.action.id, ActionState.FAILED, "late")
    second = begin(TEXT, "run-2")
    second.patience, second.timeout = 0.0, NEVER
    ended = second.node_step(Phase.DESTROY, ["b"])
    while isinstance(ended, StillRunning):
        assert second.store.operations.get(ended.op).action_id == second.action.id, "b waits for nobody else"
        ended = second.node_step(Phase.DESTROY, ["b"])
    assert second.step_states(Phase.DESTROY) == {"b": "success"}
    waiting = second.node_step(Phase.DESTROY, ["a"], attempt=21)
    assert isinstance(waiting, StillRunning)
    assert second.store.operations.get(waiting.op).action_id == first.action.id, "a waits"
