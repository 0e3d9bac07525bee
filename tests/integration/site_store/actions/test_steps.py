"""Steps: what a task has noted stays, until a later attempt begins."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from site_store import NewAction, NewPlan, PlannedGroup, StepState
from site_store.tables import action_step
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, Scenario


def test_an_attempt_keeps_its_start_over_a_deferral_and_a_later_one_begins_anew(site: Scenario) -> None:
    action, steps, noon = site.action(), site.store.steps, site.clock.time
    steps.begin(action.id, "prepare_site", 1)
    site.clock.move(5)
    steps.leave(action.id, "prepare_site", 1, StepState.DEFERRED)
    steps.begin(action.id, "prepare_site", 1)
    (again,) = steps.of_action(action.id)
    assert (again.state, again.started, again.ended) == (StepState.RUNNING, noon, None)
    steps.leave(action.id, "prepare_site", 1, StepState.RETRIED, "no answer")
    (failed,) = steps.of_action(action.id)
    assert (failed.state, failed.message, failed.ended) == (StepState.RETRIED, "no answer", noon + timedelta(seconds=5))
    steps.begin(action.id, "prepare_site", 2)
    (later,) = steps.of_action(action.id)
    assert (later.attempt, later.started, later.ended, later.message) == (2, noon + timedelta(seconds=5), None, None)


def test_an_older_attempt_that_lives_on_changes_nothing(site: Scenario) -> None:
    action, steps = site.action(), site.store.steps
    steps.begin(action.id, "report", 2)
    before = steps.of_action(action.id)
    steps.begin(action.id, "report", 1)
    steps.leave(action.id, "report", 1, StepState.FAILED, "killed")
    assert steps.of_action(action.id) == before


def test_groups_have_rows_of_their_own_and_a_list_shows_the_others(site: Scenario) -> None:
    action, steps = site.action(), site.store.steps
    for name, group in (("acquire", None), ("deploy_group", "a"), ("deploy_group", "b")):
        steps.begin(action.id, name, 1, group)
        site.clock.move(1)
    steps.leave(action.id, "deploy_group", 1, StepState.SKIPPED, "dry run", "a")
    found = [(row.name, row.group, row.state) for row in steps.of_action(action.id)]
    assert found == [
        ("acquire", None, StepState.RUNNING),
        ("deploy_group", "a", StepState.SKIPPED),
        ("deploy_group", "b", StepState.RUNNING),
    ]
    (listing,) = site.store.actions.newest(SITE)
    assert listing.steps == {"acquire": StepState.RUNNING}


def _rows(site: Scenario, action_id: str) -> list[tuple[str, str, str, str | None, int | None]]:
    step = action_step.c
    query = select(step.name, step.group_name, step.state, step.owner, step.position).where(step.action_id == action_id)
    query = query.order_by(step.position, step.group_name)
    return site.store._database.read(lambda tx: [tuple(row) for row in tx.execute(query)])


def test_rule_31_steps_and_tasks_of_nodes_stand_there_as_pending_with_their_owners(site: Scenario) -> None:
    made = site.store.actions.create(
        NewAction(
            "redeploy_server",
            SITE,
            1,
            {},
            "ann",
            context_marker=None,
            steps={"acquire": 0, "destroy_nodes": 1, "report": 3},
            node_step=Phase.DESTROY,
            nodes=["n2", "n1"],
        ),
        exclusive=True,
    )
    owner = "airflow:redeploy_server"
    planned = [
        (name, "", "pending", owner, place) for place, name in ((0, "acquire"), (1, "destroy_nodes"), (3, "report"))
    ]
    assert _rows(site, made.id) == planned
    assert site.store.steps.of_action(made.id) == [], "none has begun"
    (listing,) = site.store.actions.newest(SITE)
    assert listing.steps == {}
    tasks = site.store.tasks.of_step(made.id, Phase.DESTROY)
    assert [(name, one.status, one.owner, one.is_untouched) for name, one in tasks] == [
        ("n1", TaskStatus.PENDING, "provisioner:slipway_provisioner", True),
        ("n2", TaskStatus.PENDING, "provisioner:slipway_provisioner", True),
    ]
    groups = [PlannedGroup(Group(name, critical=True), ("n1",)) for name in ("a", "b")]
    site.store.groups.save_plan(made.id, NewPlan(groups, (), {}, group_step=("deploy_group", 2)))
    assert _rows(site, made.id)[2:4] == [
        ("deploy_group", "a", "pending", owner, 2),
        ("deploy_group", "b", "pending", owner, 2),
    ]
    site.store.steps.begin(made.id, "deploy_group", 1, "a")
    (begun,) = site.store.steps.of_action(made.id)
    assert (begun.state, begun.owner, begun.position, begun.attempt) == (StepState.RUNNING, owner, 2, 1)


def test_what_was_begun_before_it_was_planned_stays_and_gets_its_place(site: Scenario) -> None:
    first = site.action()
    site.store.steps.begin(first.id, "acquire", 1)
    site.store.actions.ensure(
        "deploy_site", "run-1", NewAction("deploy_site", SITE, None, {}, "ann", steps={"acquire": 0, "report": 1})
    )
    rows = [(name, state, place) for name, _, state, _, place in _rows(site, first.id)]
    assert rows == [("acquire", "running", 0), ("report", "pending", 1)]
    site.store.actions.ensure(
        "deploy_site", "run-1", NewAction("deploy_site", SITE, None, {}, "ann", steps={"acquire": 0, "report": 1})
    )
    assert len(_rows(site, first.id)) == 2


def test_a_dry_run_plans_its_steps_and_nothing_of_its_nodes(site: Scenario) -> None:
    made = site.store.actions.create(
        NewAction(
            "destroy_nodes",
            SITE,
            1,
            {},
            "ann",
            context_marker=None,
            dry_run=True,
            steps={"destroy_nodes": 0},
            node_step=Phase.DESTROY,
            nodes=["n1"],
        ),
        exclusive=False,
    )
    assert len(_rows(site, made.id)) == 1
    assert site.store.tasks.of_step(made.id, Phase.DESTROY) == []


def test_a_step_that_succeeds_when_it_is_repeated_says_what_had_to_be_fixed_and_when(site: Scenario) -> None:
    action, steps = site.action(), site.store.steps
    steps.begin(action.id, "verify_site", 1)
    steps.leave(action.id, "verify_site", 1, StepState.RETRIED, "no answer")
    steps.begin(action.id, "verify_site", 2)
    steps.leave(action.id, "verify_site", 2, StepState.DEFERRED)
    steps.begin(action.id, "verify_site", 2)
    site.clock.move(60)
    steps.leave(action.id, "verify_site", 2, StepState.SUCCESS)
    (found,) = steps.of_action(action.id)
    assert (found.message, found.fixed) == (None, "no answer (succeeded at 2026-11-21 12:01:00 UTC)")
    steps.begin(action.id, "verify_site", 3)
    steps.leave(action.id, "verify_site", 3, StepState.FAILED, "again")
    (found,) = steps.of_action(action.id)
    assert (found.message, found.fixed) == ("again", None)
    steps.begin(action.id, "acquire", 1)
    steps.begin(action.id, "acquire", 2)
    steps.leave(action.id, "acquire", 2, StepState.SUCCESS)
    killed = next(row for row in steps.of_action(action.id) if row.name == "acquire")
    assert killed.fixed is not None
    assert killed.fixed.startswith("attempt 1 failed")
