"""Leaves of reporters in trees: they roll up at every depth, and nothing else stands in their place (rules 29, 30)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import site_engine.trees.status_trees as status_trees
from site_engine.trees.reported_leaves import find_misplaced
from site_engine.trees.status_trees import action_tree, site_tree, walk_action, walk_site
from site_store import ActionState, NewLeaf
from site_store.tables import node
from strategy_lib.phase import Phase
from strategy_lib.status.entry import Entry, EntryKind
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, commit
from tests.integration.site_store.scenario import SITE, Scenario

BAD = NewLeaf("one/n1", "fan", "error", "too loud")


def report(site: Scenario, *leaves: NewLeaf, action_id: str = "", interval: float = 60) -> None:
    made = site.store.reporters.create(SITE, "burn-in", "ann")
    site.store.reporters.report(made.token, SITE, leaves, action_id, interval=interval)


def done(site: Scenario, names: Sequence[str]) -> None:
    """Commit nodes in one group, all of them as wanted."""
    commit(site, 1, dict.fromkeys(names, "a"), one=names)
    change(site, node, node.c.site == SITE, done_digest="a", done_revision=1, owner=PROVISIONER)


def only(entry: Entry) -> Entry:
    (child,) = (one for one in entry.children if one.kind is not EntryKind.WATCHING)
    return child


def test_rule_29_in_an_action_that_is_over_a_silent_reporter_is_history(site: Scenario) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    action = site.running({"one": ["n1"]})
    group = site.open(action, "one")
    site.do(group, Phase.PREPARE)
    site.do(group, Phase.DEPLOY)
    report(site, NewLeaf("deploy_group/one", "burn", "processing"), action_id=action.id)
    site.store.actions.close(action.id, ActionState.SUCCESS, "fine")
    before = action_tree(site.store, action.id).root
    site.clock.move(1000)
    after = action_tree(site.store, action.id).root
    assert (after.status, after.counts) == (before.status, before.counts)
    stage = next(child for child in after.children if child.name == "deploy_group")
    assert [leaf.status for leaf in only(stage).children if leaf.name == "burn"] == ["processing"]


@pytest.mark.parametrize(("revision", "status"), [(1, "pending"), (2, "success"), (None, "success")])
def test_rule_29_a_leaf_about_an_older_revision_is_pending(site: Scenario, revision: int | None, status: str) -> None:
    done(site, ["n1"])
    commit(site, 2, {"n1": "a"})
    report(site, NewLeaf("one", "burn", "success", None, revision))
    leaf = only(only(site_tree(site.store, SITE).root))
    assert leaf.status == status
    assert leaf.messages == (("burn: reported of revision 1, wanted is revision 2",) if revision == 1 else ())


@pytest.mark.parametrize("most", [1, 1000], ids=["node left out", "node read"])
def test_a_leaf_below_a_node_counts_at_every_depth(site: Scenario, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_trees, "MOST_LEAVES", most)
    done(site, ["n0", "n1"])
    report(site, BAD, NewLeaf("one", "rack", "success"))
    for depth in (0, 1, 2, None):
        root = site_tree(site.store, SITE, depth).root
        assert (root.status, root.messages, root.leaves) == ("error", ("fan: too loud",), 4)
        assert (only(root).status, only(root).leaves) == ("error", 4)


def test_a_stream_has_the_leaves_below_nodes(site: Scenario) -> None:
    done(site, ["n1"])
    report(site, BAD)
    lines = {tuple(line["path"]): line["status"] for line in walk_site(site.store, SITE) if "path" in line}
    assert lines.pop(("watching",)) == "success"
    assert lines == {(): "error", ("one",): "error", ("one", "n1"): "error", ("one", "n1", "fan"): "error"}
    action = site.running({"one": ["n1"]})
    report(site, BAD._replace(parent="deploy_group/one/deploy/n1"), action_id=action.id)
    found = {tuple(line["path"]): line for line in walk_action(site.store, action.id) if "path" in line}
    place = ("deploy_group", "one", "deploy", "n1")
    assert (found[place]["status"], found[*place, "fan"]["status"]) == ("error", "error")
    assert "children" not in found[place]


def test_a_group_that_comes_while_a_site_is_streamed_is_in_the_next_reading(site: Scenario) -> None:
    done(site, ["n1"])
    lines = walk_site(site.store, SITE)
    assert "token" in next(lines)
    commit(site, 2, {"n2": "a"}, late=["n2"])
    paths = [tuple(line["path"]) for line in lines]
    assert all(path[:-1] in paths for path in paths if path)


def test_a_leaf_stands_below_an_entry_and_under_a_name_of_its_own(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "free": "a"}, one=["n1"])
    places = [("one", "x"), ("one/n1", "x"), ("no group/free", "x"), ("", "x")]
    assert find_misplaced(site.store, SITE, "", places) == ([], [])
    wrong = [("one/free", "x"), ("one/none", "x"), ("nothing", "x"), ("no group/n1", "x")]
    assert find_misplaced(site.store, SITE, "", wrong).missing == sorted(path for path, _ in wrong)
    taken = [("", "one"), ("one", "n1")]
    assert find_misplaced(site.store, SITE, "", [*taken, ("one", "free")]).taken == taken
    action = site.running({"one": ["n1"]})
    places = [("deploy_group/one", "deploy"), ("deploy_group/one/deploy", "n1"), ("deploy_group/one/deploy", "free")]
    assert find_misplaced(site.store, SITE, action.id, places).taken == places[:2]
