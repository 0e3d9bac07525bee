"""Steps around the phases of a group: its nodes are released before, and have to be ready after (rules 11 and 58)."""

from __future__ import annotations

import pytest

from site_store import (
    ActionRecord,
    GroupRecord,
    NewPlan,
    OperationStatus,
    PlannedGroup,
    Readiness,
    SiteStore,
    StoreError,
)
from strategy_lib.node import NodeState
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group, Ready
from tests.integration.site_store.scenario import SITE, Scenario, outcome

RELEASE = Phase.RELEASE


def test_rule_11_a_released_node_can_be_prepared_and_nobody_prepares_it_meanwhile(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n1"]})
    record, other = site.open(action, "a"), site.open(action, "b")
    release = site.submit(site.begin(record, RELEASE, ["n1"]))
    assert release.reference == f"slipway-{site.store.home.incarnation()}-{action.id}-{release.op}"
    assert site.states(action) == {"n1": "preparing", "n2": "not_started"}
    assert site.begin(other, Phase.PREPARE).nodes == ()
    assert site.store.tasks.attempt_states(action.id, "b", 1) == {"n1": "unknown"}, "another group's release"
    site.record(release, outcome(["n1"]), status=OperationStatus.COMPLETE, result="success")
    assert site.states(action) == {"n1": "not_started", "n2": "not_started"}
    assert site.begin(record, Phase.PREPARE).nodes == ("n1", "n2")


def test_rule_12_an_attempt_has_one_release(site: Scenario) -> None:
    record = site.open(site.running({"a": ["n1", "n2"]}), "a")
    release = site.begin(record, RELEASE, ["n1"])
    assert site.begin(record, RELEASE, ["n2"]) == release


def test_rule_13_what_was_not_released_has_failed_and_is_done_in_no_version(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2"]}, digests={"n1": "d", "n2": "d"})
    release = site.submit(site.begin(record, RELEASE))
    result = outcome(failed=["n1"], unknown=["n2"], notes={"n1": "no", "n2": "?"})
    site.record(release, result, status=OperationStatus.COMPLETE, result="failure")
    assert site.states(action) == {"n1": "failure", "n2": "unknown"}
    errors = {tasks.node: tasks.prepare.error for tasks in site.store.tasks.of_nodes(action.id)}
    assert errors == {"n1": "no", "n2": "?"}
    assert site.begin(record, Phase.PREPARE).nodes == ()


def test_rule_14_a_release_that_is_known_late_makes_its_nodes_eligible(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    release = site.submit(site.begin(record, RELEASE))
    site.record(release, outcome(unknown=["n1", "n2"]), status=OperationStatus.TIMED_OUT)
    assert [one.op for one in site.store.operations.unfinished(SITE, ["n1"])] == [release.op]
    known = site.record_late(release, outcome(["n1"], ["n2"]))
    assert known == {"n1", "n2"}
    assert site.states(action) == {"n1": "not_started", "n2": "failure"}
    assert site.store.operations.unfinished(SITE) == []


def test_rule_23_another_attempt_releases_again(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"]})
    first = site.submit(site.begin(record, RELEASE))
    site.record(first, outcome(failed=["n1"]), status=OperationStatus.COMPLETE, result="failure")
    site.fail(record)
    second = site.begin(site.open(action, "a", "cleared"), RELEASE)
    assert second.op > first.op
    assert second.nodes == ("n1",)


def test_rule_24_a_release_that_is_left_alone_leaves_unknown_nodes(site: Scenario, store: SiteStore) -> None:
    action = site.running({"a": ["n1"]})
    release = site.submit(site.begin(site.open(action, "a"), RELEASE))
    assert store.groups.interrupt(action.id, "a")
    assert site.states(action) == {"n1": "unknown"}
    assert store.operations.get(release.op).status is OperationStatus.ABANDONED


def test_rule_11_nodes_that_cannot_be_sent_fail_each_for_its_reason(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2", "n3"]})
    site.submit(site.begin(record, Phase.PREPARE, ["n3"]))
    reasons = {"n1": "because", "n2": "therefore", "n3": "too late"}
    assert site.store.tasks.fail_unsent(action.id, SITE, "a", record.attempt, reasons) == {"n1", "n2"}
    assert site.states(action) == {"n1": "failure", "n2": "failure", "n3": "preparing"}
    errors = {tasks.node: tasks.prepare.error for tasks in site.store.tasks.of_nodes(action.id)}
    assert errors == {"n1": "because", "n2": "therefore", "n3": None}
    assert site.store.tasks.fail_unsent(action.id, SITE, "a", record.attempt, reasons) == frozenset()
    site.fail(record)
    with pytest.raises(StoreError, match="attempt"):
        site.store.tasks.fail_unsent(action.id, SITE, "a", record.attempt, reasons)
    site.store.locks.release(action.id)
    with pytest.raises(StoreError, match=r"does not hold site|nothing may be submitted|right to submit"):
        site.store.tasks.fail_unsent(action.id, SITE, "a", record.attempt, reasons)


def test_rule_11_what_our_own_operations_left_undeployed(site: Scenario) -> None:
    """One is deployed, one failed, two are unknown (one task is over), one prepared, one new, one was never taken."""
    store = site.store
    names = ["good", "bad", "lost", "open", "ready", "new", "unsent"]
    alone = {"b": ["open"], "c": ["ready"], "d": ["new"], "e": ["unsent"]}
    action, one = site.opened({"a": ["good", "bad", "lost"], **alone})
    site.do(one, Phase.PREPARE)
    site.do(one, Phase.DEPLOY, outcome(["good"], ["bad"], ["lost"]))
    for group in "bce":
        site.do(site.open(action, group), Phase.PREPARE)
    still = site.submit(site.begin(site.open(action, "b"), Phase.DEPLOY))
    store.operations.record_outcome(still.op, outcome(unknown=["open"]), status=OperationStatus.TIMED_OUT)
    unsent = site.begin(site.open(action, "e"), Phase.DEPLOY)
    store.operations.record_outcome(
        unsent.op, outcome(failed=["unsent"]), status=OperationStatus.COMPLETE, result="refused"
    )
    assert store.nodes.left_undeployed(SITE, names) == {}, "what the list said at their end was not noted"
    ended = store.operations.of_action(action.id, "a")[-1].op
    store.nodes.record_conditions(SITE, {"good": "deployed", "bad": "allocated", "lost": "failed_deployment"}, ended)
    store.nodes.record_conditions(SITE, dict.fromkeys(["open", "ready", "new", "unsent"], "allocated"), unsent.op)
    assert store.nodes.left_undeployed(SITE, names) == {"bad": "allocated", "lost": "failed_deployment"}
    assert store.nodes.left_undeployed(SITE, ["bad"]) == {"bad": "allocated"}
    assert store.nodes.left_undeployed("elsewhere", names) == {}
    site.fail(one)
    again = site.open(action, "a", "cleared")
    release = site.submit(site.begin(again, RELEASE, ["bad"]))
    assert store.nodes.left_undeployed(SITE, names).keys() == {"lost"}, "the release is not over"
    store.operations.record_outcome(
        release.op, outcome(failed=["bad"]), status=OperationStatus.COMPLETE, result="failure"
    )
    store.nodes.record_conditions(SITE, {"bad": "failed_release", "lost": "allocated"}, release.op)
    assert store.nodes.left_undeployed(SITE, names) == {"bad": "failed_release"}, (
        "lost is not of that operation, and changed"
    )


@pytest.mark.parametrize(
    ("seen", "missing", "ours"),
    [
        pytest.param(["allocated"], (), True, id="still as it was left"),
        pytest.param(["ready", "allocated"], (), False, id="freed by somebody, and allocated again"),
        pytest.param(["allocated"], ("n1",), False, id="it was not listed in between"),
    ],
)
def test_rule_11_what_was_seen_otherwise_since_is_not_our_doing(
    site: Scenario, seen: list[str], missing: tuple[str, ...], ours: bool
) -> None:
    record = site.open(site.running({"a": ["n1", "n2"]}), "a")
    site.do(record, Phase.PREPARE)
    deploy = site.do(record, Phase.DEPLOY, outcome(unknown=["n1", "n2"]))
    site.store.nodes.record_conditions(SITE, {"n1": "allocated", "n2": "allocated"}, deploy.op)
    site.store.nodes.record_conditions(SITE, {}, missing=missing)
    for condition in seen:
        site.store.nodes.record_conditions(SITE, {"n1": condition})
    left = site.store.nodes.left_undeployed(SITE, ["n1", "n2"])
    assert left == ({"n1": "allocated"} if ours else {}) | {"n2": "allocated"}


def planned(site: Scenario, done: frozenset[str] = frozenset()) -> tuple[ActionRecord, GroupRecord]:
    """An action of a group that asks whether its nodes are ready, and of one that does not."""
    action = site.holding()
    groups = [Group("asks", critical=True, ready=Ready(60)), Group("plain", critical=True)]
    plan = [PlannedGroup(groups[0], ("n1", "n2", "n3")), PlannedGroup(groups[1], ("n3", "n4"))]
    site.store.groups.save_plan(action.id, NewPlan(plan, done, {"n1": "d1"}))
    return action, site.open(action, "asks")


def test_only_nodes_that_were_deployed_are_asked(site: Scenario) -> None:
    action, record = planned(site)
    tasks = site.store.tasks
    assert {one.node: one.ready is not None for one in tasks.of_nodes(action.id)} == {
        "n1": True,
        "n2": True,
        "n3": True,
        "n4": False,
    }
    site.do(record, Phase.PREPARE)
    assert tasks.readiness(action.id, "asks") == Readiness()
    site.do(record, Phase.DEPLOY, outcome(["n1", "n2"], ["n3"]))
    assert tasks.readiness(action.id, "asks") == Readiness(frozenset(["n1", "n2"]))
    begun = site.begin(record, Phase.READY, ["n1", "n2", "n3"])
    assert begun.nodes == ("n1", "n2")
    assert tasks.left_to_ask(begun.op) == ["n1", "n2"]


def test_one_that_is_not_ready_has_failed_and_is_asked_again_in_a_new_attempt(site: Scenario) -> None:
    action, record = planned(site)
    site.deploy(record)
    begun = site.begin(record, Phase.READY)
    late = outcome(["n1"], ["n2", "n3"], notes={"n2": "it says down"})
    site.record(begun, late, status=OperationStatus.COMPLETE, result="not ready")
    tasks = site.store.tasks
    expected = {"n1": "success", "n2": "failure", "n3": "failure"}
    assert site.states(action, "asks") == expected
    assert tasks.attempt_states(action.id, "asks", 1) == expected
    assert site.states(action, "plain") == {"n3": "failure", "n4": "not_started"}
    counts = tasks.node_counts(action.id)
    assert (counts["asks"][NodeState.SUCCESS], counts["asks"][NodeState.FAILURE]) == (1, 2)
    assert counts["plain"][NodeState.FAILURE] == 1
    assert site.store.waits.facts(action.id, ["n2"])["n2"].error == "it says down"
    assert tasks.readiness(action.id, "asks") == Readiness(frozenset(), frozenset(["n2", "n3"]))
    site.fail(record)
    again = site.open(action, "asks", "second")
    assert again.attempt == 2
    assert set(site.states(action, "asks").values()) == {"success"}
    assert tasks.readiness(action.id, "asks").awaited == {"n2", "n3"}
    second = site.begin(again, Phase.READY)
    assert second.nodes == ("n2", "n3")


def test_nodes_that_were_as_wanted_are_ready_by_the_plan(site: Scenario) -> None:
    action, _ = planned(site, frozenset(["n1", "n2", "n3"]))
    assert site.store.tasks.readiness(action.id, "asks") == Readiness()
