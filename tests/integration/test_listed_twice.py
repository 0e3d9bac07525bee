"""A node that is listed twice: a simulator has a machine for each name of a region, and lists all of them."""

from __future__ import annotations

import pytest

from site_engine.actions.finalization import finalize_action
from site_engine.node_lists import read_list
from site_engine.node_states.checks import CheckedNode, check_as_left
from site_engine.plans.differences import node_difference
from site_engine.trees.nodes import node_history, site_nodes
from slipway_airflow import connections
from strategy_lib.phase import GroupState
from tests.support.driving import LOG, Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

NAMES = ("n1", "n2")
GROUPS = [group("all", NAMES, percent_successful_nodes=100)]
WITHOUT_REGION = "---\n" + site([node(name) for name in NAMES], GROUPS).split("---\n", 2)[2]
WITH_REGION = site([node("n1"), node("n2", tags=["other"])], GROUPS)
BEFORE, BETWEEN = ("listed twice, with different states: Deployed, " + word for word in ("New", "Ready"))
UNPROVEN = (
    f"it was {BETWEEN} right before its deploy was submitted, so that nothing proves what deployed it: "
    "needs redeploy (allow_redeploy, or redeploy_server)"
)


@pytest.fixture
def second(begin: Begin, simulator: Simulator) -> Driving:
    """Deploy a design without a region, and begin an update to one that has one."""
    assert "drydock/Region" not in WITHOUT_REGION
    first = begin(WITHOUT_REGION)
    first.group("all")
    finalize_action(first.store, first.action, {}, LOG, connections)
    first.store.locks.release(first.action.id)
    simulator.read(WITH_REGION)
    return begin(WITH_REGION, "run-2", update={})


def reason(driving: Driving, name: str) -> str:
    """Return why an update would do something to a node."""
    listed = read_list(driving.store, "alpha", "c", driving.connect())
    (record,) = [one for one in driving.store.nodes.of_site("alpha") if one.name == name]
    return node_difference(name, record.wanted_digest, record, listed[name].condition).reason


def test_a_node_that_is_listed_twice_says_so_before_it_is_deployed(second: Driving) -> None:
    listed = second.connect().nodes()["n1"]
    assert listed.status_name == BEFORE
    assert reason(second, "n1") == f"not as it was left: {BEFORE}"
    (n1, _) = site_nodes(second.store, "alpha")["nodes"]
    assert n1["provisioner_status"] == BEFORE
    seen = CheckedNode("alpha", "n1", listed.condition, listed.status_name, listed.power_state, {})
    assert check_as_left(seen).reason == BEFORE


def test_rule_13_a_node_that_was_listed_twice_before_its_deploy_is_unknown_and_never_only_never_done(
    second: Driving,
) -> None:
    ended = second.group("all")
    assert getattr(ended, "state", None) is GroupState.FAILURE
    assert second.states() == {"n1": "unknown", "n2": "unknown"}
    finalize_action(second.store, second.action, {}, LOG, connections)
    report = second.store.reports.get(second.action.id)
    assert report is not None
    assert {one["name"]: (one["state"], one["message"]) for one in report["nodes"]} == dict.fromkeys(
        NAMES, ("unknown", UNPROVEN)
    )
    for shown in site_nodes(second.store, "alpha")["nodes"]:
        assert (shown["status"], shown["message"]) == ("error", f"lost: {UNPROVEN}")
    past = node_history(second.store, "alpha", "n1")
    assert past is not None
    phases = [(one["phase"], one["status"], one["message"]) for one in past["actions"][0]["phases"]]
    assert phases == [("prepare", "success", ""), ("deploy", "error", f"lost: {UNPROVEN}")]
    assert reason(second, "n1") == f"not proven: lost: {UNPROVEN}"
