"""Results are written only where their operation is still the newest (rules 13 and 14)."""

from __future__ import annotations

import pytest

from site_store import ActionState, OperationStatus, SiteStore
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase
from strategy_lib.status.node_row import NodeRow
from tests.integration.site_store.scenario import SITE, Scenario, outcome, want
from tests.support.revisions import commit_design
from tests.support.stores import done_digests


def node(store: SiteStore, name: str) -> NodeRow:
    return next(record for record in store.nodes.of_site(SITE) if record.name == name)


def kinds(store: SiteStore, action_id: str) -> list[tuple[str, str | None]]:
    noise = {"site_acquired", "operation_begun", "outcome", "new_attempt", "action_closed"}
    return [(event.kind, event.node) for event in store.events.of_action(action_id) if event.kind not in noise]


def test_rule_13_each_node_gets_its_own_result(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2", "n3"]})
    result = Outcome(
        frozenset({"n1"}), frozenset({"n2"}), frozenset({"n3"}), frozenset({"stranger"}), {"n2": "no disk", "n3": "?"}
    )
    operation = site.do(record, Phase.PREPARE, result)
    assert site.states(action) == {"n1": "prepared", "n2": "failure", "n3": "unknown"}
    errors = {tasks.node: tasks.prepare.error for tasks in site.store.tasks.of_nodes(action.id)}
    assert errors == {"n1": None, "n2": "no disk", "n3": "?"}
    assert kinds(site.store, action.id) == [("ignored", "stranger")]
    assert (operation.status, operation.result, operation.ended) == (
        OperationStatus.COMPLETE,
        "success",
        site.clock.time,
    )


@pytest.mark.parametrize(
    ("succeeded", "left"),
    [
        (["n1", "n2", "n3", "n4"], {}),
        # Those that are left out are fewer.
        (["n1", "n2", "n3"], {"n4": "preparing"}),
        # Those that are named are fewer, or as many.
        (["n1"], {"n2": "preparing", "n3": "preparing", "n4": "preparing"}),
        (["n1", "n2"], {"n3": "preparing", "n4": "preparing"}),
        (["n1", "n2", "n3", "n4", "of-no-operation"], {}),
    ],
)
def test_rule_13_only_what_is_named_is_changed(site: Scenario, succeeded: list[str], left: dict[str, str]) -> None:
    """Also of an outcome that leaves out some nodes of its operation, in the task and in the node."""
    names = ["n1", "n2", "n3", "n4"]
    action = site.running({"a": names})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    superseded = site.record(operation, outcome(succeeded))
    assert superseded == frozenset(succeeded).difference(names)
    assert site.states(action) == dict.fromkeys(names, "prepared") | left
    statuses = {name: node(site.store, name).status for name in names}
    assert statuses == {name: "processing" if name in left else None for name in names}


def test_rule_13_recording_again_changes_nothing(site: Scenario) -> None:
    """A process that dies after the write does it again, perhaps with less to show for it."""
    action = site.running({"a": ["n1", "n2"]})
    operation = site.do(site.open(action, "a"), Phase.PREPARE, outcome(["n1"], ["n2"]))
    assert site.record(operation, outcome(["n1"], ["n2"])) == frozenset()
    assert site.record(operation, outcome(unknown=["n1", "n2"])) == frozenset()
    assert site.states(action) == {"n1": "prepared", "n2": "failure"}
    assert kinds(site.store, action.id) == []


def test_rule_13_a_contradiction_goes_to_the_history_only(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.do(site.open(action, "a"), Phase.PREPARE)
    assert site.record(operation, outcome(failed=["n1"])) == frozenset()
    assert site.states(action) == {"n1": "prepared"}
    assert kinds(site.store, action.id) == [("contradiction", "n1")]


def test_rule_14_a_superseded_result_goes_to_the_history_only(site: Scenario) -> None:
    action, first = site.opened({"a": ["n1", "n2"]}, key="k1")
    old = site.submit(site.begin(first, Phase.PREPARE))
    site.fail(first)
    second = site.open(action, "a", "k2")
    new = site.submit(site.begin(second, Phase.PREPARE, ["n1"]))
    late = outcome(["n2"], ["n1"], notes={"n1": "burnt"})
    assert site.record(old, late) == {"n1", "n2"}
    assert site.states(action) == {"n1": "preparing", "n2": "not_started"}
    assert site.record_late(old, late) == frozenset()
    assert site.states(action) == {"n1": "preparing", "n2": "not_started"}
    superseded = [event for event in site.store.events.of_action(action.id) if event.kind == "superseded"]
    assert [event.node for event in superseded] == ["n1", "n2"]
    assert "burnt" in superseded[0].message
    assert superseded[0].data == {"op": old.op, "result": "failure"}
    assert site.record(new, outcome(["n1"])) == frozenset()
    assert site.states(action)["n1"] == "prepared"


def test_rule_14_a_late_result_makes_an_unknown_node_known(site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2", "n3", "n4"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    timed_out = outcome(["n1"], (), ["n2", "n3", "n4"], {"n2": "no result in time", "n3": "no result in time"})
    site.record(operation, timed_out, status=OperationStatus.TIMED_OUT)
    site.fail(record)
    site.clock.move(900)
    late = outcome(["n2"], ["n1", "n3"], ["n4"], {"n3": "no power"})
    assert site.record_late(operation, late, "seen over 15 minutes later") == {"n2", "n3"}
    # n1 was proven, and stays.
    assert site.states(action) == {"n1": "prepared", "n2": "prepared", "n3": "failure", "n4": "unknown"}
    errors = {tasks.node: tasks.prepare.error for tasks in site.store.tasks.of_nodes(action.id)}
    assert errors == {"n1": None, "n2": None, "n3": "no power", "n4": None}
    assert [name for kind, name in kinds(site.store, action.id) if kind == "late_result"] == ["n2", "n3"]
    assert site.store.groups.get(action.id, "a").state is GroupState.FAILURE
    assert site.store.operations.unfinished(SITE) == []


def test_rule_14_a_late_glimpse_does_not_end_the_waiting(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    site.record(operation, outcome(unknown=["n1", "n2"]), status=OperationStatus.TIMED_OUT)
    assert site.record_late(operation, outcome(["n1"]), over=False) == {"n1"}
    assert [item.op for item in site.store.operations.unfinished(SITE)] == [operation.op]


def test_rule_14_nodes_are_unsettled_until_something_is_proven_of_them(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2", "n3"]})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    assert site.store.tasks.unsettled(operation.op) == {"n1", "n2", "n3"}
    timed_out = outcome(["n1"], unknown=["n2", "n3"])
    site.record(operation, timed_out, status=OperationStatus.TIMED_OUT)
    assert site.store.tasks.unsettled(operation.op) == {"n2", "n3"}, "n1 is proven"
    site.record_late(operation, outcome((), ["n2"]), over=False)
    assert site.store.tasks.unsettled(operation.op) == {"n3"}


def test_rule_14_a_late_result_of_work_that_was_never_judged_counts_too(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    assert site.record_late(operation, outcome(["n1"], unknown=["n2"])) == {"n1"}
    assert site.states(action) == {"n1": "prepared", "n2": "unknown"}


def test_rule_14_a_late_result_never_touches_a_later_action(site: Scenario) -> None:
    digests = {"n1": "v1", "n2": "v1"}
    first, record = site.opened({"a": ["n1", "n2"]}, "run-1", digests=digests)
    site.do(record, Phase.PREPARE)
    old = site.submit(site.begin(record, Phase.DEPLOY))
    site.store.actions.close(first.id, ActionState.CANCELLED, "cancelled")
    second = site.running({"a": ["n1"]}, "run-2", digests={"n1": "v2"})
    new = site.submit(site.begin(site.open(second, "a"), Phase.PREPARE))

    assert site.record_late(old, outcome(["n1", "n2"])) == {"n1", "n2"}
    # In the history of the first action both are known now; of the node itself only the untouched one is done.
    assert site.states(first) == {"n1": "success", "n2": "success"}
    assert site.states(second) == {"n1": "preparing"}
    assert done_digests(site.store, SITE) == {"n2": "v1"}
    assert node(site.store, "n1").op == new.op


def test_rule_21_what_was_done_names_the_version_it_was_done_for(site: Scenario) -> None:
    """The wish moves on while the action is under way; what it does is still what it was asked to do."""
    store = site.store
    commit_design(store, SITE, "first", [])
    want(store, 1, {"n1": "v1", "n2": "v1"})
    record = site.open(site.running({"a": ["n1", "n2"]}, digests={"n1": "v1", "n2": "v1"}), "a")
    site.do(record, Phase.PREPARE)
    commit_design(store, SITE, "second", [])
    want(store, 2, {"n1": "v2", "n2": "v1"})
    site.clock.move(60)
    deploy = site.do(record, Phase.DEPLOY)
    n1, n2 = node(store, "n1"), node(store, "n2")
    assert (n1.wanted_revision, n1.wanted_digest, n1.done_revision, n1.done_digest) == (2, "v2", 1, "v1")
    assert (n1.op, n1.done_at) == (deploy.op, site.clock.time)
    assert (n1.is_up_to_date, n2.is_up_to_date) == (False, True)


def test_rule_21_a_node_is_no_longer_done_from_the_moment_it_is_claimed(site: Scenario) -> None:
    first, record = site.opened({"a": ["n1", "n2"]}, "run-1", digests={"n1": "v1", "n2": "v1"})
    site.deploy(record)
    site.store.actions.close(first.id, ActionState.SUCCESS, "done")
    assert done_digests(site.store, SITE) == {"n1": "v1", "n2": "v1"}
    again = site.open(site.running({"a": ["n1", "n2"]}, "run-2", done=["n2"], digests={"n1": "v2", "n2": "v1"}), "a")
    site.begin(again, Phase.PREPARE)
    assert done_digests(site.store, SITE) == {"n2": "v1"}
    assert (node(site.store, "n1").done_revision, node(site.store, "n1").done_at) == (None, None)


@pytest.mark.parametrize(
    ("found", "noted", "done"),
    [
        pytest.param({"n1": "ready"}, {"n1": "ready"}, True, id="changed by this deploy"),
        pytest.param({}, {"n1": "not_listed"}, False, id="not listed before"),
        pytest.param({"n1": "deployed"}, {"n1": "deployed"}, False, id="deployed before"),
        pytest.param(None, {}, True, id="begun by an older version, which did not look"),
    ],
)
def test_rule_13_a_success_is_recorded_as_done_only_where_the_list_showed_it_undeployed_before(
    site: Scenario, found: dict[str, str] | None, noted: dict[str, str], done: bool
) -> None:
    record = site.open(site.running({"a": ["n1"]}, digests={"n1": "v1"}), "a")
    site.do(record, Phase.PREPARE)
    deploy = site.submit(site.begin(record, Phase.DEPLOY, found=found))
    assert site.store.tasks.found_before(deploy.op) == noted
    site.record(deploy, outcome(["n1"]), status=OperationStatus.COMPLETE)
    assert done_digests(site.store, SITE) == ({"n1": "v1"} if done else {})


def test_rule_21_only_deployed_nodes_are_done(site: Scenario) -> None:
    record = site.open(site.running({"a": ["n1", "n2", "n3"]}, digests=dict.fromkeys(["n1", "n2", "n3"], "v1")), "a")
    site.do(record, Phase.PREPARE)
    assert done_digests(site.store, SITE) == {}
    assert node(site.store, "n1").done_at is None
    site.do(record, Phase.DEPLOY, outcome(["n1"], ["n2"], ["n3"]))
    assert done_digests(site.store, SITE) == {"n1": "v1"}
