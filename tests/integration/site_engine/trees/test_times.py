"""When something was updated first and last is the same at every depth of a tree; and for which version a node is."""

from __future__ import annotations

from typing import Any

import pytest

from site_engine.trees.status_trees import action_tree, site_tree, tree_to_dict
from site_store import StepState, tables
from site_store.trees import tree_times
from site_store.trees.tree_queries import sites_query
from strategy_lib.phase import Phase
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, child, commit, group, tree
from tests.integration.site_store.scenario import SITE, Scenario

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
