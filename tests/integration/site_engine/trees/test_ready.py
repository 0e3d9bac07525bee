"""The phase ready in the tree of an action, and how it counts (rule 58)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from site_engine.trees.nodes import node_history
from site_store import ActionRecord, GroupRecord, NewPlan, OperationStatus, PlannedGroup
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group, Ready
from tests.integration.site_engine.trees.tree_scenario import AIRFLOW, child, group, tree
from tests.integration.site_store.scenario import Scenario, outcome

pytestmark = pytest.mark.usefixtures("site")


def planned(site: Scenario, **groups: Sequence[str]) -> ActionRecord:
    """An action with these groups, of which "asks" asks whether its nodes are ready."""
    action = site.action()
    site.store.locks.acquire(action.id)
    plan = [
        PlannedGroup(Group(name, critical=True, ready=Ready(60) if name == "asks" else None), tuple(nodes))
        for name, nodes in groups.items()
    ]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
    return action


def deployed(site: Scenario, action: ActionRecord) -> GroupRecord:
    record = site.open(action, "asks")
    site.do(record, Phase.PREPARE)
    site.do(record, Phase.DEPLOY)
    return record


def test_rule_31_the_phase_is_pending_from_the_plan_on(site: Scenario) -> None:
    action = planned(site, asks=["n1", "n2"], plain=["n2", "n3"])
    root = tree(site, action)
    phases = group(root, "asks")["children"]
    assert [one["name"] for one in phases] == ["prepare", "deploy", "ready"]
    assert phases[2]["counts"] == {"pending": 2}
    assert child(phases[2], "n1")["owners"][0]["name"] == AIRFLOW
    assert [one["name"] for one in group(root, "plain")["children"]] == ["prepare", "deploy"], "it does not ask"
    assert root["counts"] == {"pending": 3}


def test_a_node_is_where_ready_is_once_it_is_deployed(site: Scenario) -> None:
    action = planned(site, asks=["n1", "n2", "n3"])
    record = deployed(site, action)
    entry = group(tree(site, action), "asks")
    assert entry["counts"] == {"pending": 3}
    begun = site.begin(record, Phase.READY)
    assert begun.nodes == ("n1", "n2", "n3")
    site.store.operations.record_outcome(begun.op, outcome(["n1"]))
    entry = group(tree(site, action), "asks")
    assert entry["counts"] == {"success": 1, "processing": 2}
    assert child(entry, "ready")["counts"] == {"success": 1, "processing": 2}
    late = outcome((), ["n2", "n3"], notes={"n2": "deployed, but not ready within 60 s: Connection refused"})
    site.store.operations.record_outcome(begun.op, late, status=OperationStatus.COMPLETE, result="not ready")
    site.store.groups.finish(action.id, "asks", 1, GroupState.FAILURE, Reason.READY_CRITERIA)
    root = tree(site, action)
    entry = group(root, "asks")
    assert entry["counts"] == root["counts"] == {"success": 1, "error": 2}
    assert entry.get("not_started", 0) == 0
    assert child(entry, "deploy")["counts"] == {"success": 3}
    leaf = child(entry, "ready", "n2")
    assert leaf["messages"] == ["deployed, but not ready within 60 s: Connection refused"]
    assert leaf["op"] == begun.op
    assert "not ready within 60 s" in str(node_history(site.store, "north", "n2"))


def test_rule_31_a_node_that_was_not_deployed_is_not_asked(site: Scenario) -> None:
    action = planned(site, asks=["n1", "n2"])
    record = site.open(action, "asks")
    site.do(record, Phase.PREPARE)
    site.do(record, Phase.DEPLOY, outcome(["n1"], ["n2"]))
    begun = site.begin(record, Phase.READY)
    assert (begun.nodes, begun.left_out) == (("n1",), ())
    site.store.operations.record_outcome(begun.op, outcome(["n1"]), status=OperationStatus.COMPLETE, result="ready")
    site.fail(record)
    entry = group(tree(site, action), "asks")
    assert entry["counts"] == {"success": 1, "error": 1}
    assert child(entry, "ready", "n2")["messages"] == ["not started: its group ended with failure"]
    assert entry.get("not_started", 0) == 0, "its deploy failed"


def test_a_group_that_is_blocked_asks_nobody(site: Scenario) -> None:
    action = planned(site, plain=["n1"], asks=["n1"])
    record = site.open(action, "plain")
    site.do(record, Phase.PREPARE)
    site.do(record, Phase.DEPLOY)
    root = tree(site, action)
    assert group(root, "plain")["counts"] == {"success": 1}
    assert group(root, "asks")["counts"] == {"pending": 1}
