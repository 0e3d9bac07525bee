"""Groups in batches in the tree of an action: what the others wait for, and why canaries stop a group (rule 59)."""

from __future__ import annotations

import pytest

from site_store import ActionRecord, Claim, NewPlan, OperationStatus, PlannedGroup
from site_store.tables import site_group
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group, Share
from tests.integration.site_engine.trees.tree_scenario import change, child, commit, group, owned, standing, tree
from tests.integration.site_store.scenario import SITE, Scenario, outcome

pytestmark = pytest.mark.usefixtures("site")
NODES = ("n1", "n2", "n3", "n4")


def planned(site: Scenario, definition: Group) -> ActionRecord:
    """An action with a group of four nodes, of which nobody has begun one."""
    action = site.action()
    site.store.locks.acquire(action.id)
    site.store.groups.save_plan(action.id, NewPlan([PlannedGroup(definition, NODES)], (), {}))
    owned(site, action)
    return action


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (Group("g", critical=True, max_in_flight=Share(2)), "waits for its batch: 2 nodes are under way, of at most 2"),
        (
            Group("g", critical=True, max_in_flight=Share(50, is_percent=True), canary=Share(2)),
            "2 nodes are under way, of at most 2; canaries go",
        ),
        (
            Group("g", critical=True, max_in_flight=Share(2), canary=Share(1)),
            "waits for its batch: 2 nodes are under way, of at most 2",
        ),
        (
            Group("g", critical=True, canary=Share(50, is_percent=True)),
            "waits for its batch: 2 nodes are under way; canaries go first",
        ),
    ],
)
def test_rule_59_a_node_says_how_many_are_under_way_before_it(site: Scenario, definition: Group, said: str) -> None:
    action = planned(site, definition)
    record = site.open(action, "g")
    site.begin(record, Phase.PREPARE, ["n1", "n2"])
    prepare = child(group(tree(site, action), "g"), "prepare")
    (message,) = child(prepare, "n3")["messages"]
    assert said in message
    assert ("canaries" in message) == ("canaries" in said), "once they are done, nobody waits for them"
    assert said in " ".join(prepare["messages"]) or prepare["status"] == "processing"


def test_rule_59_a_group_names_the_canaries_that_failed(site: Scenario) -> None:
    action = planned(site, Group("g", critical=True, canary=Share(2)))
    record = site.open(action, "g")
    begun = site.begin(record, Phase.PREPARE, ["n1", "n2"])
    at_work = group(tree(site, action), "g")["group"]["batches"]
    assert (at_work["at"], at_work["of"], at_work["canaries"], at_work["most"]) == (1, 2, 2, None)
    lost = outcome(["n1"], ["n2"], notes={"n2": "no answer to PXE"})
    site.store.operations.record_outcome(begun.op, lost, status=OperationStatus.COMPLETE, result="failure")
    site.store.waits.hold(action.id, dict.fromkeys(("n3", "n4"), "the canaries failed: n2 (no answer to PXE)"))
    site.store.groups.finish(action.id, "g", 1, GroupState.FAILURE, Reason.CANARY)
    entry = group(tree(site, action), "g")
    assert entry["blame"]["message"] == "canaries failed: n2; no other node was begun"
    assert (entry["group"]["reason"], entry["not_started"]) == ("canary", 3)
    said = "ended with batch 1, and 2 nodes never began; 2 canaries first, then all others"
    assert entry["group"]["batches"]["text"] == said
    leaf = child(entry, "prepare", "n3")
    assert leaf["messages"] == ["not started: the canaries failed: n2 (no answer to PXE)"]


def test_rule_59_a_tree_counts_the_batches_of_the_present_attempt(site: Scenario) -> None:
    action = planned(site, Group("g", critical=True, max_in_flight=Share(1), canary=Share(1)))

    def said() -> str:
        return str(group(tree(site, action), "g")["group"]["batches"]["text"])

    assert said() == "goes in batches of at most 1 node, 1 canary first"
    site.open(action, "g")
    operations = site.store.operations
    for number, name in enumerate(("n1", "n2")):
        for phase in (Phase.PREPARE, Phase.DEPLOY):
            begun = operations.begin(Claim(action.id, SITE, "g", 1, phase, [name], "file:///design", number=number))
            site.submit(begun)
            operations.record_outcome(begun.op, outcome([name]), status=OperationStatus.COMPLETE, result="success")
    assert said() == "batch 2 of about 4; in batches of at most 1 node, 1 canary first"
    site.store.groups.finish(action.id, "g", 1, GroupState.FAILURE, Reason.INTERRUPTED)
    again = site.open(action, "g", "again")
    assert again.attempt == 2
    site.begin(again, Phase.PREPARE, ["n3"])
    assert said() == "batch 1 of about 2, its canaries; in batches of at most 1 node, 1 canary first"


def test_rule_59_a_site_says_which_of_its_groups_go_in_batches(site: Scenario) -> None:
    commit(site, 1, {"n1": "d", "n2": "d"}, g=["n1"], h=["n2"])
    change(site, site_group, site_group.c.name == "g", definition={"max_in_flight": "50%", "canary": 1})
    found = {one["name"]: one["group"].get("batches") for one in standing(site)["children"] if "group" in one}
    assert found["h"] is None
    assert found["g"]["text"] == "goes in batches of at most 1 node, 1 canary first"
