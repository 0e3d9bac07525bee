"""First messages, and when something was updated: whatever the number of failures, and at each depth the same."""

from __future__ import annotations

from typing import Any

import pytest

from site_engine.trees.status_trees import action_tree, site_tree, site_trees, tree_to_dict
from site_store import ActionState, Claim, NewAction, StepState, tables
from site_store.trees import tree_times
from site_store.trees.tree_queries import sites_query
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, child, commit, group, tree
from tests.integration.site_store.scenario import SITE, Scenario, outcome
from tests.support.stores import counted_statements

NAMES = [f"n{number:02}" for number in range(30)]
ALONE, LEFT = "alone", "left"


def failing(site: Scenario) -> None:
    """Commit groups of which nearly all nodes have failed; one node of the last is undefined."""
    digests = dict.fromkeys([*NAMES, ALONE], "a")
    commit(site, 1, digests, many=NAMES[:24], some=NAMES[22:], well=NAMES[-1:], last=NAMES[:26])
    for name in NAMES[:-1]:
        change(site, tables.node, tables.node.c.name == name, status="error", error=f"{name} is silent")
    change(site, tables.node, tables.node.c.name == NAMES[25], status="bogus")
    change(site, tables.node, tables.node.c.name == NAMES[-1], done_digest="a", done_revision=1)
    change(site, tables.node, tables.node.c.name == ALONE, status="error", error="no power")
    left = {"site": SITE, "name": LEFT, "done_digest": "a", "done_revision": 1, "status": "error", "error": "locked"}
    site.store._database.write(lambda tx: tx.execute(tables.node.insert().values(**left)))


def messages(root: dict[str, Any]) -> dict[str, list[str]]:
    return {one["name"]: one["messages"] for one in root["children"]}


def test_each_group_has_the_first_messages_of_its_worst_nodes(site: Scenario) -> None:
    failing(site)
    found = messages(tree_to_dict(site_tree(site.store, SITE))["root"])
    assert found["many"] == [f"{name}: {name} is silent" for name in NAMES[:10]]
    assert found["well"] == []
    assert found["last"] == [f"{NAMES[25]}: {NAMES[25]} is silent"], "what is undefined is worse than an error"
    assert (found[NO_GROUP], found[TO_BE_REMOVED]) == ([f"{ALONE}: no power"], [f"{LEFT}: locked"])
    (listed,) = site_trees(site.store, [SITE])
    assert messages(tree_to_dict(listed)["root"]) == found


def test_the_messages_of_a_site_are_the_same_at_every_depth(site: Scenario) -> None:
    failing(site)
    roots = [tree_to_dict(site_tree(site.store, SITE, depth), depth)["root"] for depth in (1, 2, None)]
    assert messages(roots[0]) == messages(roots[1]) == messages(roots[2])
    assert len({tuple(root["messages"]) for root in roots}) == 1


def test_a_view_of_a_site_takes_three_statements_whatever_has_failed(site: Scenario) -> None:
    failing(site)
    with counted_statements(site.store) as said:
        site_tree(site.store, SITE)
    assert len(said) <= 3


