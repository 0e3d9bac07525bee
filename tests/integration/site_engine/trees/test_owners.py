"""Rule 30: who is expected to report, also the controller and reporters, and what is shown while it is not there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from site_engine.monitoring.owners import list_owners
from site_engine.trees.nodes import node_history, site_nodes
from site_engine.trees.status_trees import site_tree
from site_store import NewLeaf, NodeQuery, StepState
from site_store.status.leases import CONTROLLER
from site_store.tables import node
from strategy_lib.phase import GroupState, Phase
from strategy_lib.status.site import WATCHING
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
from tests.integration.site_store.scenario import SITE, Scenario


def test_rule_30_the_root_is_unresponsive_where_one_of_two_owners_never_started(site: Scenario) -> None:
    """The provisioner is there; Airflow never said a word. Each is expected from the plan on."""
    action = site.running({"one": ["n1"]})
    owned(site, action)
    for name in ("acquire", "load_design", "validate_design", "verify_site", "prepare_site", "plan_groups"):
        site.store.steps.begin(action.id, name, 1)
        site.store.steps.leave(action.id, name, 1, StepState.SUCCESS)
    site.clock.move(61)
    site.store.owners.check_in(PROVISIONER, 30)
    root = tree(site, action)
    assert root["status"] == "unresponsive"
    assert root["messages"] == ["airflow:deploy_site has never checked in"]
    assert [(owner["name"], owner["alive"]) for owner in group(root, "one")["owners"]] == [(AIRFLOW, False)]
    (provisioner,) = child(group(root, "one"), "prepare", "n1")["owners"]
    assert (provisioner["name"], provisioner["alive"], provisioner["status"]) == (PROVISIONER, True, "pending")
    site.store.owners.check_in(AIRFLOW, 30)
    assert tree(site, action)["status"] == "pending"


def test_rule_30_a_provisioner_that_is_gone_shows_at_the_root_and_comes_back(site: Scenario) -> None:
    action = site.running({"one": ["n1"]})
    owned(site, action)
    site.submit(site.begin(site.open(action, "one"), Phase.PREPARE))
    for owner in (AIRFLOW, PROVISIONER):
        site.store.owners.check_in(owner, 30)
    assert tree(site, action)["status"] == "processing"
    site.clock.move(31)
    site.store.owners.check_in(AIRFLOW, 30)
    assert group(tree(site, action), "one")["status"] == "unresponsive"
    assert tree(site, action)["status"] == "unresponsive"
    site.store.owners.check_in(PROVISIONER, 30)
    assert tree(site, action)["status"] == "processing"


def test_rule_30_what_is_under_way_is_unresponsive_while_airflow_that_reads_its_end_is_gone(site: Scenario) -> None:
    action = site.running({"one": ["n1"]})
    owned(site, action)
    site.submit(site.begin(site.open(action, "one"), Phase.PREPARE))
    for owner in (AIRFLOW, PROVISIONER):
        site.store.owners.check_in(owner, 30)
    assert tree(site, action)["status"] == "processing"
    # Past the lease of the task too.
    site.clock.move(61)
    site.store.owners.check_in(PROVISIONER, 30)
    root = tree(site, action)
    silence = f"{AIRFLOW} has not checked in since 2026-11-21 12:00:00 UTC"
    assert (root["status"], root["messages"]) == ("unresponsive", [silence, f"n1: {silence}"])
    leaf = child(group(root, "one"), "prepare", "n1")
    assert (leaf["status"], leaf["messages"]) == ("unresponsive", [silence])
    assert [(owner["name"], owner["alive"]) for owner in leaf["owners"]] == [(PROVISIONER, True), (AIRFLOW, False)]
    site.store.owners.check_in(AIRFLOW, 30)
    assert tree(site, action)["status"] == "processing"


def test_rule_30_the_site_misses_airflow_too_while_work_is_under_way(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"])
    action = site.running({"one": ["n1"]}, digests={"n1": "a"})
    owned(site, action)
    site.submit(site.begin(site.open(action, "one"), Phase.PREPARE))
    for owner in (AIRFLOW, PROVISIONER):
        site.store.owners.check_in(owner, 30)
    assert child(standing(site), "one", "n1")["status"] == "processing"
    site.clock.move(61)
    site.store.owners.check_in(PROVISIONER, 30)
    silence = f"{AIRFLOW} has not checked in since 2026-11-21 12:00:00 UTC"
    group_of_site = child(standing(site), "one")
    assert (group_of_site["status"], group_of_site["counts"]) == ("unresponsive", {"pending": 1, "unresponsive": 1})
    leaf = child(group_of_site, "n1")
    assert (leaf["status"], leaf["messages"]) == ("unresponsive", [silence])
    assert [(owner["name"], owner["alive"]) for owner in leaf["owners"]] == [(PROVISIONER, True), (AIRFLOW, False)]
    assert {one["node"]: one["status"] for one in site_nodes(site.store, SITE)["nodes"]} == {
        "n1": "unresponsive",
        "n2": "pending",
    }
    known = node_history(site.store, SITE, "n1")
    assert known is not None
    assert known["node"]["status"] == "unresponsive"
    site.store.owners.check_in(AIRFLOW, 30)
    assert standing(site)["status"] == "processing"


def test_rule_30_a_step_at_the_provisioner_is_unresponsive_while_airflow_is_gone(site: Scenario) -> None:
    action = destroying(site, done=False)
    for owner in ("airflow:destroy_nodes", PROVISIONER):
        site.store.owners.check_in(owner, 30)
    assert tree(site, action)["status"] == "processing"
    site.clock.move(61)
    site.store.owners.check_in(PROVISIONER, 30)
    assert tree(site, action)["status"] == child(tree(site, action), "destroy_nodes")["status"] == "unresponsive"


def test_rule_30_who_owes_nothing_is_not_missed(site: Scenario) -> None:
    action = site.running({"one": ["n1"], "two": ["n2"]})
    owned(site, action)
    opened = site.open(action, "one")
    site.do(opened, Phase.PREPARE)
    site.do(opened, Phase.DEPLOY)
    site.store.groups.finish(action.id, "one", 1, GroupState.SUCCESS, None)
    site.store.actions.set_paused(action.id, paused=True)
    site.clock.move(10_000)
    root = tree(site, action)
    assert group(root, "one")["status"] == "success"
    # Its turn has come, but the action is paused.
    assert group(root, "two")["status"] == "pending"
    site.store.actions.set_paused(action.id, paused=False)
    assert group(tree(site, action), "two")["status"] == "unresponsive"


def test_rule_30_a_group_whose_task_only_waits_for_its_turn_is_pending(site: Scenario) -> None:
    action = site.running({"one": ["n1"], "two": ["n2"], "three": ["n3"]})
    for name in ("one", "two", "three"):
        site.store.steps.begin(action.id, "deploy_group", 1, name)
    site.store.steps.leave(action.id, "deploy_group", 1, StepState.RESCHEDULED, group="three")
    shown = {name: group(tree(site, action), name)["status"] for name in ("one", "two", "three")}
    assert shown == {"one": "processing", "two": "pending", "three": "pending"}
    site.store.steps.leave(action.id, "deploy_group", 1, StepState.RETRIED, "the store is away", group="two")
    assert group(tree(site, action), "two")["messages"] == ["the store is away"]


def test_a_controller_was_seen_when_it_last_renewed_its_lease(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    held = site.store.leases.take(CONTROLLER, "first", 60)
    assert held is not None
    site.clock.move(20)
    renewed = site.store.leases.renew(held, 60).expires_at - timedelta(seconds=60)
    for seconds, alive in ((30, True), (40, False)):
        site.clock.move(seconds)
        page = list_owners(site.store)
        (found,) = (one for one in page.owners if one.name == CONTROLLER)
        assert (found.last_seen, found.interval, found.alive) == (renewed, 60, alive)


def test_a_page_of_nodes_has_another_token_once_nobody_looks_at_them(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    before = site.store.site_nodes.page(SITE, NodeQuery()).token
    assert before == site_tree(site.store, SITE).token
    site.clock.move(300)
    after = site.store.site_nodes.page(SITE, NodeQuery()).token
    assert after != before
    assert after == site_tree(site.store, SITE).token


def done(site: Scenario) -> None:
    """Commit a node, which is as wanted."""
    commit(site, 1, {"n1": "a"}, one=["n1"])
    change(site, node, node.c.site == SITE, done_digest="a", done_revision=1, owner=PROVISIONER)


def report(site: Scenario, leaf: NewLeaf, interval: float) -> None:
    made = site.store.reporters.create(SITE, "burn-in", "ann")
    site.store.reporters.report(made.token, SITE, [leaf], interval=interval)


def names(site: Scenario) -> list[str]:
    return [child.name for child in site_tree(site.store, SITE).root.children if child.name != WATCHING]


@pytest.mark.parametrize("status", ["success", "error", "processing", "pending"])
def test_rule_30_a_silent_reporter_is_unresponsive_whatever_its_last_word_was(site: Scenario, status: str) -> None:
    done(site)
    report(site, NewLeaf("one", "burn", status), 60)
    for seconds, shown, alive in ((59, status, True), (2, "unresponsive", False)):
        site.clock.move(seconds)
        (group,) = (child for child in site_tree(site.store, SITE).root.children if child.name == "one")
        assert [leaf.status for leaf in group.children] == [shown]
        assert reporter_is_alive(site) is alive


def test_rule_30_a_reporter_that_never_started_is_in_the_tree_and_among_the_owners(site: Scenario) -> None:
    done(site)
    made = site.store.reporters.create(SITE, "burn-in", "ann")
    for seconds, shown, alive in ((10, "pending", True), (120, "unresponsive", False)):
        site.clock.move(seconds)
        root = site_tree(site.store, SITE).root
        (leaf,) = (child for child in root.children if child.name == "reporter:burn-in")
        assert (leaf.status, root.status) == (shown, shown)
        assert reporter_is_alive(site) is alive
    site.store.reporters.report(made.token, SITE, [], interval=60)
    assert names(site) == ["one"]


def test_a_reporter_that_was_revoked_before_it_started_is_expected_no_more(site: Scenario) -> None:
    done(site)
    first, second = (site.store.reporters.create(SITE, "burn-in", "ann") for _ in range(2))
    for made, left in ((first, ["one", "reporter:burn-in"]), (second, ["one"])):
        site.store.reporters.revoke(SITE, made.record.id)
        assert names(site) == left


def reporter_is_alive(site: Scenario) -> bool:
    (found,) = (one for one in list_owners(site.store).owners if one.name == f"reporter:burn-in@{SITE}")
    return found.alive
