"""Rules 27 to 36 without rule 30, each on facts that the store really has."""

from __future__ import annotations

import ast
from datetime import datetime
from pathlib import Path

import site_engine.trees
from site_engine.trees.status_trees import action_tree, site_tree
from site_store import ActionState, NewPlan, OperationStatus, PlannedGroup, StepState
from site_store.tables import action_step, node, task
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.status.words import Status
from strategy_lib.strategy import Group
from tests.integration.site_engine.trees.tree_scenario import (
    AIRFLOW,
    PROVISIONER,
    change,
    child,
    commit,
    destroying,
    group,
    owned,
    standing,
    tree,
)
from tests.integration.site_store.scenario import SITE, Scenario, outcome


def test_rule_27_done_in_another_version_is_pending_and_with_a_dead_owner_unresponsive(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    change(site, node, node.c.name == "n1", done_digest="a", done_revision=1, owner=PROVISIONER)
    site.store.owners.check_in(PROVISIONER, 30)
    assert standing(site)["status"] == "success"
    commit(site, 2, {"n1": "b"})
    assert standing(site)["status"] == "pending"
    site.clock.move(31)
    assert standing(site)["status"] == "unresponsive"
    assert standing(site)["messages"] == ["n1: provisioner:drydock has not checked in since 2026-11-21 12:00:00 UTC"]


def test_rule_27_a_commit_does_not_hide_that_the_nodes_serve_and_says_since_when_the_site_is_behind(
    site: Scenario,
) -> None:
    commit(site, 1, {"n1": "a", "n2": "a", "n3": "a", "stray": "a"}, one=["n1", "n2"], two=["n2", "n3"])
    assert first_line(site) == ("behind the design: 3 nodes serve nothing", "healthy")
    change(site, node, node.c.name.in_(("n1", "n2")), done_digest="a", done_revision=1)
    site.clock.move(1)
    commit(site, 2, {"n1": "b", "n2": "a", "n3": "a", "stray": "a"})
    site.clock.move(1)
    commit(site, 3, {"n1": "b", "n2": "b", "n3": "a", "stray": "a"})
    root = standing(site)
    assert (root["status"], root["serves"]) == ("pending", "older")
    assert root["serves_counts"] == {"nothing": 2, "older": 2}
    assert root["pending_serves"] == {"older": 2}
    assert {one["name"]: one["serves_counts"] for one in root["children"] if one["kind"] == "group"} == {
        "one": {"older": 2},
        "two": {"nothing": 1, "older": 1},
        "no group": {"nothing": 1},
    }
    assert (child(root, "one", "n1")["serves"], child(root, "two", "n3")["serves"]) == ("older", "nothing")
    # Since the first revision that one of them waits for; nodes in no group do not count (rule 33).
    since = "2026-11-21 12:00:01 UTC"
    behind = f"behind the design since {since}: 2 nodes serve an older revision, 1 serves nothing"
    assert first_line(site) == (behind, "healthy")
    change(site, node, node.c.site == SITE, done_digest=node.c.wanted_digest, done_revision=3)
    assert first_line(site) == ("in sync with the design", "healthy")
    assert standing(site)["serves"] == "wanted"


def test_rule_27_a_site_is_healthy_unless_its_nodes_its_watch_or_a_reporter_say_otherwise(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"])
    change(site, node, node.c.site == SITE, done_digest="a", done_revision=1)
    drift = {"status": "error", "error": "drifted: power is off", "error_action": None}
    change(site, node, node.c.name == "n2", **drift)
    assert first_line(site) == ("behind the design: 1 node serves nothing", "not healthy: 1 node in error")
    site.clock.move(3600)
    sync, health = first_line(site)
    assert health.startswith("not healthy: 1 node in error; watching: nobody has looked at the nodes since")
    assert sync == "behind the design: 1 node serves nothing", "since when it serves nothing nobody knows"


def first_line(site: Scenario) -> tuple[str, str]:
    header = site_tree(site.store, SITE).header
    return header["sync"], header["health"]


def test_rule_28_from_the_stored_to_the_shown(site: Scenario) -> None:
    nodes = ["done", "fails", "lost", "prepared", "wanted"]
    plan = [
        PlannedGroup(Group("one", critical=True), tuple(nodes)),
        PlannedGroup(Group("two", critical=True, depends_on=("one",)), ("n2",)),
        PlannedGroup(Group("three", critical=True, depends_on=("two",)), ("n3",)),
    ]
    action = site.action()
    site.store.locks.acquire(action.id)
    site.store.groups.save_plan(action.id, NewPlan(plan, ["wanted"], {}))
    opened = site.open(action, "one")
    operation = site.submit(site.begin(opened, Phase.PREPARE))
    root = tree(site, action)
    assert child(group(root, "one"), "prepare", "done")["status"] == "processing"
    assert child(group(root, "one"), "prepare", "wanted")["status"] == "success"
    assert child(group(root, "two"), "prepare", "n2")["status"] == "pending"
    came = outcome(["done", "prepared"], ["fails"], ["lost"], {"fails": "no answer of its BMC"})
    site.store.operations.record_outcome(operation.op, came, status=OperationStatus.TIMED_OUT, result="")
    site.fail(opened, Reason.PREPARE_CRITERIA)
    root = tree(site, action)
    prepare = child(group(root, "one"), "prepare")
    assert {one["name"]: (one["status"], one["messages"]) for one in prepare["children"]} == {
        "done": ("success", []),
        "prepared": ("success", []),
        "fails": ("error", ["no answer of its BMC"]),
        "lost": ("error", ["timeout"]),
        "wanted": ("success", ["as wanted already"]),
    }
    assert child(group(root, "one"), "deploy", "done")["messages"] == ["not started: its group ended with failure"]
    assert (group(root, "one")["counts"]["error"], group(root, "one")["not_started"]) == (4, 2)
    assert child(root, "deploy_group")["not_started"] == root["not_started"] == 4
    blocked = "blocked by one: prepare_criteria"
    for name, member in (("two", "n2"), ("three", "n3")):
        assert group(root, name)["blame"] == {"role": "victim", "group": "one", "message": blocked}
        assert child(group(root, name), "prepare", member)["messages"] == [blocked]
        assert (group(root, name)["counts"], group(root, name)["not_started"]) == ({"error": 1}, 1)


def test_rule_28_a_blocked_group_is_blocked_also_when_its_task_has_judged_it_and_the_action_is_over(
    site: Scenario,
) -> None:
    groups = [
        PlannedGroup(Group("one", critical=True), ("n1",)),
        PlannedGroup(Group("two", critical=True, depends_on=("one",)), ("n2",)),
    ]
    action = site.action()
    site.store.locks.acquire(action.id)
    site.store.groups.save_plan(action.id, NewPlan(groups, [], {}))
    site.fail(site.open(action, "one"), Reason.DEPLOY_CRITERIA)
    site.fail(site.open(action, "two"), Reason.DEPENDENCY)
    site.store.actions.close(action.id, ActionState.FAILED, "critical groups one, two failed")
    for phase in ("prepare", "deploy"):
        entry = child(group(tree(site, action), "two"), phase, "n2")
        assert entry["status"] == "error"
        assert entry["messages"][0].startswith("blocked by one: ")


def test_rule_28_what_never_began_when_the_action_ended(site: Scenario) -> None:
    action = site.running({"one": ["n1"]})
    site.store.actions.close(action.id, ActionState.CANCELLED, "stopped by ann")
    entry = child(group(tree(site, action), "one"), "deploy", "n1")
    assert (entry["status"], entry["messages"]) == ("error", ["not started: stopped by ann"])


def test_rule_29_an_action_that_is_over_is_history(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    action = site.running({"one": ["n1"]}, digests={"n1": "a"})
    owned(site, action)
    opened = site.open(action, "one")
    site.do(opened, Phase.PREPARE)
    site.do(opened, Phase.DEPLOY)
    site.store.groups.finish(action.id, "one", 1, GroupState.SUCCESS, None)
    site.store.actions.close(action.id, ActionState.SUCCESS, "done")
    assert group(tree(site, action), "one")["status"] == "success"
    assert standing(site)["status"] == "success"
    commit(site, 2, {"n1": "b"})
    site.clock.move(10_000)
    assert group(tree(site, action), "one")["status"] == "success"
    assert action_tree(site.store, action.id).header["superseded"] == "superseded by revision 2"
    assert standing(site)["status"] in ("pending", "unresponsive")


def test_rule_31_all_is_pending_from_the_plan_on_with_its_owners(site: Scenario) -> None:
    action = site.running({"one": ["n1"], "two": ["n2"]})
    owned(site, action)
    root = tree(site, action)
    assert [entry["name"] for entry in root["children"]] == [
        *("acquire", "load_design", "validate_design", "plan_groups", "verify_site", "prepare_site"),
        *("deploy_group", "after_success", "report", "release"),
    ]
    assert {entry["status"] for entry in root["children"]} == {"pending"}
    assert {owner["name"] for entry in root["children"] for owner in entry.get("owners", ())} == {AIRFLOW}
    for name, member in (("one", "n1"), ("two", "n2")):
        for phase in ("prepare", "deploy"):
            leaf = child(group(root, name), phase, member)
            assert (leaf["status"], leaf["owners"][0]["name"], leaf["last_status"]) == ("pending", PROVISIONER, None)


def test_rules_31_and_32_nodes_stand_under_their_step_and_a_removal_is_a_success(site: Scenario) -> None:
    action = destroying(site)
    stage = child(tree(site, action), "destroy_nodes")
    assert (stage["kind"], stage["status"], stage["messages"]) == ("stage", "error", ["n2: disk is locked"])
    assert [(one["name"], one["status"]) for one in stage["children"]] == [("n2", "error"), ("n1", "success")]
    assert stage["counts"] == tree(site, action)["counts"] == {"success": 1, "error": 1}


def test_rules_32_and_33_what_left_the_design_is_to_be_removed_and_then_deleted(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a", "stray": "a"}, one=["n1"])
    change(site, node, node.c.name != "stray", done_digest="a", done_revision=1)
    commit(site, 2, {"n1": "a", "stray": "a"})
    root = standing(site)
    assert [(entry["name"], entry["status"]) for entry in root["children"]] == [
        ("one", "success"),
        ("no group", "pending"),
        ("to be removed", "pending"),
        ("watching", "success"),
    ]
    assert root["status"] == "pending"
    change(site, node, node.c.name == "n2", done_digest=None, done_revision=None, status="deleted")
    root = standing(site)
    assert child(root, "to be removed", "n2")["status"] == "deleted"
    assert child(root, "no group")["status"] == "pending"
    assert root["status"] == "success"
    assert root["counts"] == {"success": 1, "pending": 1}


def test_rule_34_a_node_of_two_groups_stands_under_each_and_counts_once(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"], two=["n2"])
    assert standing(site)["counts"] == {"pending": 2}
    assert standing(site)["leaves"] == 2
    action = site.running({"one": ["n1", "n2"], "two": ["n2"]})
    opened = site.open(action, "one")
    site.do(opened, Phase.PREPARE)
    site.do(opened, Phase.DEPLOY)
    root = tree(site, action)
    assert root["counts"] == {"success": 2}
    assert child(root, "deploy_group")["leaves"] == 4
    assert child(group(root, "two"), "deploy", "n2")["processed_by"] == "one"
    assert "processed_by" not in child(group(root, "one"), "deploy", "n2")


def test_rule_35_every_ended_row_says_who_what_and_when(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2"]})
    owned(site, action)
    opened = site.open(action, "one")
    site.do(opened, Phase.PREPARE)
    site.do(opened, Phase.DEPLOY, outcome(["n1"], ["n2"], notes={"n2": "disk is full"}))
    site.fail(opened)
    for phase in ("prepare", "deploy"):
        for leaf in child(group(tree(site, action), "one"), phase)["children"]:
            assert leaf["owners"][0]["name"] == PROVISIONER
            assert (leaf["op"], leaf["provisioner_task"]) in ((1, "task-1"), (2, "task-2"))
            assert datetime.fromisoformat(leaf["first_updated"]) <= datetime.fromisoformat(leaf["last_updated"])
            assert leaf["messages"] == (["disk is full"] if leaf["status"] == "error" else [])


def test_rule_35_a_node_that_is_blocked_has_the_time_at_which_that_was_decided(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    groups = (Group("one", critical=True), Group("two", critical=True, depends_on=("one",)))
    plan = [PlannedGroup(each, (node_name,)) for each, node_name in zip(groups, ("n1", "n2"), strict=True)]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
    opened = site.open(action, "one")
    site.clock.move(5)
    site.fail(opened)
    decided = site.clock.time.isoformat()
    site.clock.move(5)
    for phase in ("prepare", "deploy"):
        leaf = child(group(tree(site, action), "two"), phase, "n2")
        assert (leaf["status"], leaf["first_updated"], leaf["last_updated"]) == ("error", decided, decided)


def test_rule_35_a_word_that_nobody_knows_is_undefined_and_counted(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2"]})
    change(site, task, task.c.node == "n1", status="exploded")
    root = tree(site, action)
    assert (root["status"], root["counts"]) == ("undefined", {"undefined": 1, "pending": 1})
    assert root["messages"] == ["n1: unknown stored value 'exploded'"]
    site.store.steps.begin(action.id, "acquire", 1)
    change(site, action_step, action_step.c.name == "acquire", state="exploded")
    assert child(tree(site, action), "acquire")["status"] == "undefined"


def test_rule_36_trees_ask_neither_the_provisioner_nor_airflow() -> None:
    modules = [*Path(site_engine.trees.__file__).parent.glob("*.py")]
    assert len(modules) > 6
    imported = {
        name
        for path in modules
        for found in ast.walk(ast.parse(path.read_text()))
        for name in (
            [found.module or ""]
            if isinstance(found, ast.ImportFrom)
            else [alias.name for alias in found.names]
            if isinstance(found, ast.Import)
            else []
        )
    }
    assert {name.partition(".")[0] for name in imported} & {
        "provisioner_client",
        "api_client",
        "requests",
        "airflow",
    } == set()
    assert not any("provisioners" in name or "operations" in name for name in imported)


def test_an_action_from_before_there_were_facts_has_no_status_and_is_no_error(site: Scenario) -> None:
    action = site.action()
    site.store.actions.close(action.id, ActionState.FAILED, "long ago")
    change(site, action_step, action_step.c.action_id == action.id, state="pending")
    site.store._database.write(lambda tx: tx.execute(action_step.delete()))
    root = tree(site, action)
    assert root["status"] is None
    assert root["reason"] == "no facts are kept about it: the action is from before its status was recorded"


def test_every_word_has_a_status(site: Scenario) -> None:
    """Whatever state an action of a node is in, its entry has one of the seven words."""
    action = site.running({"one": ["n1"]})
    words = {str(status) for status in Status}
    for state in (*StepState, "pending"):
        site.store.steps.begin(action.id, "acquire", 1)
        change(site, action_step, action_step.c.name == "acquire", state=str(state))
        assert child(tree(site, action), "acquire")["status"] in words - {"undefined"}
