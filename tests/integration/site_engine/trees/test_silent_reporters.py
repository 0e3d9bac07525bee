"""Reporters that say nothing any more, or never did: the tree and the list of owners agree on them (rule 30)."""

from __future__ import annotations

import pytest

from site_engine.monitoring.owners import list_owners
from site_engine.trees.status_trees import site_tree
from site_store import NewLeaf
from site_store.tables import node
from strategy_lib.status.site import WATCHING
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, commit
from tests.integration.site_store.scenario import SITE, Scenario


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
