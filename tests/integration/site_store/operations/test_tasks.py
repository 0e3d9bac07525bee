"""Steps of nodes without a group: destroyed or labelled once, and every node known for what became of it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from site_store import ActionRecord, ActionState, Claim, NewPlan, Operation, OperationStatus, PlannedGroup, StoreError
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, Scenario, outcome, want
from tests.support.stores import done_digests

DESTROY, RELABEL = Phase.DESTROY, Phase.RELABEL


def begin(
    site: Scenario,
    action: ActionRecord,
    nodes: Collection[str],
    phase: Phase = DESTROY,
    attempt: int = 0,
) -> Operation:
    return site.store.operations.begin(Claim(action.id, SITE, None, attempt, phase, nodes, "file:///design"))


def tasks(site: Scenario, action: ActionRecord, phase: Phase = DESTROY) -> dict[str, str]:
    return {name: str(found.status) for name, found in site.store.tasks.of_step(action.id, phase)}


@pytest.fixture
def action(site: Scenario) -> ActionRecord:
    """Hold the site for an action without a plan; two nodes were deployed before."""
    want(site.store, 1, {"n1": "d1", "n2": "d2"})
    before, record = site.opened({"a": ["n1", "n2"]}, "before", digests={"n1": "d1", "n2": "d2"})
    site.deploy(record)
    site.store.actions.close(before.id, ActionState.SUCCESS, "")
    assert done_digests(site.store, SITE) == {"n1": "d1", "n2": "d2"}
    return site.holding("now")


def test_a_step_claims_its_nodes_and_says_what_became_of_them(site: Scenario, action: ActionRecord) -> None:
    assert site.store.tasks.of_step(action.id, DESTROY) == []
    operation = site.submit(begin(site, action, ["n2", "n1", "n3", "n1"]))
    assert operation.nodes == ("n1", "n2", "n3")
    assert tasks(site, action) == dict.fromkeys(("n1", "n2", "n3"), "processing")
    assert begin(site, action, ["n9"]).op == operation.op
    site.clock.move(5)
    superseded = site.record(
        operation,
        outcome(["n1"], ["n2"], ["n3"], notes={"n2": "no power"}),
        status=OperationStatus.COMPLETE,
        result="partial_success",
    )
    assert superseded == frozenset()
    assert tasks(site, action) == {"n1": "success", "n2": "error", "n3": "unknown"}
    name, failed = site.store.tasks.of_step(action.id, DESTROY)[1]
    assert (name, failed.error, failed.op, failed.ended) == ("n2", "no power", operation.op, site.clock.time)
    assert (failed.provisioner_task, failed.owner_group) == (operation.provisioner_task, None)
    assert tasks(site, action, RELABEL) == {}
    assert f"operation {operation.op}: destroy_nodes of 3 nodes" in {
        e.message for e in site.store.events.of_action(action.id)
    }


def test_a_destroyed_node_is_done_in_no_version_and_a_labelled_one_stays_done(
    site: Scenario, action: ActionRecord
) -> None:
    labelled = begin(site, action, ["n1"], RELABEL)
    assert done_digests(site.store, SITE) == {"n1": "d1", "n2": "d2"}
    site.record(labelled, outcome(["n1"]), status=OperationStatus.COMPLETE)
    begin(site, action, ["n2", "new"])
    assert done_digests(site.store, SITE) == {"n1": "d1"}
    newest = {record.name: record.op for record in site.store.nodes.of_site(SITE)}
    assert newest == {"n1": labelled.op, "n2": labelled.op + 1, "new": labelled.op + 1}


def test_another_attempt_takes_only_what_is_not_done(site: Scenario, action: ActionRecord) -> None:
    first = begin(site, action, ["n1", "n2", "n3"])
    site.record(first, outcome(["n1"], ["n2"], ["n3"]), status=OperationStatus.TIMED_OUT)
    again = begin(site, action, ["n1", "n2", "n3", "n4"], attempt=1)
    assert again.nodes == ("n2", "n3", "n4")
    assert [found.error for _, found in site.store.tasks.of_step(action.id, DESTROY)] == [None] * 4
    # At work under another attempt, or done: nothing is left to take.
    third = begin(site, action, ["n1", "n2"], attempt=2)
    assert (third.nodes, third.status, third.result) == ((), OperationStatus.COMPLETE, "nothing to do")
    # The first one's late word changes nothing of what is in the second one's hands.
    assert site.record_late(first, outcome(["n3"])) == frozenset()
    site.record(again, outcome(["n2", "n3", "n4"]), status=OperationStatus.COMPLETE)
    assert set(tasks(site, action).values()) == {"success"}


def test_what_is_superseded_is_told(site: Scenario, action: ActionRecord) -> None:
    first = begin(site, action, ["n1"])
    site.record(first, outcome(unknown=["n1"]), status=OperationStatus.TIMED_OUT)
    begin(site, action, ["n1"], attempt=1)
    assert site.record(first, outcome(["n1"])) == {"n1"}
    assert tasks(site, action) == {"n1": "processing"}


def test_rule_24_an_ended_action_leaves_no_step_at_work(site: Scenario, action: ActionRecord) -> None:
    operation = site.submit(begin(site, action, ["n1"]))
    site.store.actions.close(action.id, ActionState.CANCELLED, "stopped")
    assert tasks(site, action) == {"n1": "unknown"}
    assert [one.op for one in site.store.operations.unfinished(SITE, ["n1"])] == [operation.op]
    assert site.record_late(operation, outcome(["n1"])) == {"n1"}
    assert tasks(site, action) == {"n1": "success"}
    with pytest.raises(StoreError, match=r"does not hold site|nothing may be submitted|right to submit"):
        begin(site, action, ["n1"], attempt=1)


def test_a_destroyed_node_is_prepared_and_deployed_in_the_same_action(site: Scenario, action: ActionRecord) -> None:
    operation = begin(site, action, ["n1"])
    site.record(operation, outcome(["n1"]), status=OperationStatus.COMPLETE)
    site.store.groups.save_plan(
        action.id, NewPlan([PlannedGroup(Group("target-group", critical=True), ("n1",))], [], {"n1": "d1"})
    )
    assert site.states(action) == {"n1": "not_started"}
    record = site.open(action, "target-group")
    site.deploy(record)
    assert site.states(action) == {"n1": "success"}
    assert tasks(site, action) == {"n1": "success"}
    assert done_digests(site.store, SITE) == {"n1": "d1", "n2": "d2"}
    assert [tasks.node for tasks in site.store.reports.facts(action.id).nodes] == ["n1"]


def test_why_a_node_of_a_step_is_not_sent_is_kept_until_it_is_claimed(site: Scenario, action: ActionRecord) -> None:
    begin(site, action, ["n1"])
    assert not site.store.tasks.any_explained(action.id)
    site.store.tasks.explain_pending(action.id, DESTROY, ["n1", "n2"], "held by provisioner task 7")
    assert site.store.tasks.any_explained(action.id)
    found = {name: (str(task.status), task.error) for name, task in site.store.tasks.of_step(action.id, DESTROY)}
    assert found == {"n1": ("processing", None), "n2": ("pending", "held by provisioner task 7")}
    assert begin(site, action, ["n2"], attempt=1).nodes == ("n2",)
    assert {task.error for _, task in site.store.tasks.of_step(action.id, DESTROY)} == {None}


def test_why_a_node_of_a_group_is_not_sent_is_kept_until_it_is_claimed(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2", "n3"]})
    site.do(record, Phase.PREPARE, outcome(["n3"]))

    def said() -> dict[str, tuple[str | None, str | None]]:
        return {one.node: (one.prepare.error, one.deploy.error) for one in site.store.tasks.of_nodes(action.id)}

    site.store.tasks.explain_pending(action.id, Phase.DEPLOY, ["n3", "stranger"], "held")
    assert said()["n3"] == (None, "held")
    assert set(said()) == {"n1", "n2", "n3"}
    site.store.tasks.explain_pending(action.id, Phase.PREPARE, ["n3"], "it waits for nothing in this phase")
    assert said()["n3"] == (None, "held")
    site.begin(record, Phase.DEPLOY, ["n3"])
    assert said()["n3"] == (None, None)


def test_a_reason_that_holds_no_more_is_forgotten(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    site.store.tasks.explain_pending(action.id, Phase.PREPARE, ["n1", "n2"], "held")
    site.store.tasks.explain_pending(action.id, Phase.PREPARE, ["n1"], None)
    assert [one.prepare.error for one in site.store.tasks.of_nodes(action.id)] == [None, "held"]
    site.store.tasks.explain_pending(action.id, Phase.PREPARE, ["n2"], None)
    assert not site.store.tasks.any_explained(action.id)
