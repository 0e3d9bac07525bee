"""Starting a group, and starting it again (rule 23)."""

from __future__ import annotations

import pytest

from site_store import ActionState, Claim, GroupRecord, NotFound, OperationStatus, SiteStore, StoreError
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import CriterionResult
from tests.integration.site_store.scenario import SITE, Scenario, outcome


def test_rule_23_a_first_start_opens_attempt_one(site: Scenario) -> None:
    action = site.running({"a": ["n2", "n1"]})
    assert site.store.groups.get(action.id, "a").attempt == 0
    site.clock.move(5)
    record = site.open(action, "a", "k1")
    assert (record.state, record.attempt, record.attempt_key, record.nodes) == (
        GroupState.RUNNING,
        1,
        "k1",
        ("n1", "n2"),
    )
    assert record.started == site.clock.time


@pytest.mark.parametrize("key", ["k1", "k2"])
def test_rule_23_without_a_verdict_the_same_attempt_goes_on(site: Scenario, key: str) -> None:
    action, first = site.opened({"a": ["n1", "n2"]}, key="k1")
    site.do(first, Phase.PREPARE, outcome(["n1"], ["n2"]))
    judged = [CriterionResult(Phase.PREPARE, "percent_successful_nodes", 50, "1/2", True)]
    assert site.store.groups.save_criteria(action.id, "a", 1, judged)
    operation = site.submit(site.begin(first, Phase.DEPLOY))
    site.clock.move(60)
    again = site.open(action, "a", key)
    assert (again.attempt, again.attempt_key, again.started) == (1, key, first.started)
    assert again.criteria == tuple(judged)
    assert site.states(action) == {"n1": "deploying", "n2": "failure"}
    # The operation under way is found again, whatever nodes are asked for.
    assert site.begin(again, Phase.DEPLOY, []) == operation


