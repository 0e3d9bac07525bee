"""The blueprint's examples through a real Airflow: four sites at the same time, each with its own provisioner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.running import HANGS, RunningSlipway
from tests.support.blueprint import EXAMPLE, SELECTORS_FRAGMENT
from tests.support.simulators import Simulator
from tests.support.sites import boot_action, document, node

pytestmark = pytest.mark.endurance

NODES = [
    node("ntp01", "rack03"),
    *(node(f"control0{i}", "rack03", ["control"]) for i in (1, 2, 3)),
    *(node(f"compute1{i}", "rack01", ["compute"]) for i in (1, 2)),
    *(node(f"compute2{i}", "rack02", ["compute"]) for i in (1, 2)),
    *(node(f"mon0{i}", f"rack0{i}", ["monitoring"]) for i in (1, 2, 3)),
]
LABELLED = [
    node("node01", "rack01", ["control"]),
    node("node02", "rack02", ["control"]),
    node("node03", "rack01", ["control"]),
    node("node04", "rack09", profile="ucp"),
]
FAILURES = {
    "succeeds": [],
    "ntp": ["--fail", "prepare:ntp01"],
    "compute2": ["--fail", "deploy:compute21", "--fail", "deploy:compute22"],
}


def design(nodes: list[dict[str, Any]], strategy: str) -> str:
    """Return a site with these nodes and the strategy as it is printed."""
    documents = [
        document("drydock/Region/v1", "blueprint", {"tag_definitions": [], "authorized_keys": []}),
        document("drydock/HostProfile/v1", "compute", {}),
        document("drydock/HostProfile/v1", "ucp", {"metadata": {"owner_data": {"ucp_control_plane": "enabled"}}}),
        boot_action(),
        *nodes,
        document(
            "shipyard/DeploymentConfiguration/v1",
            "deployment-configuration",
            {"physical_provisioner": {"deployment_strategy": yaml.safe_load(strategy)["metadata"]["name"]}},
        ),
    ]
    return yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True) + "---\n" + strategy.lstrip("-\n")


@pytest.fixture(scope="module")
def reports(slipway: RunningSlipway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Deploy all four, together, and return their reports."""
    simulators: list[Simulator] = []
    started = {}
    try:
        for name, options in {**FAILURES, "fragment": []}.items():
            simulator = Simulator(tmp_path_factory.mktemp(name), *options)
            simulators.append(simulator)
            slipway.connect(f"blueprint-{name}", simulator.url)
            text = design(LABELLED, SELECTORS_FRAGMENT) if name == "fragment" else design(NODES, EXAMPLE)
            started[name] = slipway.start(f"blueprint-{name}", text)
        results = {}
        for name, run_id in started.items():
            slipway.airflow.wait_for_run("deploy_site", run_id, HANGS)
            results[name] = slipway.report(run_id)
        yield results
        assert all(simulator.double() == {} for simulator in simulators)
    finally:
        for simulator in simulators:
            simulator.stop()


def outcome(report: dict[str, Any]) -> dict[str, str]:
    """Return what became of each group."""
    return {group["name"]: group["reason"] or group["state"] for group in report["groups"]}


def test_blueprint_processing_1_everything_succeeds(reports: dict[str, Any]) -> None:
    report = reports["succeeds"]
    assert report["verdict"] == "success"
    assert list(outcome(report)) == [
        "monitoring-nodes",
        "ntp-node",
        "control-nodes",
        "compute-nodes-1",
        "compute-nodes-2",
    ]
    assert set(outcome(report).values()) == {"success"}


def test_blueprint_processing_2_failure_in_preparing_the_ntp_node(reports: dict[str, Any]) -> None:
    report = reports["ntp"]
    assert report["verdict"] == "failure"
    assert outcome(report) == {
        "monitoring-nodes": "success",
        "ntp-node": "prepare_criteria",
        "control-nodes": "dependency",
        "compute-nodes-1": "dependency",
        "compute-nodes-2": "dependency",
    }


def test_blueprint_processing_3_failure_during_the_deploy_of_compute_nodes_2(reports: dict[str, Any]) -> None:
    report = reports["compute2"]
    assert report["verdict"] == "success"
    assert outcome(report) == {
        "monitoring-nodes": "success",
        "ntp-node": "success",
        "control-nodes": "success",
        "compute-nodes-1": "success",
        "compute-nodes-2": "deploy_criteria",
    }


def test_blueprint_selectors_fragment_with_a_mapping_as_label(reports: dict[str, Any]) -> None:
    states = {entry["name"]: (entry["state"], entry["groups"]) for entry in reports["fragment"]["nodes"]}
    assert states == {
        "node01": ("success", ["example"]),
        "node02": ("not_started", []),
        "node03": ("not_started", []),
        "node04": ("success", ["example"]),
    }


def test_tasks_are_named_after_their_groups_and_failed_ones_are_red(
    slipway: RunningSlipway, reports: dict[str, Any]
) -> None:
    run_id = reports["compute2"]["action"]["run_id"]
    tasks = {task.name: task.state for task in slipway.tasks(run_id, "deploy_group")}
    assert tasks["compute-nodes-2"] == "failed"
    assert tasks["control-nodes"] == "success"
