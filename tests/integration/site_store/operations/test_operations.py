"""Operations: one intent, one submission (rules 11 and 12), and what may still be at work (rules 14 and 24)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import update

from site_store import ActionState, Claim, NewAction, OperationStatus, SiteStore, StoreError, ValueRefused
from site_store.tables import operation as operation_table
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, Scenario, outcome


def test_rule_12_an_intent_is_written_once(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    first = site.begin(record, Phase.PREPARE)
    assert first.status is OperationStatus.INTENDED
    assert first.reference == f"slipway-{site.store.home.incarnation()}-{action.id}-{first.op}"
    assert (first.phase, first.group, first.attempt, first.nodes) == (Phase.PREPARE, "a", 1, ("n1", "n2"))
    assert site.begin(record, Phase.PREPARE, ["n1"]) == first
    assert site.store.operations.of_action(action.id) == [first]
    assert site.store.operations.of_action(action.id, "b") == []
    assert site.states(action) == {"n1": "preparing", "n2": "preparing"}


def test_rule_11_prepare_takes_what_is_not_started_and_deploy_what_is_prepared(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2", "n3"], "b": ["n2", "n3", "n4", "n5"]})
    a, b = site.open(action, "a"), site.open(action, "b")
    assert site.do(a, Phase.PREPARE, outcome(["n1", "n2"], ["n3"])).nodes == ("n1", "n2", "n3")
    assert site.begin(b, Phase.PREPARE).nodes == ("n4", "n5")
    # n2 was prepared by the other group; n3 has failed; n4 and n5 are still being prepared.
    assert site.begin(b, Phase.DEPLOY).nodes == ("n2",)
    assert site.begin(a, Phase.DEPLOY).nodes == ("n1",)


def test_rule_11_only_the_nodes_that_are_asked_for(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    operation = site.begin(site.open(action, "a"), Phase.PREPARE, ["n2", "stranger"])
    assert operation.nodes == ("n2",)
    assert site.states(action) == {"n1": "not_started", "n2": "preparing"}


def test_rule_18_with_nothing_to_claim_an_operation_is_complete_at_once(site: Scenario) -> None:
    action = site.running({"a": ["n1"], "b": ["n1"]})
    site.begin(site.open(action, "a"), Phase.PREPARE)
    empty = site.begin(site.open(action, "b"), Phase.PREPARE)
    assert (empty.nodes, empty.status) == ((), OperationStatus.COMPLETE)
    assert site.store.operations.acquire_lease(empty.op, "me", 30) is False
    assert site.store.operations.unfinished(SITE) == []


def test_steps_of_the_whole_site_have_operations_too(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.step(action, Phase.VERIFY_SITE)
    again = site.step(action, Phase.VERIFY_SITE)
    assert operation == again
    assert (operation.phase, operation.status, operation.nodes) == (
        Phase.VERIFY_SITE,
        OperationStatus.INTENDED,
        (),
    )
    site.submit(operation)
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [operation.op]
    assert site.store.operations.unfinished(SITE, ["n1"]) == [], "it holds no node"
    assert site.store.operations.finish(operation.op, OperationStatus.COMPLETE, "success")
    assert site.store.operations.of_action(action.id)[0].result == "success"
    assert site.store.operations.unfinished(SITE) == []


def test_an_operation_without_a_group_is_there_once_in_the_database_too(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.step(action, Phase.VERIFY_SITE)
    assert operation.group is None
    cleared = site.step(action, Phase.VERIFY_SITE, attempt=2)
    assert cleared.op > operation.op
    again = update(operation_table).where(operation_table.c.op == cleared.op).values(attempt=1)
    # What two that begin it at the same moment run into.
    with pytest.raises(ValueRefused):
        site.store._database.write(lambda tx: tx.execute(again))


def test_rule_12_the_right_to_submit_belongs_to_one_until_it_expires(site: Scenario) -> None:
    operation = site.begin(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE)
    lease = site.store.operations.acquire_lease
    assert lease(operation.op, "one", 30) is True
    site.clock.move(29)
    assert lease(operation.op, "two", 30) is False
    assert lease(operation.op, "one", 30) is True
    site.clock.move(29)
    assert lease(operation.op, "two", 30) is False
    site.clock.move(1)
    assert lease(operation.op, "two", 30) is True
    assert lease(operation.op, "one", 30) is False
    site.store.operations.mark_submitted(operation.op, "t1")
    assert lease(operation.op, "two", 30) is False
    site.clock.move(3600)
    assert lease(operation.op, "one", 30) is False


def test_rule_12_two_provisioner_tasks_for_one_operation_are_noticed(site: Scenario) -> None:
    operation = site.begin(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE)
    site.store.operations.mark_submitted(operation.op, "t1")
    site.store.operations.mark_submitted(operation.op, "t1")
    with pytest.raises(StoreError, match=r"t1, and now also t2"):
        site.store.operations.mark_submitted(operation.op, "t2")
    assert site.store.operations.get(operation.op).provisioner_task == "t1"


def test_rule_14_the_clock_starts_when_the_provisioner_starts(site: Scenario) -> None:
    operation = site.submit(site.begin(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE))
    assert (operation.submitted, operation.running_since) == (site.clock.time, None)
    began = site.clock.time
    site.store.operations.mark_running(operation.op)
    site.clock.move(60)
    site.store.operations.mark_running(operation.op)
    site.store.operations.mark_running(operation.op, timedelta(hours=1))
    assert site.store.operations.get(operation.op).running_since == began


def test_rule_13_a_newer_operation_that_runs_over_the_same_connection_overtakes_an_older_one(site: Scenario) -> None:
    operations, found = site.store.operations, []
    for name, connection in (("north", "shared"), ("south", "shared"), ("west", "own")):
        action = site.store.actions.ensure(
            "deploy_site", f"run-{name}", NewAction("deploy_site", name, None, {}, "ann")
        )
        site.store.locks.acquire(action.id)
        site.store.actions.decide_connection(action.id, connection)
        begun = operations.begin(Claim(action.id, name, None, 1, Phase.VERIFY_SITE, [], "x"))
        found.append(site.submit(begun).op)
    first, second, third = found
    operations.mark_running(first)
    operations.mark_running(third)
    assert operations.overtaken_by(first) is None, "the next one waits, and the last one is another provisioner's"
    operations.mark_running(second)
    assert [operations.overtaken_by(op) for op in found] == [second, None, None]


def test_rule_14_a_timed_out_task_stays_unfinished_until_it_is_seen_over(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n3"]})
    one = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    two = site.submit(site.begin(site.open(action, "b"), Phase.PREPARE))
    site.record(one, outcome(["n1"], (), ["n2"]), status=OperationStatus.TIMED_OUT, result="incomplete")

    def unfinished(*nodes: str) -> list[int]:
        return [item.op for item in site.store.operations.unfinished(SITE, nodes or None)]

    assert unfinished() == [one.op, two.op]
    assert unfinished("n2") == [one.op]
    assert unfinished("n3", "n9") == [two.op]
    assert unfinished("n9") == []
    assert site.store.operations.unfinished("south") == []
    site.record(two, outcome(["n3"]), status=OperationStatus.COMPLETE)
    site.record_late(one, outcome(["n2"]))
    assert unfinished() == []
    assert site.store.operations.get(one.op).result == "incomplete"


@pytest.mark.parametrize(
    ("first", "second", "then"),
    [
        ("timed_out", "complete", "complete"),
        ("abandoned", "complete", "complete"),
        ("complete", "timed_out", "complete"),
        ("complete", "abandoned", "complete"),
        ("timed_out", "abandoned", "timed_out"),
    ],
)
def test_what_was_seen_over_stays_over(site: Scenario, first: str, second: str, then: str) -> None:
    operation = site.submit(site.begin(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE))
    assert site.store.operations.finish(operation.op, OperationStatus(first))
    assert site.store.operations.finish(operation.op, OperationStatus(second)) is (second == then)
    found = site.store.operations.get(operation.op)
    assert found.status == then
    assert (found.over is not None) is (then == "complete")
    with pytest.raises(ValueError, match="not an end"):
        site.store.operations.finish(operation.op, OperationStatus.SUBMITTED)


def test_rule_24_an_orphaned_step_of_the_site_holds_no_node(site: Scenario) -> None:
    first = site.running({"a": ["n1"]})
    step = site.submit(site.step(first, Phase.VERIFY_SITE))
    lost = site.submit(site.begin(site.open(first, "a"), Phase.PREPARE))
    site.store.actions.close(first.id, ActionState.CANCELLED, "killed")
    assert [item.op for item in site.store.operations.unfinished(SITE, ["n1"])] == [lost.op]
    assert site.store.operations.unfinished(SITE, []) == []
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [step.op, lost.op]


def test_rule_24_an_intent_may_be_at_work_once_its_action_has_lost_the_site(site: Scenario) -> None:
    """The process that had the right to submit it may have died before it could say so."""
    action = site.running({"a": ["n1"], "b": ["n2"]})
    perhaps = site.begin(site.open(action, "a"), Phase.PREPARE)
    never = site.begin(site.open(action, "b"), Phase.PREPARE)
    assert site.store.operations.acquire_lease(perhaps.op, "me", 30, sending=True)
    assert site.store.operations.acquire_lease(never.op, "you", 30), "it had the right, and sent nothing"

    def unfinished(*nodes: str) -> list[int]:
        return [item.op for item in site.store.operations.unfinished(SITE, nodes or None)]

    assert unfinished() == [], "its own action sees to it"
    site.store.locks.release(action.id)
    assert unfinished() == [perhaps.op], "nobody could submit the other, and nobody can"
    assert site.store.operations.acquire_lease(never.op, "you", 30, sending=True) is False
    assert site.store.operations.get(never.op).sending is None
    site.store.locks.acquire(site.action("run-2").id)
    assert (unfinished("n1"), unfinished("n2")) == ([perhaps.op], [])
    site.record_late(perhaps, outcome(unknown=["n1"]))
    assert unfinished() == []
    assert site.states(action) == {"n1": "unknown", "n2": "preparing"}


def test_rule_12_right_before_it_is_sent_that_is_noted_in_the_same_step(site: Scenario) -> None:
    operation = site.begin(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE)
    assert operation.sending is None
    assert site.store.operations.acquire_lease(operation.op, "one", 30)
    assert site.store.operations.get(operation.op).sending is None, "it looks, and has not sent yet"
    assert site.store.operations.acquire_lease(operation.op, "one", 30, sending=True)
    first = site.clock.time
    assert site.store.operations.get(operation.op).sending == first
    site.clock.move(10)
    assert site.store.operations.acquire_lease(operation.op, "one", 30)
    assert site.store.operations.acquire_lease(operation.op, "two", 30, sending=True) is False
    assert site.store.operations.get(operation.op).sending == first, (
        "a renewal sends nothing, nor does one without the right"
    )
    assert site.store.operations.acquire_lease(operation.op, "one", 30, sending=True)
    assert site.store.operations.get(operation.op).sending == site.clock.time, "sent once more: the newest counts"


def test_rule_24_only_what_nobody_may_have_sent_is_surely_not_at_work(site: Scenario) -> None:
    action = site.running({"a": ["n1"], "b": ["n2"]})
    never = site.begin(site.open(action, "a"), Phase.PREPARE)
    perhaps = site.begin(site.open(action, "b"), Phase.PREPARE)
    site.store.operations.acquire_lease(never.op, "a process that dies while it looks", 30)
    site.store.operations.acquire_lease(perhaps.op, "a process that dies now", 30, sending=True)
    site.store.actions.close(action.id, ActionState.CANCELLED, "killed")
    (found,) = site.store.operations.unfinished(SITE)
    assert (found.op, found.provisioner_task, found.reference) == (perhaps.op, None, perhaps.reference)
    assert site.store.operations.get(never.op).over is not None


@pytest.mark.parametrize("settled", [False, True])
def test_rule_24_a_submission_after_the_end_is_not_forgotten(site: Scenario, settled: bool) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert site.store.operations.acquire_lease(operation.op, "slow", 30, sending=True)
    site.store.actions.close(action.id, ActionState.CANCELLED, "cancelled")
    if settled:
        site.record_late(operation, outcome(unknown=["n1"]), "the provisioner knows no such reference")
        assert site.store.operations.unfinished(SITE) == []
    site.store.operations.mark_submitted(operation.op, "t1")
    (found,) = site.store.operations.unfinished(SITE)
    assert (found.provisioner_task, found.status) == ("t1", OperationStatus.ABANDONED)


def test_numbers_of_operations_are_never_used_again(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    first = site.begin(site.open(action, "a"), Phase.PREPARE)
    site.store._database.write(lambda tx: tx.exec_driver_sql("DELETE FROM operation"))
    other = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert other.op > first.op


def test_unknown_operations_are_named(store: SiteStore) -> None:
    calls = (
        lambda: store.operations.get(99),
        lambda: store.operations.mark_submitted(99, "t"),
        lambda: store.operations.finish(99, OperationStatus.COMPLETE),
        lambda: store.operations.record_outcome(99, outcome()),
        lambda: store.operations.record_late_outcome(99, outcome()),
    )
    for call in calls:
        with pytest.raises(StoreError, match="99"):
            call()
    assert store.operations.acquire_lease(99, "me", 30) is False


def test_how_long_operations_take_is_told_by_the_newest(site: Scenario) -> None:
    action = site.running({"a": ["n1"], "b": ["n2"], "c": ["n3"]})
    assert site.store.operations.usual_seconds(SITE, [Phase.PREPARE, Phase.DEPLOY]) == {}
    for name, seconds in (("a", 10), ("b", 400), ("c", 60)):
        operation = site.submit(site.begin(site.open(action, name), Phase.PREPARE))
        site.clock.move(1000)
        site.store.operations.mark_running(operation.op)
        site.clock.move(seconds)
        site.record(operation, outcome(operation.nodes), status=OperationStatus.COMPLETE, result="success")
    assert site.store.operations.usual_seconds(SITE, [Phase.PREPARE, Phase.DEPLOY]) == {Phase.PREPARE: 60.0}
    assert site.store.operations.usual_seconds("another", [Phase.PREPARE]) == {}
