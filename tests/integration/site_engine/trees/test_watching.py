"""Rule 30: a site at which nobody looks is not green; its nodes keep their word."""

from __future__ import annotations

from typing import Any

from site_engine.monitoring.metric_samples import read_samples
from site_engine.monitoring.owners import list_owners
from site_engine.trees.status_trees import site_tree, site_trees, tree_to_dict
from site_store.node_states.user_states import lease_of
from strategy_lib.status.entry import EntryKind
from tests.integration.site_engine.trees.tree_scenario import commit
from tests.integration.site_store.scenario import SITE, Scenario


def _root(site: Scenario) -> dict[str, Any]:
    root: dict[str, Any] = tree_to_dict(site_tree(site.store, SITE, depth=None))["root"]
    return root


def _watching(site: Scenario) -> dict[str, Any]:
    found: list[dict[str, Any]] = [one for one in _root(site)["children"] if one["kind"] == "watching"]
    (watching,) = found
    return watching


def test_rule_30_a_site_without_a_new_answer_is_unresponsive_and_its_nodes_keep_their_word(site: Scenario) -> None:
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    site.store.provisioner_lists.save(SITE, "drydock", {})
    before = _root(site)
    token = site.store.trees.site_token(SITE)
    assert _watching(site)["status"] == "success"
    site.clock.move(61)
    after = _root(site)
    assert _watching(site)["status"] == "unresponsive"
    assert after["status"] == "unresponsive"
    assert [one["status"] for one in after["children"][:1]] == [one["status"] for one in before["children"][:1]]
    assert site.store.trees.site_token(SITE) != token
    samples = {(one.metric.name, one.labels): one.value for one in read_samples(site.store)}
    assert samples["slipway_site_watched", (SITE,)] == 0


def test_rule_30_it_is_said_who_is_silent(site: Scenario) -> None:
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    site.store.provisioner_lists.save(SITE, "drydock", {})
    site.clock.move(61)
    assert "no controller runs" in _watching(site)["messages"][0]
    # The list of owners judges by the same lease.
    assert site.store.leases.take("controller", "host:1", 10) is not None
    assert "provisioner:drydock has not listed the nodes since" in _watching(site)["messages"][0]


def test_rule_30_an_answer_counts_for_three_times_the_pace_of_the_site(site: Scenario) -> None:
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    held = site.store.leases.take(lease_of(SITE), "host:1", 1000)
    assert held is not None
    site.store.provisioner_lists.save(SITE, "drydock", {})
    site.store.provisioner_lists.note_pace(held, SITE, 100)
    site.clock.move(299)
    assert _watching(site)["status"] == "success"
    site.clock.move(2)
    assert _watching(site)["status"] == "unresponsive"


def test_rule_30_a_site_that_was_never_looked_at_has_a_minute(site: Scenario) -> None:
    assert site_tree(site.store, "another").root.children == ()
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    assert _watching(site)["messages"] == ["not looked at yet"]
    site.clock.move(61)
    assert _watching(site)["status"] == "unresponsive"


def test_rule_30_a_controller_that_is_gone_is_among_the_owners(site: Scenario) -> None:
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    (controller,) = [one for one in list_owners(site.store).owners if one.name == "controller"]
    assert (controller.alive, [work.site for work in controller.expected]) == (False, [SITE])
    assert site.store.leases.take("controller", "host:1", 10) is not None
    (controller,) = [one for one in list_owners(site.store).owners if one.name == "controller"]
    assert controller.alive


def test_rule_30_each_of_several_sites_is_watched_for_itself(site: Scenario) -> None:
    """Sites are read together by one statement."""
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    site.clock.move(30)
    for name in ("second", "third"):
        site.store.revisions.commit(name, {"design": "x"}, [], "x", "ann")
    site.store.provisioner_lists.save("second", "drydock", {})
    site.clock.move(40)
    names = [SITE, "second", "third"]
    found = {}
    for name, tree in zip(names, site_trees(site.store, names), strict=True):
        (watching,) = [one for one in tree.own.children if one.kind is EntryKind.WATCHING]
        found[name] = (str(watching.status), [owner.name for owner in watching.owners])
    assert found == {
        SITE: ("unresponsive", ["controller"]),
        "second": ("success", ["controller", "provisioner:drydock"]),
        "third": ("success", ["controller"]),
    }
    samples = {(one.metric.name, one.labels): one.value for one in read_samples(site.store)}
    assert [samples["slipway_site_watched", (name,)] for name in names] == [0, 1, 1]
