"""An action whose run is gone is shown as closing it will leave it, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from site_engine.actions.dead_actions import action_for_display, close_without_report
from site_engine.trees.status_trees import action_tree
from site_store import ActionRecord, NewPlan, PlannedGroup, SiteStore
from site_store.operations.tasks import Tasks
from slipway_api.actions.groups import action_nodes, shown_groups
from slipway_api.actions.view import describe
from slipway_api.pages.actions import groups_of, headline
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import FakeClock, Scenario
from tests.support.stores import new_store


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Scenario]:
    clock = FakeClock()
    with new_store() as url, SiteStore.open(url, clock) as store:
        yield Scenario(store, clock)


def shown(store: SiteStore, action: ActionRecord) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the groups of an action without the times of their ends, and its nodes."""
    groups = shown_groups(store, action)
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
    assert [(group["state"], group["reason"]) for group in groups] == [
        ("failure", "interrupted"),
        ("pending", None),
    ]
    assert groups[0]["counts"]["unknown"] == 2
    assert [node["state"] for node in nodes] == ["unknown", "unknown", "not_started"]
    assert shown(site.store, site.store.actions.get(action.id)) == before
    close_without_report(site.store, action.id)
    assert shown(site.store, site.store.actions.get(action.id)) == (groups, nodes)


class Planless:
    """Stands for Airflow: it has the run."""

    def run_state(self, dag_id: str, run_id: str) -> str:
        return "running"


def test_an_answer_is_of_one_moment_though_groups_appear_while_it_is_made(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    counted = Tasks.node_counts

    def plan_meanwhile(tasks: Tasks, action_id: str) -> Any:
        found = counted(tasks, action_id)
        plan = [PlannedGroup(Group("a", critical=True), ("n1",))]
        site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
        return found

    monkeypatch.setattr(Tasks, "node_counts", plan_meanwhile)
    airflow = cast(Any, Planless())
    before, shown = describe(site.store, airflow, action, 5)
    assert (shown["groups"], shown["nodes"]) == ([], [])
    after, shown = describe(site.store, airflow, action, 5)
    assert [group["counts"]["total"] for group in shown["groups"]] == [1]
    assert [node["name"] for node in shown["nodes"]] == ["n1"]
    assert before.version <= after.version


def test_rule_28_a_blocked_group_whose_task_only_judges_it_is_not_said_to_be_preparing(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    groups = [Group("a", critical=True), Group("b", critical=True, depends_on=("a",))]
    plan = [PlannedGroup(one, (f"n-{one.name}",)) for one in groups]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), {}))
    site.fail(site.open(action, "a"))
    site.open(action, "b")
    blocked = shown_groups(site.store, action)[1]
    assert (blocked["state"], blocked["started"]) == ("pending", None)
    tree = action_tree(site.store, action.id)
    shown = groups_of(tree.root)
    assert "Working on group b" not in headline(tree, shown)
    assert (shown[1].status, shown[1].messages) == ("error", ("blocked by a: deploy_criteria",))
