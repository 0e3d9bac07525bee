"""What is said of a node by itself is what the tree of its site says of it."""

from __future__ import annotations

from site_engine.trees.nodes import node_history
from site_engine.trees.status_trees import site_tree, tree_to_dict
from site_store import tables
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
