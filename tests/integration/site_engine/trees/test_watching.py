"""Rule 30: a site at which nobody looks is not green; its nodes keep their word."""

from __future__ import annotations

from typing import Any

from site_engine.controller.notifications import headline
from site_engine.monitoring.owners import OwnerView, list_owners
from site_engine.trees.metric_samples import read_samples
from site_engine.trees.nodes import node_history, site_nodes
from site_engine.trees.status_trees import site_tree, site_trees, tree_to_dict
from site_store import NewRevision
from site_store.node_table.node_facts import NodeQuery
from site_store.status.leases import lease_of
from site_store.tables import node
from strategy_lib.status.entry import EntryKind
from tests.integration.site_engine.trees.tree_scenario import change, commit
from tests.integration.site_store.scenario import SITE, Scenario, events_of


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
    assert site.store.leases.take("controller", "host:1", 10) is not None
    assert "no controller leads this site" in _watching(site)["messages"][0]
    assert [(one["name"], one["alive"]) for one in _watching(site)["owners"]] == [
        ("controller", True),
        ("provisioner:drydock", True),
    ]
    assert site.store.leases.take(lease_of(SITE), "host:1", 10) is not None
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
    # As the site says itself: it need not have been looked at yet, also right after a restore.
    site.store.restoring.settle()
    assert (_watching(site)["status"], _controller(site).alive) == ("success", True)
    assert [one["alive"] for one in _watching(site)["owners"]] == [True]
    site.clock.move(61)
    assert (_watching(site)["status"], _controller(site).alive) == ("unresponsive", False)
    assert [one["alive"] for one in _watching(site)["owners"]] == [False]
    controller = _controller(site)
    assert (controller.alive, [work.site for work in controller.expected]) == (False, [SITE])
    assert site.store.leases.take("controller", "host:1", 10) is not None
    assert _controller(site).alive


def _controller(site: Scenario) -> OwnerView:
    (found,) = [one for one in list_owners(site.store).owners if one.name == "controller"]
    return found


def _two_sites(site: Scenario) -> None:
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    site.store.revisions.commit(NewRevision("second", {"design": "x"}, [], "x", "ann"))
    for name in (SITE, "second"):
        site.store.provisioner_lists.save(name, "drydock", {})


def test_rule_30_a_site_that_is_stopped_is_neither_watched_nor_judged(site: Scenario) -> None:
    _two_sites(site)
    change(site, node, node.c.site == SITE, owner="provisioner:drydock")
    site.store.owners.check_in("provisioner:drydock", 30)
    site.store.site_stops.put(SITE, "demo: simulator stopped", after=30)
    site.clock.move(29)
    assert _watching(site)["messages"] == []
    token = site.store.trees.site_token(SITE)
    site.clock.move(2)
    # Nobody has written that: who said that it is watched was killed.
    assert site.store.trees.site_token(SITE) != token
    site.clock.move(31)
    watching = _watching(site)
    assert (watching["status"], watching["messages"]) == ("success", ["demo: simulator stopped"])
    assert _root(site)["status"] == "pending"
    assert site_nodes(site.store, SITE)["nodes"][0]["status"] == "pending"
    assert site.store.site_nodes.page(SITE, NodeQuery(standing="unresponsive")).nodes == []
    past = node_history(site.store, SITE, "n1")
    assert past is not None
    assert past["node"]["status"] == "pending"
    expected = {work.site for one in list_owners(site.store).owners for work in one.expected}
    assert expected == {"second"}
    samples = {(one.metric.name, one.labels): one.value for one in read_samples(site.store)}
    assert ("slipway_site_watched", (SITE,)) not in samples
    assert samples["slipway_site_watched", ("second",)] == 0


