"""How operations leave their nodes stands in the nodes, in the transaction that says so; and who is expected to."""

from __future__ import annotations

from site_store import ActionState, Claim, OperationStatus, SiteStore
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, want


def _nodes(store: SiteStore) -> dict[str, NodeRow]:
    return {record.name: record for record in store.nodes.of_site(SITE)}


def _standings(store: SiteStore) -> dict[str, str]:
    return {name: record.standing for name, record in _nodes(store).items()}


def test_a_node_stands_as_its_newest_operation_left_it(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    digests = {"n1": "x", "n2": "x", "n3": "x"}
    want(store, 1, digests)
    ran = site.running({"a": ["n1", "n2", "n3"]}, digests=digests)
    assert _standings(store) == {"n1": "pending", "n2": "pending", "n3": "pending"}
    assert {record.owner for record in _nodes(store).values()} == {"provisioner:slipway_provisioner"}
    record = site.open(ran, "a")
    began = clock.time
    prepared = site.submit(site.begin(record, Phase.PREPARE))
    assert set(_standings(store).values()) == {"processing"}
    clock.move(60)
    failed = outcome(["n1", "n2"], ["n3"], notes={"n3": "no power"})
    store.operations.record_outcome(prepared.op, failed, status=OperationStatus.COMPLETE)
    assert _standings(store) == {"n1": "pending", "n2": "pending", "n3": "error"}
    n3 = _nodes(store)["n3"]
    assert (n3.error, n3.error_action, n3.first_updated, n3.last_updated) == ("no power", ran.id, began, clock.time)
    deployed = site.submit(site.begin(record, Phase.DEPLOY))
    lost = outcome(["n1"], [], ["n2"], notes={"n2": "no answer"})
    store.operations.record_outcome(deployed.op, lost, status=OperationStatus.TIMED_OUT)
    assert _standings(store) == {"n1": "success", "n2": "error", "n3": "error"}
    assert _nodes(store)["n2"].error == "timeout: no answer"
    store.operations.record_late_outcome(deployed.op, outcome(["n2"]))
    n2 = _nodes(store)["n2"]
    assert (n2.standing, n2.error, n2.fixed) == ("success", None, None), "nothing was repeated: the truth came late"


def test_what_succeeds_when_it_is_repeated_says_what_had_to_be_fixed_and_when(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    want(store, 1, {"n1": "x", "n2": "x"})
    ran, record = site.opened({"a": ["n1", "n2"]}, digests={"n1": "x", "n2": "x"})
    site.do(record, Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no power"}))
    site.do(record, Phase.DEPLOY)
    site.fail(record)
    again = site.open(ran, "a", "second")
    (n1, n2) = store.tasks.of_step(ran.id, Phase.PREPARE)
    assert (n1[1].status, n1[1].error) == ("pending", None)
    clock.move(3600)
    site.deploy(again)
    said = "no power (succeeded at 2026-11-21 13:00:00 UTC)"
    (n1, n2) = store.tasks.of_step(ran.id, Phase.PREPARE)
    assert (n1[1].fixed, n2[1].fixed) == (said, None)
    assert [one.fixed for _, one in store.tasks.of_step(ran.id, Phase.DEPLOY)] == [None, None], "it never failed"
    nodes = _nodes(store)
    assert (nodes["n1"].standing, nodes["n1"].error, nodes["n1"].fixed) == ("success", None, said)
    assert (nodes["n2"].standing, nodes["n2"].fixed) == ("success", None)


def test_a_step_that_destroys_leaves_nodes_deleted_and_a_closed_action_leaves_none_at_work(
    store: SiteStore, site: Scenario
) -> None:
    want(store, 1, {"n1": "x"})
    ran = site.running({"a": ["n3"]})
    step = store.operations.begin(Claim(ran.id, SITE, None, 1, Phase.DESTROY, ["n1", "n2"], "file:///design"))
    site.submit(step)
    assert _standings(store)["n2"] == "processing"
    store.operations.record_outcome(step.op, outcome(["n1", "n2"]), status=OperationStatus.COMPLETE)
    assert {name: record.status for name, record in _nodes(store).items()} == {"n1": "deleted", "n2": "deleted"}
    assert _standings(store) == {"n1": "pending", "n2": "deleted"}, "n1 is wanted again"
    begun = site.submit(site.begin(site.open(ran, "a"), Phase.PREPARE))
    assert _standings(store)["n3"] == "processing"
    store.actions.close(ran.id, ActionState.CANCELLED, "stopped")
    n3 = _nodes(store)["n3"]
    assert (n3.status, n3.error) == ("error", "lost: the action ended before its result was known")
    store.operations.record_late_outcome(begun.op, outcome(["n3"]))
    assert _nodes(store)["n3"].status is None


def test_a_released_node_is_at_work_no_longer_and_one_that_cannot_be_sent_has_failed(
    store: SiteStore, site: Scenario
) -> None:
    ran, record = site.opened({"a": ["n1", "n2"]})
    released = site.submit(site.begin(record, Phase.RELEASE, ["n1"]))
    assert _nodes(store)["n1"].status == "processing"
    store.operations.record_outcome(released.op, outcome(["n1"]), status=OperationStatus.COMPLETE)
    assert _nodes(store)["n1"].status is None
    site.begin(record, Phase.PREPARE, ["n1"])
    store.tasks.fail_unsent(ran.id, SITE, "a", record.attempt, {"n2": "it is somebody else's"})
    assert store.tasks.of_step(ran.id, Phase.PREPARE)[1][1].error == "it is somebody else's"
    assert _nodes(store)["n1"].status == "processing"


def test_who_is_expected_is_known_from_the_plan_on_and_follows_the_connection(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "x"})
    ran = site.running({"a": ["n1"]}, digests={"n1": "x"})
    assert store.tasks.of_step(ran.id, Phase.DEPLOY)[0][1].owner == "provisioner:slipway_provisioner"
    store.actions.decide_connection(ran.id, "drydock_north")
    assert store.tasks.of_step(ran.id, Phase.DEPLOY)[0][1].owner == "provisioner:drydock_north"
    assert _nodes(store)["n1"].owner == "provisioner:drydock_north"


def test_rule_35_a_node_that_is_withheld_says_when_and_begins_anew_with_its_group(
    site: Scenario, clock: FakeClock
) -> None:
    ran, record = site.opened({"a": ["n1", "n2"]})
    clock.move(5)
    site.store.tasks.settle_deployed(ran.id, Phase.PREPARE, [], {"n2": "design changed"})
    times = [
        (task.status, task.started, task.ended)
        for phase in (Phase.PREPARE, Phase.DEPLOY)
        for name, task in site.store.tasks.of_step(ran.id, phase)
        if name == "n2"
    ]
    assert times == [("withheld", clock.time, clock.time)] * 2
    site.fail(record)
    site.store.groups.open_attempt(ran.id, "a", "again")
    (_, n2) = site.store.tasks.of_step(ran.id, Phase.DEPLOY)
    assert (n2[1].status, n2[1].started, n2[1].ended) == ("pending", None, None)


def test_rule_35_a_node_that_is_as_wanted_already_has_its_times_and_owner(site: Scenario, clock: FakeClock) -> None:
    ran = site.running({"a": ["n1", "n2"]}, done=["n1"])
    planned = clock.time
    clock.move(5)
    site.store.tasks.settle_deployed(ran.id, Phase.PREPARE, ["n2"], {})
    owner = "provisioner:slipway_provisioner"
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        (_, n1), (_, n2) = site.store.tasks.of_step(ran.id, phase)
        assert (n1.status, n1.started, n1.ended, n1.owner) == ("success", planned, planned, owner)
        assert (n2.status, n2.started, n2.ended, n2.owner) == ("success", clock.time, clock.time, owner)
