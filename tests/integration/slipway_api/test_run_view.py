"""An action whose run is gone is shown as closing it will leave it, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from site_engine.actions.dead_actions import action_for_display, close_without_report
from site_store import ActionRecord, SiteStore
from slipway_api.actions.run_view import action_nodes, counts_of_nodes, run_view
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import FakeClock, Scenario, outcome
from tests.support.stores import new_store


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Scenario]:
    clock = FakeClock()
    with new_store() as url, SiteStore.open(url, clock) as store:
        yield Scenario(store, clock)


def shown(store: SiteStore, action: ActionRecord) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the groups of an action without the times of their ends, and its nodes."""
    groups = run_view(store, action)["groups"]
    return [{**group, "ended": None} for group in groups], action_nodes(store, action, groups, 5)


@pytest.mark.parametrize("prepared", [False, True])
def test_rule_24_groups_and_nodes_of_a_dead_action_are_shown_as_closing_it_leaves_them(
    site: Scenario, prepared: bool
) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n3"]})
    record = site.open(action, "a")
    if prepared:
        site.do(record, Phase.PREPARE)
    site.submit(site.begin(record, Phase.DEPLOY if prepared else Phase.PREPARE))
    before = shown(site.store, site.store.actions.get(action.id))
    assert [group["state"] for group in before[0]] == ["running", "pending"]
    groups, nodes = shown(site.store, action_for_display(site.store, action.id, None))
    assert [(group["state"], group["reason"], group["phase"]) for group in groups] == [
        ("failure", "interrupted", None),
        ("pending", None, None),
    ]
    assert groups[0]["counts"]["unknown"] == 2
    assert [node["state"] for node in nodes] == ["unknown", "unknown", "not_started"]
    assert shown(site.store, site.store.actions.get(action.id)) == before
    close_without_report(site.store, action.id)
    assert shown(site.store, site.store.actions.get(action.id)) == (groups, nodes)


def test_a_node_of_several_groups_is_counted_once(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n2", "n3"]})
    first = site.open(action, "a")
    site.do(first, Phase.PREPARE)
    site.do(first, Phase.DEPLOY, outcome(["n1"], ["n2"]))
    counts = counts_of_nodes(site.store.trees.action(action.id).counts)
    assert counts == {"total": 3, "success": 1, "failure": 1, "unknown": 0}
