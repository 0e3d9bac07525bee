"""Actions and the lock of a site: one action at a time, and none that looks alive when it is not (rule 24)."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest

from site_store import (
    ActionRecord,
    ActionState,
    LockOwner,
    NewAction,
    NewPlan,
    NotFound,
    OperationStatus,
    SiteBusy,
    SiteStore,
    StoreError,
)
from site_store.sql.database import Database
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some
from tests.support.revisions import commit_design
from tests.support.stores import counted_statements


def test_an_action_is_made_once_for_each_dag_run(site: Scenario) -> None:
    store = site.store
    first = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", SITE, None, {"force": False}, "ann"))
    again = store.actions.ensure("deploy_site", "run-1", NewAction("update_site", "south", 7, {"force": True}, "bob"))
    other = store.actions.ensure("update_site", "run-1", NewAction("update_site", SITE, None, {}, "ann"))
    assert again == first
    assert first.state is ActionState.PENDING
    assert other.id != first.id
    assert len(first.id) == 26
    assert store.actions.of_run("deploy_site", "run-1") == first
    assert store.actions.of_run("deploy_site", "run-2") is None
    assert {one.action.id for one in store.actions.newest(SITE)} == {first.id, other.id}
    assert store.actions.newest("south") == []


def test_an_action_without_a_revision_means_the_newest_at_its_start(store: SiteStore) -> None:
    def revision_of(run_id: str, number: int | None = None) -> int | None:
        return store.actions.ensure("d", run_id, NewAction("deploy_site", SITE, number, {}, "ann")).revision

    assert revision_of("before") is None
    commit_design(store, SITE, "a: 1", [])
    assert revision_of("first") == 1
    commit_design(store, SITE, "a: 2", [])
    assert (revision_of("second"), revision_of("first"), revision_of("named", 1)) == (2, 1, 1)


def test_one_action_at_a_time_and_the_second_learns_of_the_first(site: Scenario) -> None:
    first, second = site.action("run-1"), site.action("run-2")
    site.store.locks.acquire(first.id)
    site.store.locks.acquire(first.id)
    assert site.store.actions.get(first.id).state is ActionState.RUNNING
    with pytest.raises(SiteBusy, match="deploy_site") as caught:
        site.store.locks.acquire(second.id)
    assert caught.value.owner == LockOwner(first.id, "deploy_site", "run-1", site.clock.time)
    assert first.id in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - made here
    assert site.store.actions.get(second.id).state is ActionState.PENDING


def test_an_action_without_a_run_holds_its_site_like_any_other(site: Scenario) -> None:
    store = site.store

    def create(name: str = SITE) -> ActionRecord:
        return store.actions.create(
            NewAction("deploy_site", name, 3, {}, "ann", context_marker=None), exclusive=True, has_run=False
        )

    first, other = create(), create("south")
    assert store.locks.acquire(first.id) is False
    assert store.locks.owner(SITE) == LockOwner(first.id, "deploy_site", None, site.clock.time)
    with pytest.raises(SiteBusy, match=f"action {first.id} \\(DAG 'deploy_site'\\) works on it since"):
        create()
    ran = site.action("run-1")
    found = {one.action.id: one.action.run_id for one in store.actions.newest()}
    assert found == {first.id: None, other.id: None, ran.id: "run-1"}
    store.actions.close(first.id, ActionState.SUCCESS, "done")
    assert store.locks.acquire(ran.id) is False


def test_release_frees_only_its_own(site: Scenario) -> None:
    first, second = site.action("run-1"), site.action("run-2")
    site.store.locks.acquire(first.id)
    site.store.locks.release(second.id)
    assert site.store.locks.owner(SITE) is not None
    site.store.locks.release(first.id)
    assert site.store.locks.owner(SITE) is None
    site.store.locks.acquire(second.id)


def test_rule_24_the_end_of_an_action_leaves_nothing_running(site: Scenario) -> None:
    action, ended = site.opened({"a": ["n1", "n2"], "b": ["n3"], "c": ["n4"]})
    site.do(ended, Phase.PREPARE, outcome(["n1"], ["n2"]))
    site.fail(ended)
    begun = site.open(action, "b")
    operation = site.submit(site.begin(begun, Phase.PREPARE))
    assert site.store.actions.close(action.id, ActionState.CANCELLED, "run marked failed")
    closed = site.store.actions.get(action.id)
    assert (closed.state, closed.verdict, closed.ended) == (
        ActionState.CANCELLED,
        "run marked failed",
        site.clock.time,
    )
    assert site.store.locks.owner(SITE) is None
    assert site.states(action) == {"n1": "prepared", "n2": "failure", "n3": "unknown", "n4": "not_started"}
    groups = {group.name: (group.state, group.reason) for group in site.store.groups.of_action(action.id)}
    assert groups == {
        "a": (GroupState.FAILURE, Reason.DEPLOY_CRITERIA),
        "b": (GroupState.FAILURE, Reason.INTERRUPTED),
        "c": (GroupState.PENDING, None),
    }
    # Both answers agree: a group that was never begun does not look as if it had been.
    states = {name: state for name, (state, _) in groups.items()}
    assert {group.name: group.state for group in site.store.reports.facts(action.id).groups} == states
    assert {standing.name: standing.state for standing in site.store.groups.standings(action.id)} == states
    assert site.store.groups.states(action.id) == states
    assert site.store.tasks.node_counts(action.id)["c"][NodeState.NOT_STARTED] == 1
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [operation.op]
    assert site.store.operations.get(operation.op).status is OperationStatus.ABANDONED


@pytest.mark.parametrize(
    ("first", "second", "then"),
    [
        ("success", "cancelled", "success"),
        ("failed", "cancelled", "failed"),
        ("cancelled", "failed", "failed"),
        ("cancelled", "success", "success"),
        ("success", "failed", "failed"),
    ],
)
def test_rule_24_cancelled_never_replaces_an_end(site: Scenario, first: str, second: str, then: str) -> None:
    action = site.running({"a": ["n1"]})
    assert site.store.actions.close(action.id, ActionState(first), first)
    assert site.store.actions.close(action.id, ActionState(second), second) is (second == then)
    found = site.store.actions.get(action.id)
    assert (found.state, found.verdict) == (then, then)


def test_rule_24_closing_again_frees_a_site_that_was_taken_again(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.store.actions.close(action.id, ActionState.SUCCESS, "all good")
    assert site.store.locks.acquire(action.id) is True
    assert site.store.locks.acquire(action.id) is False
    assert site.store.actions.get(action.id).state is ActionState.RUNNING
    assert site.store.actions.get(action.id).verdict is None
    assert site.store.actions.close(action.id, ActionState.CANCELLED, "cancelled")
    assert site.store.locks.owner(SITE) is None


def test_rule_24_an_action_that_lost_its_site_starts_nothing(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"]})
    operation = site.begin(record, Phase.PREPARE)
    site.store.locks.release(action.id)
    assert site.store.operations.acquire_lease(operation.op, "me", 30) is False
    with pytest.raises(StoreError, match="acquire the site"):
        site.begin(record, Phase.DEPLOY)
    # What it had begun it may still look after.
    assert site.begin(record, Phase.PREPARE).op == operation.op
    site.store.locks.acquire(site.action("run-2").id)
    assert site.store.operations.acquire_lease(operation.op, "me", 30) is False


def test_rule_24_a_dead_owner_is_replaced_once(site: Scenario) -> None:
    dead = site.running({"a": ["n1"]})
    operation = site.submit(site.begin(site.open(dead, "a"), Phase.PREPARE))
    second, third = site.action("run-2"), site.action("run-3")
    owner = some(site.store.locks.owner(SITE))
    site.clock.move(60)
    assert site.store.locks.take_over(second.id, owner) is True
    assert site.store.locks.take_over(third.id, owner) is False
    assert site.store.actions.get(dead.id).state is ActionState.CANCELLED
    assert second.id in str(site.store.actions.get(dead.id).verdict)
    assert site.store.actions.get(second.id).state is ActionState.RUNNING
    assert site.store.actions.get(third.id).state is ActionState.PENDING
    assert site.states(dead) == {"n1": "unknown"}
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [operation.op]
    held = some(site.store.locks.owner(SITE))
    assert held.action_id == second.id


def test_rule_24_the_same_action_taken_again_is_another_owner(site: Scenario) -> None:
    """An owner that was found dead, came back, and took its lock again must not be replaced on the old finding."""
    first, second = site.action("run-1"), site.action("run-2")
    site.store.locks.acquire(first.id)
    stale = some(site.store.locks.owner(SITE))
    site.store.locks.release(first.id)
    site.clock.move(1)
    site.store.locks.acquire(first.id)
    assert site.store.locks.take_over(second.id, stale) is False


def test_a_state_that_is_no_end_closes_nothing(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    with pytest.raises(ValueError, match="not an end"):
        site.store.actions.close(action.id, ActionState.RUNNING, "")


def test_rule_20_the_report_is_kept(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    assert (action.has_report, site.store.reports.get(action.id)) == (False, None)
    site.store.reports.save(action.id, {"verdict": "failure"})
    site.store.reports.save(action.id, {"verdict": "success", "at": site.clock.time})
    assert site.store.reports.get(action.id) == {"verdict": "success", "at": "2026-11-21T12:00:00+00:00"}
    assert site.store.actions.get(action.id).has_report


def test_only_who_asks_for_the_report_reads_it(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.store.reports.save(action.id, {"verdict": "success"})
    with counted_statements(site.store) as asked:
        found = [
            site.store.actions.get(action.id),
            *(one.action for one in site.store.actions.newest()),
            site.store.actions.of_run(action.dag_id, str(action.run_id)),
            site.store.reports.facts(action.id).action,
            site.store.actions.ensure(action.dag_id, str(action.run_id), NewAction("", SITE, 1, {}, "")),
        ]
    assert found == [site.store.actions.get(action.id)] * 5
    assert site.store.actions.get(action.id).has_report
    reads = [one for one in asked if "FROM action" in one.replace("\n", " ") and "max(" not in one]
    assert len(reads) == 5
    for statement in reads:
        assert ".report" not in statement


def test_unknown_actions_are_named(store: SiteStore) -> None:
    calls = (
        lambda: store.actions.get("X"),
        lambda: store.locks.acquire("X"),
        lambda: store.actions.close("X", ActionState.FAILED, ""),
        lambda: store.reports.save("X", {}),
        lambda: store.reports.get("X"),
        lambda: store.groups.save_plan("X", NewPlan([], [], {})),
        lambda: store.reports.facts("X"),
        lambda: store.actions.set_paused("X", True),
        lambda: store.actions.record_command("X", "stop", "ann"),
    )
    for call in calls:
        with pytest.raises(NotFound, match="'X'"):
            call()


@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(hours=1)])
def test_all_times_of_an_action_are_the_databases(
    url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, skew: timedelta
) -> None:
    monkeypatch.setattr(Database, "machine_time", lambda _: datetime.now(UTC) + skew)
    with SiteStore.open(url) as store:
        site = Scenario(store, clock)
        before = store.now()
        action, record = site.opened({"a": ["n1"], "b": ["n2"]})
        done = site.do(record, Phase.PREPARE)
        store.operations.mark_running(done.op, timedelta(seconds=0))
        site.fail(record)
        lost = site.submit(site.begin(site.open(action, "b"), Phase.PREPARE))
        assert store.actions.set_paused(action.id, True)
        paused = store.actions.get(action.id).paused
        store.actions.record_command(action.id, "pause", "ann")
        assert store.actions.close(action.id, ActionState.FAILED, "over", by="bob")
        facts, after = store.reports.facts(action.id), store.now()
        done, lost = store.operations.get(done.op), store.operations.get(lost.op)
        times = [facts.action.created, facts.action.started, paused, facts.action.ended]
        times += [time for group in facts.groups for time in (group.started, group.ended)]
        times += [time for node in facts.nodes for time in (node.prepare.started, node.prepare.ended)]
        times += [done.created, done.sending, done.submitted, done.running_since, done.ended, done.over, lost.ended]
        times += [command.at for command in store.actions.commands(action.id)]
        assert [time for time in times if time is None or not before <= time <= after] == []