def test_rule_23_who_does_not_take_over_goes_on_with_his_own_attempt_alone(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    for key in ("k1", "k1"):
        assert store.groups.open_attempt(action.id, "a", key, takes_over=False).attempt == 1
    with pytest.raises(StoreError, match="attempt"):
        store.groups.open_attempt(action.id, "a", "k0", takes_over=False)
    store.groups.finish(action.id, "a", 1, GroupState.FAILURE, None)
    assert store.groups.open_attempt(action.id, "a", "k1", takes_over=False).is_judged
    with pytest.raises(StoreError, match="attempt"):
        store.groups.open_attempt(action.id, "a", "k0", takes_over=False)
    judged = store.groups.get(action.id, "a")
    assert (judged.state, judged.attempt, judged.attempt_key) == (GroupState.FAILURE, 1, "k1")


def test_rule_23_a_group_that_succeeded_returns_at_once(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"]}, key="k1")
    site.deploy(record)
    assert site.store.groups.finish(action.id, "a", 1, GroupState.SUCCESS, None, (), {"success": 1})
    before = site.store.groups.get(action.id, "a")
    for key in ("k1", "k2"):
        assert site.open(action, "a", key) == before
    with pytest.raises(StoreError, match="attempt"):
        site.store.operations.begin(Claim(action.id, SITE, "a", 2, Phase.PREPARE, ["n1"], "x"))


def test_rule_23_a_failed_group_repeated_by_airflow_stays_failed(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"]}, key="k1")
    site.do(record, Phase.PREPARE, outcome(failed=["n1"]))
    site.fail(record, Reason.PREPARE_CRITERIA)
    again = site.open(action, "a", "k1")
    assert (again.state, again.reason, again.attempt) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA, 1)
    assert site.states(action) == {"n1": "failure"}


def test_rule_23_a_cleared_group_is_a_new_attempt(site: Scenario) -> None:
    nodes = ["ok", "bad-prepare", "bad-deploy", "lost", "ready"]
    action, first = site.opened({"a": nodes}, key="k1")
    site.do(first, Phase.PREPARE, outcome(["ok", "bad-deploy", "lost", "ready"], ["bad-prepare"]))
    claimed = site.begin(first, Phase.DEPLOY, ["ok", "bad-deploy", "lost"])
    old = site.submit(claimed)
    result = outcome(["ok"], ["bad-deploy"], ["lost"], {"bad-deploy": "no disk"})
    site.record(old, result, status=OperationStatus.TIMED_OUT)
    site.fail(first)
    site.clock.move(100)

    second = site.open(action, "a", "k2")
    assert (second.state, second.attempt, second.attempt_key, second.reason, second.ended) == (
        GroupState.RUNNING,
        2,
        "k2",
        None,
        None,
    )
    assert second.started == site.clock.time
    assert site.states(action) == {
        "ok": "success",
        "ready": "prepared",
        "bad-prepare": "not_started",
        "bad-deploy": "not_started",
        "lost": "not_started",
    }
    earlier = {
        event.node: event.data["deploy"]
        for event in site.store.events.of_action(action.id)
        if event.kind == "earlier_result"
    }
    assert set(earlier) == {"bad-prepare", "bad-deploy", "lost"}
    assert (earlier["bad-deploy"]["status"], earlier["bad-deploy"]["error"]) == ("error", "no disk")
    assert (earlier["lost"]["status"], earlier["lost"]["op"]) == ("unknown", old.op)
    # New operations for exactly the eligible ones, never the numbers of before.
    prepare = site.do(second, Phase.PREPARE)
    assert prepare.nodes == ("bad-deploy", "bad-prepare", "lost")
    deploy = site.do(second, Phase.DEPLOY)
    assert deploy.nodes == ("bad-deploy", "bad-prepare", "lost", "ready")
    assert old.op < prepare.op < deploy.op
    assert site.states(action) == dict.fromkeys(nodes, "success")


def test_rule_23_a_new_attempt_leaves_nodes_of_another_groups_live_operation_alone(site: Scenario) -> None:
    action, first = site.opened({"a": ["n1", "n2"], "b": ["n2", "n3"]}, key="k1")
    site.do(first, Phase.PREPARE, outcome(["n2"], ["n1"]))
    site.fail(first, Reason.PREPARE_CRITERIA)
    other = site.open(action, "b", "k1")
    working = site.submit(site.begin(other, Phase.DEPLOY, ["n2"]))
    site.open(action, "a", "k2")
    assert site.states(action) == {"n1": "not_started", "n2": "deploying", "n3": "not_started"}
    assert site.record(working, outcome(["n2"])) == frozenset()
    assert site.states(action)["n2"] == "success"


def test_rule_11_a_group_never_takes_another_groups_live_nodes_for_its_own(site: Scenario) -> None:
    nodes = ["mine", "theirs-prepare", "theirs-deploy", "ready", "done", "bad", "new"]
    action = site.running({"a": nodes, "b": nodes, "other": ["elsewhere"]}, done=["done"])
    a, b = site.open(action, "a"), site.open(action, "b")
    first = site.submit(site.begin(b, Phase.PREPARE, ["theirs-deploy", "ready", "bad"]))
    site.record(first, outcome(["theirs-deploy", "ready"], ["bad"]), status=OperationStatus.COMPLETE)
    live = site.begin(b, Phase.DEPLOY, ["theirs-deploy"])
    c = site.open(action, "other")
    # Of any group, and whether or not it is a member itself.
    site.begin(c, Phase.PREPARE, ["theirs-prepare"])
    site.begin(a, Phase.PREPARE, ["mine"])

    def seen(record: GroupRecord) -> dict[str, str]:
        found = site.store.tasks.attempt_states(action.id, record.name, record.attempt)
        return {name: str(state) for name, state in found.items()}

    everywhere = {"theirs-prepare": "unknown", "ready": "prepared", "done": "success", "bad": "failure"}
    everywhere["new"] = "not_started"
    assert seen(a) == everywhere | {"mine": "preparing", "theirs-deploy": "unknown"}
    assert seen(b) == everywhere | {"mine": "unknown", "theirs-deploy": "deploying"}
    assert seen(c) == {"elsewhere": "not_started"}
    # What the store says of the nodes to everyone else is unchanged, and what is learnt is seen by all.
    assert site.states(action, "a")["theirs-deploy"] == "deploying"
    site.record(live, outcome(["theirs-deploy"]))
    assert seen(a)["theirs-deploy"] == "success"


def test_rule_23_an_attempt_does_not_count_on_what_an_earlier_one_left_under_way(site: Scenario) -> None:
    action, first = site.opened({"a": ["n1", "n2"]}, key="k1")
    site.begin(first, Phase.PREPARE, ["n1"])
    seen = site.store.tasks.attempt_states
    assert seen(action.id, "a", 1) == {"n1": NodeState.PREPARING, "n2": NodeState.NOT_STARTED}
    # The task starts again before the verdict: it is the same attempt, and joins.
    again = site.open(action, "a", "k1")
    assert seen(action.id, "a", again.attempt)["n1"] is NodeState.PREPARING
    # Two of the same name in another action are nothing to this one.
    assert seen(action.id, "a", 2) == {"n1": NodeState.UNKNOWN, "n2": NodeState.NOT_STARTED}


def test_rule_23_a_reopened_action_starts_interrupted_groups_again(site: Scenario) -> None:
    action, first = site.opened({"a": ["n1"]}, key="k1")
    old = site.submit(site.begin(first, Phase.PREPARE))
    site.store.actions.close(action.id, ActionState.CANCELLED, "cancelled")
    assert site.states(action) == {"n1": "unknown"}
    assert site.open(action, "a", "k1").reason is Reason.INTERRUPTED
    assert site.store.locks.acquire(action.id)
    # A person who clears it looks after the old provisioner task first, and learns that it succeeded.
    assert site.record_late(old, outcome(["n1"])) == {"n1"}
    second = site.open(action, "a", "k2")
    assert second.attempt == 2
    assert site.states(action) == {"n1": "prepared"}
    assert site.begin(second, Phase.PREPARE).status is OperationStatus.COMPLETE
    assert site.do(second, Phase.DEPLOY).nodes == ("n1",)


def test_rule_23_the_first_verdict_of_an_attempt_stays(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.open(action, "a", "k1")
    judged = [
        CriterionResult(Phase.PREPARE, "percent_successful_nodes", 90, "29/50", False),
        CriterionResult(Phase.PREPARE, "maximum_failed_nodes", 0, 21, False),
    ]
    site.clock.move(7)
    verdict = (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert site.store.groups.finish(action.id, "a", 1, *verdict, judged, {"failure": 21})
    assert site.store.groups.finish(action.id, "a", 1, *verdict) is True
    assert site.store.groups.finish(action.id, "a", 1, GroupState.SUCCESS, None) is False
    assert site.store.groups.save_criteria(action.id, "a", 1, []) is False
    record = site.store.groups.get(action.id, "a")
    assert (record.state, record.reason) == verdict
    assert record.criteria == tuple(judged)
    assert record.counts == {"failure": 21}
    assert record.ended == site.clock.time
    assert record.is_judged


def test_rule_23_an_attempt_that_was_replaced_can_neither_judge_nor_begin(site: Scenario) -> None:
    action, first = site.opened({"a": ["n1"]}, key="k1")
    site.fail(first)
    site.open(action, "a", "k2")
    assert site.store.groups.finish(action.id, "a", 1, GroupState.SUCCESS, None) is False
    with pytest.raises(StoreError, match="attempt 1"):
        site.begin(first, Phase.PREPARE)


def test_rule_24_a_group_whose_task_is_gone_is_interrupted(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"], "b": ["n2"], "c": ["n3"]}, key="k1")
    operation = site.submit(site.begin(record, Phase.PREPARE))
    assert site.store.groups.interrupt(action.id, "a") is True
    assert site.store.groups.interrupt(action.id, "a") is False
    assert site.store.groups.interrupt(action.id, "b") is True
    states = {
        group.name: (group.state, group.reason, group.attempt) for group in site.store.groups.of_action(action.id)
    }
    assert states == {
        "a": (GroupState.FAILURE, Reason.INTERRUPTED, 1),
        "b": (GroupState.FAILURE, Reason.INTERRUPTED, 0),
        "c": (GroupState.PENDING, None, 0),
    }
    assert site.states(action) == {"n1": "unknown", "n2": "not_started", "n3": "not_started"}
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [operation.op]
    assert site.open(action, "b", "k1").attempt == 1


def test_unknown_groups_are_named(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    for call in (store.groups.get, store.groups.interrupt):
        with pytest.raises(NotFound, match="'z'"):
            call(action.id, "z")
    with pytest.raises(NotFound, match="'z'"):
        store.groups.open_attempt(action.id, "z", "k")
    with pytest.raises(ValueError, match="not a verdict"):
        store.groups.finish(action.id, "a", 1, GroupState.RUNNING, None)
