"""A stored value that this version does not know is shown as undefined, is counted, and breaks no view (rule 27)."""

from __future__ import annotations

from typing import Any

import pytest

from site_engine.trees.nodes import action_nodes
from site_engine.trees.status_trees import action_trees
from site_store import tables
from strategy_lib.strategy import ApprovalMoment
from tests.integration.site_engine.trees.tree_scenario import change, group, tree
from tests.integration.site_store.scenario import Scenario

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
