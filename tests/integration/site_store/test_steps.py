"""Steps: what a task has noted stays, until a later attempt begins."""

from __future__ import annotations

from datetime import timedelta

from site_store import StepState
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
