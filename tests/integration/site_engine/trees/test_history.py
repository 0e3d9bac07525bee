"""What is said of a node by itself is what the tree of its site says of it."""

from __future__ import annotations

from site_engine.trees.nodes import node_history
from site_engine.trees.status_trees import site_tree, tree_to_dict
from site_store import NewAction, NewPlan, PlannedGroup, tables
from strategy_lib.strategy import Group
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, child, commit
from tests.integration.site_store.scenario import SITE, Scenario


def test_rule_30_a_node_that_names_nobody_has_the_owner_that_is_expected(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    action = site.running({"one": ["n1"]}, digests={"n1": "a"})
    site.store.actions.decide_connection(action.id, PROVISIONER.removeprefix("provisioner:"))
    change(site, tables.node, tables.node.c.name == "n1", owner=None)
    site.store.owners.check_in(PROVISIONER, 60)
    site.clock.move(61)
    found = node_history(site.store, SITE, "n1")
    assert found is not None
    root = tree_to_dict(site_tree(site.store, SITE, 2))["root"]
    in_tree = child(root, "one", "n1")
    assert (found["node"]["owner"], found["node"]["status"]) == (PROVISIONER, "unresponsive")
    assert ([one["name"] for one in in_tree["owners"]], in_tree["status"]) == ([PROVISIONER], "unresponsive")


def test_a_dry_run_makes_no_error_of_a_node_that_it_would_not_submit(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"])
    made = site.store.actions.create(
        NewAction("update_site", SITE, 1, {}, "ann", context_marker=None, dry_run=True), exclusive=False
    )
    group = PlannedGroup(Group("one", critical=True), ("n1", "n2"))
    site.store.groups.save_plan(made.id, NewPlan([group], (), {"n1": "a", "n2": "a"}, (), {"n1": "design changed"}))
    for name, said in (("n1", "it would not be submitted: design changed"), ("n2", "a dry run submits nothing")):
        found = node_history(site.store, SITE, name)
        assert found is not None
        (action,) = found["actions"]
        assert {(one["status"], one["message"]) for one in action["phases"]} == {("pending", said)}
