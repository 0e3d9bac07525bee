"""Groups in batches in the tree of an action: what the others wait for, and why canaries stop a group (rule 59)."""

from __future__ import annotations

import pytest

from site_store import ActionRecord, OperationStatus, PlannedGroup
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group
from tests.integration.site_engine.trees.tree_scenario import child, group, owned, tree
from tests.integration.site_store.scenario import Scenario, outcome

pytestmark = pytest.mark.usefixtures("site")
NODES = ("n1", "n2", "n3", "n4")


def planned(site: Scenario, definition: Group) -> ActionRecord:
    """An action with a group of four nodes, of which nobody has begun one."""
    action = site.action()
    site.store.locks.acquire(action.id)
    site.store.groups.save_plan(action.id, [PlannedGroup(definition, NODES)], (), {})
    owned(site, action)
    return action


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (Group("g", critical=True, max_in_flight=2), "waits for its batch: 2 nodes are under way, of at most 2"),
        (Group("g", critical=True, max_in_flight="50%", canary=1), "2 nodes are under way, of at most 2; canaries go"),
        (Group("g", critical=True, canary="50%"), "waits for its batch: 2 nodes are under way; canaries go first"),
    ],
)
def test_rule_59_a_node_says_how_many_are_under_way_before_it(site: Scenario, definition: Group, said: str) -> None:
    action = planned(site, definition)
    record = site.open(action, "g")
    site.begin(record, Phase.PREPARE, ["n1", "n2"])
    prepare = child(group(tree(site, action), "g"), "prepare")
    assert said in child(prepare, "n3")["messages"][0]
    assert said in " ".join(prepare["messages"]) or prepare["status"] == "processing"


def test_rule_59_a_group_names_the_canaries_that_failed(site: Scenario) -> None:
    action = planned(site, Group("g", critical=True, canary=2))
    record = site.open(action, "g")
    begun = site.begin(record, Phase.PREPARE, ["n1", "n2"])
    lost = outcome(["n1"], ["n2"], notes={"n2": "no answer to PXE"})
    site.store.operations.record_outcome(begun.op, lost, status=OperationStatus.COMPLETE, result="failure")
    site.store.waits.hold(action.id, dict.fromkeys(("n3", "n4"), "the canaries failed: n2 (no answer to PXE)"))
    site.store.groups.finish(action.id, "g", 1, GroupState.FAILURE, Reason.CANARY)
    entry = group(tree(site, action), "g")
    assert entry["blame"]["message"] == "canaries failed: n2"
    assert (entry["group"]["reason"], entry["not_started"]) == ("canary", 3)
    leaf = child(entry, "prepare", "n3")
    assert leaf["messages"] == ["not started: the canaries failed: n2 (no answer to PXE)"]
