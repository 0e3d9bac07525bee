"""The controller among the owners: last seen when it renewed its lease, and never in the future (rule 30)."""

from __future__ import annotations

from datetime import timedelta

from site_engine.monitoring.owners import list_owners
from site_engine.trees.status_trees import site_tree
from site_store import NodeQuery
from site_store.status.leases import CONTROLLER
from tests.integration.site_engine.trees.tree_scenario import commit
from tests.integration.site_store.scenario import SITE, Scenario


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