def test_what_had_to_be_fixed_is_said_at_every_depth(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    record = site.open(action, "a")
    site.do(record, Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no PXE"}))
    site.do(record, Phase.DEPLOY)
    site.fail(record)
    again = site.open(action, "a", "again")
    site.clock.move(60)
    site.do(again, Phase.PREPARE)
    site.do(again, Phase.DEPLOY)
    assert site.store.groups.finish(action.id, "a", again.attempt, GroupState.SUCCESS, None)
    said = ["n1: had to be fixed: no PXE (succeeded at 2026-11-21 12:01:00 UTC)"]
    for depth in (2, 3, 4, None):
        root = tree_to_dict(action_tree(site.store, action.id, depth), depth)["root"]
        assert child(root, "deploy_group", "a")["messages"] == said, depth
        if depth != 2:
            phases = child(root, "deploy_group", "a")["children"]
            assert [(one["name"], one["status"], one["messages"]) for one in phases] == [
                ("prepare", "success", said),
                ("deploy", "success", []),
            ]


def test_what_had_to_be_fixed_in_a_step_on_nodes_is_said_at_every_depth(site: Scenario) -> None:
    targets = {"target_nodes": ["n1"]}
    store = site.store
    action = store.actions.ensure(
        "destroy_nodes", "run", NewAction("destroy_nodes", SITE, 1, targets, "ann", whole_site=False)
    )
    store.locks.acquire(action.id)
    for attempt, came in ((1, outcome((), ["n1"], notes={"n1": "disk is locked"})), (2, outcome(["n1"]))):
        store.steps.begin(action.id, "destroy_nodes", attempt)
        begun = store.operations.begin(
            Claim(action.id, SITE, None, attempt, Phase.DESTROY, ["n1"], "file:///design", None)
        )
        site.submit(begun)
        store.operations.record_outcome(begun.op, came, status=begun.status.COMPLETE, result="done")
        store.steps.leave(action.id, "destroy_nodes", attempt, StepState.SUCCESS)
    for depth in (1, 2, None):
        root = tree_to_dict(action_tree(store, action.id, depth), depth)["root"]
        (said,) = child(root, "destroy_nodes")["messages"]
        assert said.startswith("n1: had to be fixed: disk is locked (succeeded at "), depth


def test_a_node_whose_prepare_failed_says_so_first_at_its_deploy(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n3"]})
    record = site.open(action, "a")
    site.do(record, Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no PXE"}))

    def said(node: str) -> tuple[str, list[str]]:
        leaf = child(group(tree(site, action), "a"), "deploy", node)
        return leaf["status"], leaf["messages"]

    assert said("n1") == ("pending", ["its prepare did not succeed: no PXE"])
    site.fail(record, Reason.PREPARE_CRITERIA)
    assert site.store.actions.close(action.id, ActionState.FAILED, "critical group a failed")
    assert said("n1") == ("error", ["not started: its prepare did not succeed: no PXE"])
    assert said("n2") == ("error", ["not started: critical group a failed"])


TIMES = ("first_updated", "last_updated", "last_status", "last_status_age")


def times(entry: dict[str, Any]) -> list[Any]:
    return [entry[key] for key in TIMES]


def updated(site: Scenario) -> None:
    """Commit two groups; the nodes of one of them were updated, a minute apart."""
    commit(site, 1, {"n1": "a", "n2": "a", "n3": "a"}, one=["n1", "n2"], two=["n3"])
    for name in ("n1", "n2"):
        facts = {"done_digest": "a", "done_revision": 1, "owner": PROVISIONER}
        now = site.clock.time
        change(site, tables.node, tables.node.c.name == name, first_updated=now, last_updated=now, **facts)
        site.clock.move(60)


def test_the_times_of_a_site_are_the_same_at_every_depth(site: Scenario) -> None:
    begun = site.clock.time
    updated(site)
    roots = [tree_to_dict(site_tree(site.store, SITE, depth), depth)["root"] for depth in (0, 1, 2, None)]
    assert len({tuple(times(root)) for root in roots}) == 1
    first, last, _, age = times(roots[0])
    assert (first, age) == (begun.isoformat(), 60.0)
    assert len({tuple(times(child(root, "one"))) for root in roots[1:]}) == 1
    assert times(child(roots[1], "one"))[:2] == [first, last]
    assert times(child(roots[1], "two")) == [None] * 4


def test_the_groups_of_a_large_site_have_the_times_of_their_tasks(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_times, "MOST_NODES", 2)
    sites_query.cache_clear()
    try:
        updated(site)
        begun = site.clock.time.isoformat()
        action = site.running({"one": ["n1", "n2"], "two": ["n3"]})
        site.store.steps.begin(action.id, "deploy_group", 1, "one")
        site.clock.move(30)
        site.store.steps.leave(action.id, "deploy_group", 1, StepState.SUCCESS, group="one")
        ended = site.clock.time.isoformat()
        roots = [tree_to_dict(site_tree(site.store, SITE, depth), depth)["root"] for depth in (1, 2)]
    finally:
        sites_query.cache_clear()
    for root in roots:
        assert times(child(root, "one"))[:2] == [begun, ended]
        assert times(child(root, "two"))[:2] == [None, None]


def test_the_times_of_an_action_are_the_same_at_every_depth(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2"], "two": ["n2", "n3"]})
    site.clock.move(10)
    begun = site.clock.time
    opened = site.open(action, "one")
    site.do(opened, Phase.PREPARE)
    site.clock.move(10)
    site.do(opened, Phase.DEPLOY)
    site.clock.move(5)
    roots = [tree_to_dict(action_tree(site.store, action.id, depth), depth)["root"] for depth in (3, 4, None)]
    for path in (("one",), ("one", "prepare"), ("one", "deploy"), ("two", "deploy"), ()):
        found = {tuple(times(child(root, "deploy_group", *path))) for root in roots}
        assert len(found) == 1, path
        assert None not in found.pop(), path
    assert child(roots[0], "deploy_group", "one", "prepare")["first_updated"] == begun.isoformat()
    assert child(roots[0], "deploy_group", "one", "deploy")["last_status_age"] == 5.0


def test_rule_28_a_node_that_is_as_wanted_already_says_so(site: Scenario) -> None:
    action = site.running({"one": ["n1"]})
    this = (tables.task.c.action_id == action.id) & (tables.task.c.phase == Phase.DEPLOY)
    change(site, tables.task, this, status="success", wanted_version=4)
    leaf = child(group(tree(site, action), "one"), "deploy", "n1")
    assert (leaf["status"], leaf["messages"]) == ("success", ["as wanted already"])
