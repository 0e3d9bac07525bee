"""One group from its start to its verdict at a real simulator process; `site_engine/` shows the rest."""

from __future__ import annotations

from site_engine.operations.wait import StillRunning
from site_store import ActionState, GroupRecord, OperationStatus
from strategy_lib.phase import GroupState
from tests.support.driving import Begin
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

ABC = [node("a"), node("b"), node("c")]


def test_a_group_is_prepared_then_deployed(begin: Begin, simulator: Simulator) -> None:
    driving = begin(site(ABC, [group("all", percent_successful_nodes=100)]))
    record = driving.group("all")
    assert isinstance(record, GroupRecord)
    assert record.state is GroupState.SUCCESS
    assert simulator.submissions() == [("prepare_nodes", ["a", "b", "c"]), ("deploy_nodes", ["a", "b", "c"])]
    assert set(driving.states().values()) == {"success"}
    assert [(result.phase.value, result.actual) for result in record.criteria] == [
        ("prepare", "3/3"),
        ("deploy", "3/3"),
    ]


def test_rule_12_an_answer_lost_after_the_submission_does_not_submit_twice(begin: Begin, simulator: Simulator) -> None:
    simulator.post("faults", {"method": "POST", "path": "/api/v1.0/tasks", "kind": "reset_after"})
    driving = begin(site(ABC, [group("all", percent_successful_nodes=100)]))
    driving.group("all")
    assert len(simulator.submissions()) == 2
    assert simulator.double() == {}


def test_rule_24_a_task_whose_provisioner_was_killed_holds_nothing_behind_a_newer_one(
    begin: Begin, simulator: Simulator
) -> None:
    simulator.script("b", "prepare", "stuck", attempt=1)
    text = site(ABC, [group("all", percent_successful_nodes=100)])
    driving = begin(text)
    driving.patience = 0.3
    waiting = driving.group("all")
    assert isinstance(waiting, StillRunning)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    _until_only_b_is_at_work(simulator)
    simulator.kill()
    simulator.start("--restart-mode", "orphan", "--grace", "0")
    simulator.post("nodes/b", {"status": "New"})
    second = begin(text, "run-2")
    second.outlive(waiting.provisioner_task)
    second.timeout = 3600.0
    record = second.group("all")
    assert isinstance(record, GroupRecord)
    assert record.state is GroupState.SUCCESS
    (dead, *_) = simulator.get("tasks")
    assert (dead["task_id"], dead["status"]) == (waiting.provisioner_task, "running")
    assert driving.store.operations.unfinished("alpha") == []
    assert driving.store.operations.get(waiting.op).status is OperationStatus.COMPLETE
    assert simulator.double() == {}


def _until_only_b_is_at_work(simulator: Simulator) -> None:
    wanted = {"a": "Ready", "b": "Commissioning", "c": "Ready"}
    while {node["name"]: node["status"] for node in simulator.get("nodes")} != wanted:
        pass


def test_rule_12_an_answer_that_is_lost_before_its_request_takes_effect_sends_nothing_twice(
    begin: Begin, simulator: Simulator
) -> None:
    simulator.fault("POST", "tasks", "reset_after", effect_after=0.5)
    driving = begin(site(ABC, [group("all", percent_successful_nodes=100)]))
    driving.settle = 5.0
    record = driving.group("all")
    assert isinstance(record, GroupRecord)
    assert record.state is GroupState.SUCCESS
    assert len(simulator.submissions()) == 2
    assert simulator.double() == {}