def test_rule_30_a_stopped_site_that_is_watched_again_has_a_minute(site: Scenario) -> None:
    _two_sites(site)
    site.store.site_stops.put(SITE, "demo: simulator stopped")
    site.clock.move(3600)
    site.store.site_stops.put(SITE, "demo: simulator stopped", after=600)
    site.clock.move(59)
    assert _watching(site)["status"] == "success"
    site.clock.move(2)
    assert _watching(site)["status"] == "unresponsive"


def test_rule_30_it_is_an_event_and_told_where_nobody_looks_and_where_somebody_does_again(site: Scenario) -> None:
    _two_sites(site)
    store, began = site.store, site.clock.time
    held = store.leases.take("controller", "host:1", 1000)
    assert held is not None
    assert store.leases.take(lease_of(SITE), "host:1", 1000) is not None
    site.clock.move(61)
    store.provisioner_lists.save("second", "drydock", {})
    for _ in range(2):
        store.watches.note(held, began)
    silent = "provisioner:drydock has not listed the nodes since 2026-11-21 12:00:00 UTC"
    assert [one.partition(";")[0] for one in events_of(store, SITE, "watching")] == [silent]
    store.provisioner_lists.save(SITE, "drydock", {})
    for _ in range(2):
        store.watches.note(held, began)
    again = "the nodes are looked at again; nobody did so since 2026-11-21 12:00:00 UTC"
    assert events_of(store, SITE, "watching")[1:] == [again]
    told = [one for one in reversed(store.outbox.newest(SITE)) if one.kind.startswith("site_")]
    assert [one.kind for one in told] == ["site_unwatched", "site_watched"]
    assert headline(told[1]) == f"Site {SITE}: watching is success: {again}"
    assert headline(told[0]).startswith(f"Site {SITE}: watching is unresponsive: {silent}")
    # Of the other one it is known that nobody looked until its list came.
    assert [one.kind for one in store.outbox.newest("second") if one.kind.startswith("site_")] == ["site_watched"]


def test_rule_30_a_controller_that_was_dead_tells_afterwards_that_nobody_looked(site: Scenario) -> None:
    _two_sites(site)
    site.clock.move(85)
    held = site.store.leases.take("controller", "host:2", 60)
    assert held is not None
    # Before its leader has listed the nodes nothing is held against anybody.
    assert site.store.watches.note(held, site.clock.time) == {}
    site.store.provisioner_lists.save(SITE, "drydock", {})
    assert list(site.store.watches.note(held, site.clock.time)) == [SITE]
    said = "the nodes are looked at again; nobody did so since 2026-11-21 12:00:00 UTC"
    assert events_of(site.store, SITE, "watching") == [said]


def test_rule_30_while_no_controller_runs_a_provisioner_is_not_blamed(site: Scenario) -> None:
    _two_sites(site)
    change(site, node, node.c.site == SITE, owner="provisioner:drydock")
    site.store.owners.check_in("provisioner:drydock", 30)
    assert site.store.leases.take("controller", "host:1", 60) is not None
    site.clock.move(40)
    (group,) = [one for one in _root(site)["children"] if one["name"] == "one"]
    assert group["messages"] == ["n1: provisioner:drydock has not checked in since 2026-11-21 12:00:00 UTC"]
    site.clock.move(21)
    (group,) = [one for one in _root(site)["children"] if one["name"] == "one"]
    unasked = "nobody asks provisioner:drydock: no controller runs; start `slipway controller`"
    assert (group["status"], group["messages"]) == ("unresponsive", [f"n1: {unasked}"])
    # Without its nodes the group says the same.
    (group,) = [one for one in site_tree(site.store, SITE).root.children if one.name == "one"]
    assert group.messages == (unasked,)


def test_rule_30_each_of_several_sites_is_watched_for_itself(site: Scenario) -> None:
    """Sites are read together by one statement."""
    commit(site, 1, {"n1": "d1"}, one=["n1"])
    site.clock.move(30)
    for name in ("second", "third"):
        site.store.revisions.commit(NewRevision(name, {"design": "x"}, [], "x", "ann"))
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
