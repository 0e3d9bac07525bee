"""The first messages of the worst children: whatever the number of failures, and at each depth the same."""

from __future__ import annotations

from typing import Any

from site_engine.trees.status_trees import action_tree, site_tree, site_trees, tree_to_dict
from site_store import ActionState, Claim, NewAction, StepState, tables
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED
from tests.integration.site_engine.trees.tree_scenario import change, child, commit, group, tree
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
