"""Nodes that the provisioner refuses to prepare are released first (rule 11); store and simulator are real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from site_store import GroupRecord
from strategy_lib.phase import GroupState
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import boot_action, group, node, site

AB = [node("a"), node("b")]
ALL = group("all", percent_successful_nodes=100)
DESIGN = site(AB, [ALL])
ONLY_B = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["b"]}]}
FAILED = "Failed deployment"
COMMAND = "`slipway create action redeploy_server --param target_nodes=a --site alpha`"

Listed = Callable[..., Driving]


@pytest.fixture
def listed(begin: Begin, simulator: Simulator) -> Listed:
    """Begin an action on a site whose machine a stands in a status that nobody here brought about."""

    def listed(status: str, text: str = DESIGN) -> Driving:
        driving = begin(text)
        requests.post(f"{simulator.url}/api/v1.0/validatedesign", json={"href": driving.design_ref}, timeout=10)
        simulator.post("nodes/a", {"status": status})
        return driving

    return listed


def finished(driving: Driving, key: str = "6") -> GroupRecord:
    """Drive the group to its verdict."""
    record = driving.group("all", key)
    assert isinstance(record, GroupRecord)
    return record


def message(driving: Driving, name: str = "a") -> str:
    """Return what is said of a node that was not prepared."""
    return next(
        tasks.prepare.error or "" for tasks in driving.store.tasks.of_nodes(driving.action.id) if tasks.node == name
    )


def test_rule_11_a_machine_that_our_own_deploy_left_allocated_is_released(
    begin: Begin, simulator: Simulator, tmp_path: Path
) -> None:
    driving = begin(site(AB, [ALL], boot_actions=[boot_action(node_filter=ONLY_B)]))
    assert finished(driving).state is GroupState.FAILURE
    assert {one["name"]: one["status"] for one in simulator.get("nodes")} == {"a": "Allocated", "b": "Deployed"}
    mended = tmp_path / "mended.yaml"
    mended.write_text(DESIGN)
    driving.design_ref = mended.as_uri()
    assert finished(driving, "8").state is GroupState.SUCCESS
    assert simulator.submissions()[2:] == [
        ("destroy_nodes", ["a"]),
        ("prepare_nodes", ["a"]),
        ("deploy_nodes", ["a"]),
    ]
    assert driving.store.nodes.left_undeployed("alpha", ["a", "b"]) == {}, "what is deployed was not left so"


def test_rule_12_an_answer_that_is_lost_releases_once(listed: Listed, simulator: Simulator) -> None:
    driving = listed(FAILED)
    simulator.post("faults", {"method": "POST", "path": "/api/v1.0/tasks", "kind": "reset_after"})
    assert finished(driving).state is GroupState.SUCCESS
    assert [action for action, _ in simulator.submissions()] == ["destroy_nodes", "prepare_nodes", "deploy_nodes"]
    assert simulator.double() == {}
