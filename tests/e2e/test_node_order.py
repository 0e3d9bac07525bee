"""Nodes that wait for others, and a redeploy in batches, in a real Airflow: what the simulator saw of it decides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import StartSimulator
from tests.e2e.running import RunningSlipway
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

NAMES = [f"n{number:02}" for number in range(20)]
RACK = {**group("rack", percent_successful_nodes=80), "max_unavailable": 4}


def waiting_for(name: str, other: str) -> dict[str, Any]:
    """Return a node that waits for another one."""
    made = node(name)
    return {**made, "metadata": {**made["metadata"], "depends_on_nodes": [other]}}


def deploys(simulator: Simulator) -> list[list[str]]:
    """Return the nodes of each deploy."""
    return [nodes for action, nodes in simulator.submissions() if action == "deploy_nodes"]


@pytest.mark.endurance
def test_rule_39_a_gateway_fails_and_only_its_dependants_are_held(
    slipway: RunningSlipway, start_simulator: StartSimulator
) -> None:
    simulator = start_simulator()
    simulator.script("gw2", "deploy", "fail")
    slipway.connect("gateways", simulator.url)
    nodes = [node("gw1"), node("gw2"), *(waiting_for(f"w{number}", f"gw{number % 2 + 1}") for number in range(4))]
    groups = [group("workers", [f"w{number}" for number in range(4)], minimum_successful_nodes=2)]
    groups.append(group("gateways", ["gw1", "gw2"], critical=False, percent_successful_nodes=100))
    run_id, state = slipway.deploy("gateways", site(nodes, groups))
    assert state == "success", "the edge of a node passes no failure on to its group"
    assert deploys(simulator) == [["gw1", "gw2"], ["w0", "w2"]]
    said = {one["name"]: one for one in slipway.report(run_id)["nodes"]}
    assert {name: said[name]["state"] for name in ("w0", "w1", "w2", "w3")} == {
        "w0": "success",
        "w1": "prepared",
        "w2": "success",
        "w3": "prepared",
    }
    assert said["w1"]["message"].startswith("waits for gw2, which failed: ")
    assert simulator.double() == {}


def most_away(submissions: list[tuple[str, list[str]]], bad: set[str]) -> int:
    """Return how many nodes were away at once at most, by what was submitted."""
    away: set[str] = set()
    most = 0
    for action, nodes in submissions:
        away = away.union(nodes) if action == "destroy_nodes" else away
        most = max(most, len(away))
        away = away.difference(set(nodes) - bad) if action == "deploy_nodes" else away
    return most


@pytest.mark.endurance
def test_a_rack_is_redeployed_four_at_a_time_and_a_bad_image_stops_it(
    slipway: RunningSlipway, start_simulator: StartSimulator
) -> None:
    simulator = start_simulator()
    slipway.connect("rolling", simulator.url)

    def design(image: str) -> str:
        made = [node(name) for name in NAMES]
        return site([{**one, "data": {**one["data"], "platform": {"image": image}}} for one in made], [RACK])

    assert slipway.deploy("rolling", design("old"))[1] == "success"
    before = len(simulator.submissions())
    assert slipway.deploy("rolling", design("new"), "update_site")[1] == "failed", "nobody allowed it"
    assert len(simulator.submissions()) == before
    simulator.script("n02", "deploy", "fail")
    _, state = slipway.deploy("rolling", design("new"), "update_site", allow_redeploy=True, many_redeploys=True)
    assert state == "success", "19 of 20 are enough"
    rolled = simulator.submissions()[before:]
    assert most_away(rolled, {"n02"}) == 4
    assert [len(nodes) for action, nodes in rolled if action == "destroy_nodes"] == [4, 3, 3, 3, 3, 3, 1]

    before = len(simulator.submissions())
    for name in NAMES:
        simulator.script(name, "deploy", "fail")
    run_id, state = slipway.deploy("rolling", design("bad"), "update_site", allow_redeploy=True, many_redeploys=True)
    assert state == "failed"
    touched = {name for _, nodes in simulator.submissions()[before:] for name in nodes}
    said = {one["name"]: one for one in slipway.report(run_id, "update_site")["nodes"]}
    # n02 stood failed before, and counts among those that are away.
    assert len(touched) == 4
    assert all("stays as it is" in said[name]["message"] for name in set(NAMES) - touched)
    assert simulator.double() == {}
