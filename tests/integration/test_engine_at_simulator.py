"""Groups and node steps at a real simulator process, with a real store; `site_engine/` shows the rest in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from provisioner_client.designs import DesignSource
from site_engine.actions.reports import reported_node
from site_engine.operations.wait import StillRunning
from site_store import ActionState, OperationStatus
from strategy_lib.phase import GroupState, Phase
from tests.conftest import ROOT
from tests.support.driving import Begin, Driving, verdict
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site
from tests.support.stores import done_digests

ABC = [node("a"), node("b"), node("c")]


@pytest.mark.endurance
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
    assert second.finish().state is GroupState.SUCCESS
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
    assert driving.finish().state is GroupState.SUCCESS
    assert len(simulator.submissions()) == 2
    assert simulator.double() == {}


AB = [node("a"), node("b")]
ALL = group("all", percent_successful_nodes=100)
DESIGN = site(AB, [ALL])


def test_rule_11_machines_that_our_own_deploy_left_allocated_are_released(
    begin: Begin, simulator: Simulator, tmp_path: Path
) -> None:
    driving = begin(site(AB, [ALL], boot_actions=[]))
    assert driving.finish().state is GroupState.FAILURE
    assert {one["name"]: one["status"] for one in simulator.get("nodes")} == {"a": "Allocated", "b": "Allocated"}
    for tasks in driving.store.tasks.of_nodes(driving.action.id):
        said = reported_node(tasks).message or ""
        assert "the design has no drydock/BootAction/v1" in said, tasks.node
        assert "DD4001" in said
    mended = tmp_path / "mended.yaml"
    mended.write_text(DESIGN)
    driving.design_ref = mended.as_uri()
    assert driving.finish(key="8").state is GroupState.SUCCESS
    assert simulator.submissions()[2:] == [
        ("destroy_nodes", ["a", "b"]),
        ("prepare_nodes", ["a", "b"]),
        ("deploy_nodes", ["a", "b"]),
    ]
    assert driving.store.nodes.left_undeployed("alpha", ["a", "b"]) == {}, "what is deployed was not left so"


DESTROY, RELABEL = Phase.DESTROY, Phase.RELABEL
THREE = site([node("a"), node("b"), node("c")], [group("all", percent_successful_nodes=100)])


@pytest.fixture
def deployed(begin: Begin) -> Driving:
    """Deploy three nodes."""
    driving = begin(THREE)
    driving.group("all")
    assert done_digests(driving.store, "alpha").keys() == {"a", "b", "c"}
    return driving


def test_rule_25_destroyed_nodes_count_as_done_in_no_version(deployed: Driving, simulator: Simulator) -> None:
    assert verdict(deployed, DESTROY, "a", "b") == ""
    assert simulator.submissions()[-1] == ("destroy_nodes", ["a", "b"])
    assert deployed.step_states(DESTROY) == {"a": "success", "b": "success"}
    assert done_digests(deployed.store, "alpha").keys() == {"c"}
    said = {one.name: one.condition for one in deployed.store.nodes.of_site("alpha")}
    assert said == {"a": "other", "b": "other", "c": "deployed"}


def test_rule_25_relabelling_leaves_nodes_as_they_are(deployed: Driving, simulator: Simulator) -> None:
    assert verdict(deployed, RELABEL, "a", "c") == ""
    assert simulator.submissions()[-1] == ("relabel_nodes", ["a", "c"])
    assert done_digests(deployed.store, "alpha").keys() == {"a", "b", "c"}


@pytest.mark.endurance
def test_rule_44_a_node_whose_boot_action_failed_is_destroyed_and_tried_again(
    begin: Begin, simulator: Simulator
) -> None:
    simulator.script("b", "deploy", "fail", stage="bootaction_report", attempt=1)
    retried = {**group("all", percent_successful_nodes=100), "retries": {"deploy": 1}}
    assert begin(site(ABC, [retried])).finish().state is GroupState.SUCCESS
    assert simulator.submissions()[2:] == [(f"{action}_nodes", ["b"]) for action in ("destroy", "prepare", "deploy")]
    assert simulator.double() == {}


def test_the_site_of_the_page_about_strategies_deploys(begin: Begin, simulator: Simulator) -> None:
    page = (ROOT / "docs" / "strategy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(---\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    driving = begin("".join(blocks))
    found = driving.connect().validate_design(DesignSource(driving.design_ref))
    assert (found.valid, [one for one in found.messages if one.level in ("Error", "Warning")]) == (True, [])
    for name in ("ntp-node", "all-nodes"):
        assert driving.finish(name).state is GroupState.SUCCESS
    assert {one["name"]: one["status"] for one in simulator.get("nodes")} == {"ntp01": "Deployed"}
