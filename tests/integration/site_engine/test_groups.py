"""One group from its start to its verdict, with a real store, and a provisioner and a clock in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from provisioner_client.designs import DesignSource
from site_engine.actions.reports import reported_node
from site_engine.kinds import STEP_WARNING
from site_engine.operations.wait import StillRunning
from site_store import ActionState, Claim, Operation, StoreError
from strategy_lib.phase import GroupState, Phase, Reason
from tests.support.driving import Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

ABC = [node("a"), node("b"), node("c")]


def intended(
    driving: Driving, name: str = "all", nodes: Sequence[str] = "abc", seconds: float = 0.0, *, sending: bool = False
) -> Operation:
    """Leave a prepare as a process does that dies with the right to submit it, before it sends it or while it does."""
    operations, action = driving.store.operations, driving.action
    begun = driving.store.groups.open_attempt(action.id, name, "6")
    claim = Claim(action.id, action.site, name, begun.attempt, Phase.PREPARE, tuple(nodes), driving.design_ref)
    operation = operations.begin(claim)
    assert operations.acquire_lease(operation.op, "another process", seconds, sending=sending)
    return operation


def test_rule_13_a_node_that_nobody_mentions_is_unknown(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "unreported")
    driving = begin(site(ABC, [group("all", critical=False, maximum_failed_nodes=0)]))
    record = driving.finish("all")
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert driving.states() == {"a": "prepared", "b": "unknown", "c": "prepared"}


def test_rule_13_a_success_that_the_node_list_contradicts_is_a_failure(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "prepare", "false_success")
    driving = begin(site(ABC, [group("all", percent_successful_nodes=60)]))
    driving.group("all")
    assert driving.states() == {"a": "failure", "b": "success", "c": "success"}


def test_rule_14_a_task_that_outruns_its_timeout_leaves_unknown_nodes(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "stuck")
    driving = begin(site(ABC, [group("all", maximum_failed_nodes=0)]))
    driving.patience = 2.0
    assert isinstance(driving.group("all"), StillRunning)
    assert [one.status_name for one in fake.nodes().values()] == ["Ready", "Commissioning", "Ready"]
    driving.timeout, driving.patience = 0.0, 60.0
    record = driving.finish("all")
    assert record.reason is Reason.PREPARE_CRITERIA
    assert driving.states() == {"a": "prepared", "b": "unknown", "c": "prepared"}


def test_rule_23_a_task_that_starts_again_rejoins_what_is_under_way(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "prepare", "stuck")
    driving = begin(site(ABC, [group("all", percent_successful_nodes=100)]))
    driving.patience = 0.3
    waiting = driving.group("all")
    assert isinstance(waiting, StillRunning)
    again = driving.group("all")
    assert isinstance(again, StillRunning)
    assert again.provisioner_task == waiting.provisioner_task
    fake.release_stuck()
    driving.patience = 60
    record = driving.finish("all")
    assert record.state is GroupState.SUCCESS
    assert len(fake.submissions()) == 2
    assert fake.double() == []


def test_rule_23_clearing_a_failed_group_tries_what_is_not_done(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "deploy", "flaky")
    driving = begin(site(ABC, [group("all", percent_successful_nodes=100)]))
    first = driving.finish("all", "6")
    assert first.reason is Reason.DEPLOY_CRITERIA
    same = driving.finish("all", "6")
    assert same.reason is Reason.DEPLOY_CRITERIA, "a retry by Airflow is not another attempt"
    cleared = driving.finish("all", "8")
    assert (cleared.state, cleared.attempt) == (GroupState.SUCCESS, 2)
    assert fake.submissions()[2:] == [
        ("destroy_nodes", ["a"]),
        ("prepare_nodes", ["a"]),
        ("deploy_nodes", ["a"]),
    ], "its deployment failed, and the provisioner prepares it only when it is released"
    assert fake.double() == []


def test_rule_23_a_succeeded_group_that_is_cleared_submits_nothing(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(ABC, [group("all")]))
    driving.group("all", "6")
    record = driving.finish("all", "8")
    assert (record.state, record.attempt) == (GroupState.SUCCESS, 1)
    assert len(fake.submissions()) == 2


def test_rule_14_a_late_result_is_recorded_before_anything_is_submitted_again(
    begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("b", "prepare", "stuck")
    driving = begin(site(ABC, [group("all", maximum_failed_nodes=0)]))
    driving.timeout = 1.0
    driving.group("all", "6")
    assert driving.states()["b"] == "unknown"
    fake.release_stuck()
    driving.timeout = 30.0
    record = driving.finish("all", "8")
    assert record.state is GroupState.SUCCESS
    assert [task for task in fake.submissions() if task[0] == "prepare_nodes"] == [
        ("prepare_nodes", ["a", "b", "c"])
    ], "b turned out to be prepared, so that nobody is prepared again"
    assert fake.double() == []


def test_rule_24_a_node_held_by_an_older_task_is_left_out_and_forced_in(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "stuck")
    text = site(ABC, [group("all", maximum_failed_nodes=0)])
    driving = begin(text)
    driving.patience = 0.3
    assert isinstance(driving.group("all"), StillRunning)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    assert driving.states()["b"] == "unknown"
    second = begin(text, "run-2")
    second.timeout, second.patience = 1.0, 30.0
    record = second.finish("all")
    assert record.state is GroupState.FAILURE
    assert second.states()["b"] == "not_started"
    assert "b" not in {name for _, nodes in fake.submissions()[1:] for name in nodes}
    assert fake.double() == []
    tasks = {tasks.node: tasks for tasks in second.store.tasks.of_nodes(second.action.id)}
    why = reported_node(tasks["b"])
    (older, *_) = fake.shown_tasks()
    held = f"held by provisioner task {older.task_id} (prepare of group all, action {driving.action.id})"
    assert why.withheld
    since = "which (runs since|was submitted at) 20..-..-.. ..:..:.. UTC, and was not seen to be over"
    assert re.match(f"{re.escape(held)}, {since}. What helps: wait .* ignore_older_tasks$", why.message or "")
    told = [event.message for event in second.store.events.of_action(second.action.id) if event.kind == STEP_WARNING]
    assert [text.startswith(f"Prepare: left out: a, b, c: {held}") for text in told] == [True]


def test_a_node_tells_what_it_waits_for_and_forgets_it(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "stuck", attempt=1)
    text = site(ABC, [group("all")])
    driving = begin(text)
    driving.patience = 0.3
    assert isinstance(driving.group("all"), StillRunning)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    second = begin(text, "run-2")
    assert not second.store.tasks.any_explained(second.action.id)
    second.patience = 0.0
    assert isinstance(second.group("all"), StillRunning)
    waiting = {tasks.node: reported_node(tasks).message for tasks in second.store.tasks.of_nodes(second.action.id)}
    assert all("held by provisioner task" in (message or "") for message in waiting.values())
    assert second.store.tasks.any_explained(second.action.id)
    fake.release_stuck()
    second.patience = 60.0
    second.group("all")
    assert set(second.states().values()) == {"success"}
    assert not second.store.tasks.any_explained(second.action.id)
    assert [tasks.prepare.error for tasks in second.store.tasks.of_nodes(second.action.id)] == [None] * 3


def test_rule_14_ones_own_task_that_died_is_not_waited_for_to_its_timeout(
    begin: Begin, fake: FakeProvisioner, clock: FakeClock
) -> None:
    fake.script("b", "prepare", "stuck", attempt=1)
    driving = begin(site(ABC, [group("all", maximum_failed_nodes=0)]))
    driving.patience = 0.3
    waiting = driving.group("all")
    assert isinstance(waiting, StillRunning)
    clock.sleep(2.0)
    fake.orphan()
    driving.outlive(waiting.provisioner_task)
    fake.set_status("b", "New")
    # As after a long time in the triggerer.
    clock.sleep(600.0)
    driving.timeout, driving.patience = 3600.0, 60.0
    record = driving.finish("all")
    assert record.reason is Reason.PREPARE_CRITERIA
    assert driving.states() == {"a": "prepared", "b": "unknown", "c": "prepared"}
    assert driving.store.operations.unfinished("alpha") == []


def test_rule_24_only_a_group_with_something_to_send_waits_for_older_tasks(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "stuck")
    text = site(ABC, [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"], after=["one"])])
    driving = begin(text)
    driving.group("one")
    driving.patience = 0.3
    assert isinstance(driving.group("two"), StillRunning)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    second = begin(text, "run-2")
    second.store.groups.interrupt(second.action.id, "one")
    second.timeout = 600.0
    # It fails by its dependency, and b is not asked for.
    record = second.finish("two")
    assert record.reason is Reason.DEPENDENCY


def test_rule_24_what_an_older_task_holds_is_submitted_without_waiting(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "prepare", "stuck", attempt=1)
    text = site(ABC, [group("all", maximum_failed_nodes=0)])
    driving = begin(text)
    driving.patience = 0.3
    driving.group("all")
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    second = begin(text, "run-2")
    second.timeout, second.patience = 600.0, 0.0
    assert isinstance(second.group("all", ignore_older_tasks=True), StillRunning)
    assert len(fake.submissions()) == 2, "queued behind the older task, at once"


def test_rule_11_a_group_leaves_alone_what_another_group_is_doing(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "deploy", "stuck")
    shared = [group("one", ["a", "b"], critical=False), group("two", ["b", "c"], critical=False)]
    driving = begin(site(ABC, shared))
    driving.patience = 0.5
    while ("deploy_nodes", ["b", "c"]) not in fake.submissions():
        assert isinstance(driving.group("two"), StillRunning), "b is being deployed by group two"
    assert isinstance(driving.group("one"), StillRunning), "the provisioner does one thing after the other"
    fake.release_stuck()
    driving.patience = 60.0
    one, two = driving.finish("one"), driving.finish("two")
    assert (one.state, two.state) == (GroupState.SUCCESS, GroupState.SUCCESS)
    sent = fake.submissions()
    assert sorted(sent) == sorted(
        [
            ("prepare_nodes", ["b", "c"]),
            ("deploy_nodes", ["b", "c"]),
            ("prepare_nodes", ["a"]),
            ("deploy_nodes", ["a"]),
        ]
    )
    assert driving.states() == {"a": "success", "b": "success", "c": "success"}


def test_rule_12_a_right_that_is_lost_while_looking_sends_nothing(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(ABC, [group("one", ["a"]), group("all")]))
    driving.group("one")
    before = fake.submissions()
    fake.before_sending = lambda: driving.store.locks.release(driving.action.id)
    with pytest.raises(StoreError, match=r"does not hold site|nothing may be submitted|right to submit"):
        driving.group("all")
    assert fake.submissions() == before


def test_rule_12_what_was_never_sent_is_not_looked_for(begin: Begin, fake: FakeProvisioner) -> None:
    """The list of all tasks that the provisioner ever had may take minutes."""
    driving = begin(site(ABC, [group("one", ["a"]), group("two", ["b", "c"])]))
    driving.group("one")
    intended(driving, "two", ["b", "c"])
    driving.group("two")
    assert driving.states() == {"a": "success", "b": "success", "c": "success"}
    assert fake.looks == 0


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "not taken"])
def test_rule_12_what_a_dead_process_may_have_sent_is_looked_for(
    begin: Begin, fake: FakeProvisioner, taken: bool
) -> None:
    driving = begin(site(ABC, [group("all")]))
    operation = intended(driving, sending=True)
    if taken:
        phase, nodes = Phase.PREPARE, operation.nodes
        fake.submit(phase, DesignSource(driving.design_ref), nodes, operation.reference, sent_ago=None)
    driving.group("all")
    assert len(fake.submissions()) == 2
    assert fake.looks >= 1
    assert fake.double() == []


def test_rule_24_what_a_stopped_action_never_sent_holds_nothing(begin: Begin, fake: FakeProvisioner) -> None:
    text = site(ABC, [group("all")])
    driving = begin(text)
    intended(driving, seconds=600.0)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    second = begin(text, "run-2")
    second.group("all")
    assert set(second.states().values()) == {"success"}
    assert fake.looks == 0


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "not taken"])
def test_rule_24_what_a_stopped_action_may_have_sent_is_waited_for_while_it_may_take_effect(
    begin: Begin, fake: FakeProvisioner, taken: bool
) -> None:
    text = site(ABC, [group("all", maximum_failed_nodes=0)])
    driving = begin(text)
    operation = intended(driving, sending=True)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "killed")
    second = begin(text, "run-2")
    if taken:
        fake.script("b", "prepare", "stuck")
        phase, nodes = Phase.PREPARE, operation.nodes
        fake.submit(phase, DesignSource(driving.design_ref), nodes, operation.reference, sent_ago=None)
    else:
        # Or the list is empty, which proves nothing.
        fake.submit(Phase.VERIFY_SITE, DesignSource(driving.design_ref), None, "slipway-other-1", sent_ago=None)
    second.timeout = 3.0
    second.group("all")
    assert fake.looks >= 1
    assert second.states()["b"] == ("not_started" if taken else "success")
    assert fake.double() == []


def test_an_action_that_lost_its_site_submits_nothing(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(ABC, [group("all")]))
    driving.store.locks.release(driving.action.id)
    with pytest.raises(StoreError, match=r"does not hold site|nothing may be submitted|right to submit"):
        driving.group("all")
    assert fake.submissions() == []


def test_a_refused_submission_fails_its_nodes_with_the_provisioners_words(begin: Begin, fake: FakeProvisioner) -> None:
    long_name = "n" * 33
    driving = begin(site([node(long_name)], [group("all", minimum_successful_nodes=1)]))
    record = driving.finish("all")
    assert record.reason is Reason.PREPARE_CRITERIA
    (tasks,) = driving.store.tasks.of_nodes(driving.action.id)
    assert "32 characters" in (tasks.prepare.error or "")
    assert fake.submissions() == []
