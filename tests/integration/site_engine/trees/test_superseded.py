"""Rule 29: a commit supersedes an action that is over; its tree says so, and a waiting request is answered."""

from __future__ import annotations

from site_engine.trees.status_trees import action_tree
from site_store import ActionState
from tests.integration.site_engine.trees.tree_scenario import commit
from tests.integration.site_store.scenario import Scenario


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
