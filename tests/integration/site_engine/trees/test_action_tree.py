"""The tree of an action, from facts that the store really has."""

from __future__ import annotations

from site_engine.trees.status_trees import action_tree, tree_to_dict
from site_store import NewPlan, PlannedGroup
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.phase import Phase, Reason
from strategy_lib.strategy import Group
from tests.integration.site_engine.trees.tree_scenario import child
from tests.integration.site_store.scenario import Scenario, outcome


def test_the_tree_goes_from_the_action_over_groups_and_phases_to_the_nodes(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2"], "two": ["n2", "n3"]})
    group = site.open(action, "one")
    site.do(group, Phase.PREPARE)
    site.do(group, Phase.DEPLOY, outcome(["n1"], ["n2"], notes={"n2": "IPMI is silent"}))
    site.fail(group, Reason.DEPLOY_CRITERIA)
    tree = tree_to_dict(action_tree(site.store, action.id, depth=None))
    assert check_data("status_tree", tree["root"]) == []
    stage = child(tree["root"], "deploy_group")
    assert [one["name"] for one in stage["children"]] == ["one", "two"]
    one, two = stage["children"]
    assert one["status"] == "error"
    assert one["blame"] == {"role": "culprit", "group": "one", "message": "deploy_criteria"}
    assert one["messages"] == ["deploy_criteria", "n2: IPMI is silent"]
    assert one["counts"] == {"success": 1, "error": 1}
    assert child(one, "prepare")["status"] == "success"
    assert {node["name"]: node["status"] for node in child(one, "deploy")["children"]} == {
        "n1": "success",
        "n2": "error",
    }
    assert child(two, "deploy", "n2")["processed_by"] == "one"
    assert stage["leaves"] == 6
    assert tree["root"]["counts"] == stage["counts"] == {"success": 1, "error": 1, "pending": 1}


def test_the_depth_decides_what_is_read(site: Scenario) -> None:
    action = site.running({"one": ["n1"]})
    shallow = action_tree(site.store, action.id)
    assert [entry.children for entry in shallow.root.children[6].children[0].children] == [(), ()]
    assert [entry.left_out for entry in shallow.root.children[6].children[0].children] == [1, 1]
    assert "children" not in tree_to_dict(shallow, depth=0)["root"]


def test_what_is_pending_says_what_it_waits_for(site: Scenario) -> None:
    action = site.running({"one": ["n1"], "two": ["n2"]})

    def said(group: str, phase: str, node: str) -> list[str]:
        stage = child(tree_to_dict(action_tree(site.store, action.id, depth=None))["root"], "deploy_group")
        found: list[str] = child(stage, group, phase, node)["messages"]
        return found

    assert said("one", "prepare", "n1") == []
    assert said("two", "prepare", "n2") == ["waits for its turn: group one goes first"]
    group = site.open(action, "one")
    site.submit(site.begin(group, Phase.PREPARE))
    assert said("one", "deploy", "n1") == ["waits until it is prepared"]
    assert said("two", "deploy", "n2") == ["waits for its turn: group one goes first"]
    site.store.actions.set_paused(action.id, True)
    assert said("two", "prepare", "n2") == ["waits until the action goes on: it is paused"]


def test_groups_that_stand_alike_say_each_for_which_group_it_waits(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    chain = [Group(name, critical=True, depends_on=after) for name, after in (("a", ()), ("b", ("a",)), ("c", ("b",)))]
    plan = [PlannedGroup(group, (f"n-{group.name}",)) for group in chain]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
    stage = child(tree_to_dict(action_tree(site.store, action.id))["root"], "deploy_group")
    assert child(stage, "b", "prepare")["messages"] == child(stage, "b", "deploy")["messages"] == ["waits for group a"]
    assert child(stage, "c", "prepare")["messages"] == child(stage, "c", "deploy")["messages"] == ["waits for group b"]


def test_groups_that_wait_for_the_same_have_each_their_own_name_and_place(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    groups = [
        Group("a", critical=True),
        Group("b", critical=False),
        Group("c", critical=True),
        Group("d", critical=False),
    ]
    plan = [PlannedGroup(group, (f"n-{group.name}",)) for group in groups]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
    stage = child(tree_to_dict(action_tree(site.store, action.id))["root"], "deploy_group")
    found = [(one["name"], one["group"]["position"], one["group"]["critical"]) for one in stage["children"]]
    assert found == [("a", 0, True), ("b", 1, False), ("c", 2, True), ("d", 3, False)]
    waits = ["waits for its turn: group a goes first"]
    assert [one["messages"] for one in stage["children"]] == [[], waits, waits, waits]
    assert [one["counts"] for one in stage["children"]] == [{"pending": 1}] * 4
    assert stage["counts"] == {"pending": 4}
