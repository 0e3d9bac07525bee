"""The tree of an action, from facts that the store has; and what is said of a node by itself (rules 27 to 29)."""

from __future__ import annotations

from typing import Any

import pytest

from site_engine.trees.nodes import action_nodes, node_history
from site_engine.trees.status_trees import action_tree, action_trees, site_tree, tree_to_dict
from site_store import ActionState, ApprovalAnswer, NewAction, NewPlan, PlannedGroup, tables
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.phase import Phase, Reason
from strategy_lib.strategy import ApprovalMoment, Group
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, child, commit, group, tree
from tests.integration.site_store.scenario import SITE, Scenario, outcome


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


def test_rule_29_a_commit_changes_the_token_of_an_action_that_is_over(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    action = site.running({"one": ["n1"]})
    site.store.actions.close(action.id, ActionState.SUCCESS, "fine")
    before = site.store.trees.known_action(action.id).token
    assert action_tree(site.store, action.id).token == before
    commit(site, 2, {"n1": "b"})
    after = site.store.trees.known_action(action.id).token
    assert after != before
    tree = action_tree(site.store, action.id)
    assert (tree.token, tree.header["superseded"]) == (after, "superseded by revision 2")


def test_rule_28_the_blame_of_a_refused_gate_names_who_refused_and_why(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    one, two = Group("one", critical=True), Group("two", critical=True, depends_on=("one",))
    site.store.groups.save_plan(action.id, NewPlan([PlannedGroup(one, ("n1",)), PlannedGroup(two, ("n2",))], (), {}))
    opened = site.open(action, "one")
    asked = site.store.approvals.ask(action.id, "one", 1, ApprovalMoment.BEFORE, "Go?")
    site.store.approvals.answer(asked, ApprovalAnswer.REFUSED, "ann", "not tonight")
    site.fail(opened, Reason.APPROVAL)
    root = tree(site, action)
    assert group(root, "one")["blame"]["message"] == "not approved: refused by ann: not tonight"
    assert group(root, "two")["messages"][0] == "blocked by one: not approved: refused by ann: not tonight"


SAID = "unknown stored value 'bogus'"


@pytest.mark.parametrize(
    ("table", "column"),
    [
        pytest.param(tables.group_run, "state", id="state of a group"),
        pytest.param(tables.group_run, "reason", id="reason of a group"),
        pytest.param(tables.approval, "moment", id="moment of an approval"),
        pytest.param(tables.approval, "answer", id="answer to an approval"),
        pytest.param(tables.action_step, "state", id="state of a step"),
        pytest.param(tables.action, "state", id="state of an action"),
    ],
)
def test_rule_27_an_unknown_value_is_undefined_is_counted_and_breaks_nothing(
    site: Scenario, table: Any, column: str
) -> None:
    action = site.running({"one": ["n1", "n2"], "two": ["n3"]})
    site.open(action, "one")
    site.store.steps.begin(action.id, "acquire", 1)
    site.store.approvals.ask(action.id, "one", 1, ApprovalMoment.BEFORE, "Go?")
    of_one = table.c.name == "one" if table is tables.group_run else True
    key = table.c.id if table is tables.action else table.c.action_id
    change(site, table, (key == action.id) & of_one, **{column: "bogus"})
    root = tree(site, action)
    assert root["status"] == "undefined"
    assert any(SAID in said for said in root["messages"])
    assert root["counts"]["undefined"] == 1
    assert sum(root["counts"].values()) == 4
    assert [found.root.status for found in action_trees(site.store, [action.id])] == ["undefined"]
    assert len(action_nodes(site.store, action.id)["nodes"]) == 6


def test_rule_27_the_group_of_an_unknown_value_says_so_and_the_others_go_on(site: Scenario) -> None:
    action = site.running({"one": ["n1"], "two": ["n2"]})
    site.open(action, "one")
    change(site, tables.group_run, tables.group_run.c.name == "one", state="bogus")
    root = tree(site, action)
    one = group(root, "one")
    assert (one["status"], one["counts"]) == ("undefined", {"pending": 1, "undefined": 1})
    assert one["messages"] == [f"one: {SAID}"]
    assert (one["group"]["state"], group(root, "two")["status"]) == ("bogus", "pending")
