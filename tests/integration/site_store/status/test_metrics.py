"""What the metrics are made of, and the text that comes of it."""

from __future__ import annotations

from datetime import timedelta

from site_engine.monitoring.metrics import GROUP_SECONDS, to_text
from site_engine.trees.metric_samples import read_samples
from site_store import ActionState, CallCount, CallKey, NewAction, SiteStore
from strategy_lib.phase import GroupState, Phase, Reason
from tests.integration.site_store.designs.desk import Desk, yaml
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, want


def test_durations_fall_into_their_buckets(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    action, record = site.opened({"a": ["n1"], "b": ["n2"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    clock.move(5)
    store.operations.mark_running(operation.op)
    clock.move(60)
    store.operations.finish(operation.op, operation.status.COMPLETE)
    assert store.groups.finish(action.id, "a", record.attempt, GroupState.SUCCESS, None)
    facts = store.metrics.read((1, 5, 60, 300))
    (queued,), (worked,), (group,) = facts.queue_seconds, facts.phase_seconds, facts.group_seconds
    assert (queued.labels, queued.bucket, queued.number, round(queued.seconds)) == ((SITE, "prepare"), 1, 1, 5)
    assert (worked.labels, worked.bucket, worked.number, round(worked.seconds)) == ((SITE, "prepare"), 2, 1, 60)
    assert (group.labels, group.bucket, group.number, round(group.seconds)) == ((SITE,), 3, 1, 65)
    assert facts.running == {(SITE, "deploy_site"): 1}
    assert facts.groups == {(SITE, "success", "", True): 1}


def test_what_ended_is_counted_by_how_and_a_dry_run_is_not(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.fail(site.open(action, "a"), Reason.PREPARE_CRITERIA)
    store.actions.close(action.id, ActionState.FAILED, "no")
    dry = store.actions.ensure("deploy_site", "dry", NewAction("deploy_site", SITE, None, {}, "ann", dry_run=True))
    store.actions.close(dry.id, ActionState.SUCCESS, "nothing")
    facts = store.metrics.read(GROUP_SECONDS.bounds)
    assert facts.ended == {(SITE, "deploy_site", "failed"): 1}
    assert facts.groups == {(SITE, "failure", "prepare_criteria", True): 1}
    assert facts.running == {}


def test_no_count_of_what_ended_falls_when_it_is_tried_again(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    action = site.running({"a": ["n1"]})
    clock.move(10)
    store.steps.begin(action.id, "deploy_group", 1, "a")
    opened = site.open(action, "a")
    clock.move(5)
    site.fail(opened, Reason.PREPARE_CRITERIA)
    store.actions.close(action.id, ActionState.FAILED, "no")
    store.locks.acquire(action.id)
    store.steps.begin(action.id, "deploy_group", 2, "a")
    again = site.open(action, "a", "again")
    once = store.metrics.read(GROUP_SECONDS.bounds)
    assert once.ended == {(SITE, "deploy_site", "failed"): 1}
    assert once.groups == {(SITE, "failure", "prepare_criteria", True): 1}
    assert [(one.bucket, one.number, one.seconds) for one in once.group_seconds] == [(1, 1, 5)]
    store.events.prune(clock.time + timedelta(days=1))
    assert store.groups.finish(action.id, "a", again.attempt, GroupState.SUCCESS, None)
    store.actions.close(action.id, ActionState.SUCCESS, "yes")
    twice = store.metrics.read(GROUP_SECONDS.bounds)
    assert twice.ended == {(SITE, "deploy_site", "failed"): 1, (SITE, "deploy_site", "success"): 1}
    assert twice.groups == {(SITE, "failure", "prepare_criteria", True): 1, (SITE, "success", "", True): 1}
    assert sum(one.number for one in twice.group_seconds) == 2


def test_the_text_has_everything_that_is_on_record(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    Desk(store).commit_texts({"a": yaml("a")}, notifications={"targets": []})
    want(store, 1, {"n1": "d1", "n2": "d2"})
    action = site.running({"a": ["n1"]})
    site.fail(site.open(action, "a"))
    store.owners.check_in("provisioner:mine", 60, {CallKey("nodes", "ok", 0): CallCount(3, 0.06)})
    store.owners.check_in("airflow:deploy_site", 60)
    clock.move(61)
    store.owners.check_in("provisioner:mine", 60)
    lines = to_text(read_samples(store)).splitlines()
    for line in (
        f'slipway_nodes{{site="{SITE}",status="pending"}} 2',
        f'slipway_actions_running{{site="{SITE}",kind="deploy_site"}} 1',
        f'slipway_group_outcomes_total{{site="{SITE}",state="failure",reason="deploy_criteria",critical="true"}} 1',
        f'slipway_group_duration_seconds_count{{site="{SITE}"}} 1',
        'slipway_provisioner_call_seconds_bucket{provisioner="mine",call="nodes",result="ok",le="0.05"} 3',
        'slipway_provisioner_call_seconds_sum{provisioner="mine",call="nodes",result="ok"} 0.06',
        'slipway_owner_unresponsive{owner="airflow:deploy_site"} 1',
        'slipway_owner_unresponsive{owner="provisioner:mine"} 0',
    ):
        assert line in lines, line
