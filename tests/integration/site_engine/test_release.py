"""Nodes that the provisioner refuses to prepare are released first (rule 11), with a provisioner in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from site_engine.operations.wait import StillRunning
from site_store import ActionState
from strategy_lib.phase import GroupState, Phase, Reason
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site
from tests.support.stores import done_digests

AB = [node("a"), node("b")]
ALL = group("all", percent_successful_nodes=100)
DESIGN = site(AB, [ALL])
ONLY_B = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["b"]}]}
FAILED = "Failed deployment"
COMMAND = "`slipway create action redeploy_server --param target_nodes=a --site alpha`"

Listed = Callable[..., Driving]


@pytest.fixture
def listed(begin: Begin, fake: FakeProvisioner) -> Listed:
    """Begin an action on a site whose machine a stands in a status that nobody here brought about."""

    def listed(status: str, text: str = DESIGN) -> Driving:
        driving = begin(text)
        fake.set_status("a", status)
        return driving

    return listed


def message(driving: Driving, name: str = "a") -> str:
    """Return what is said of a node that was not prepared."""
    return next(
        tasks.prepare.error or "" for tasks in driving.store.tasks.of_nodes(driving.action.id) if tasks.node == name
    )


def test_rule_11_a_failed_deployment_is_released_before_it_is_prepared(listed: Listed, fake: FakeProvisioner) -> None:
    driving = listed(FAILED)
    assert driving.finish().state is GroupState.SUCCESS
    assert fake.submissions() == [
        ("destroy_nodes", ["a"]),
        ("prepare_nodes", ["a", "b"]),
        ("deploy_nodes", ["a", "b"]),
    ]
    operations = driving.store.operations.of_action(driving.action.id, "all")
    assert [operation.phase for operation in operations] == [
        Phase.RELEASE,
        Phase.PREPARE,
        Phase.DEPLOY,
    ]
    assert {task.reference for task in fake.shown_tasks()} == {one.reference for one in operations}
    assert driving.states() == {"a": "success", "b": "success"}
    assert done_digests(driving.store, "alpha").keys() == {"a", "b"}
    assert fake.double() == []


def test_rule_11_a_group_can_keep_its_failed_deployments(listed: Listed, fake: FakeProvisioner) -> None:
    driving = listed(FAILED, site(AB, [{**ALL, "release_failed": False}]))
    record = driving.finish()
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert fake.submissions() == [("prepare_nodes", ["b"])]
    assert driving.states() == {"a": "failure", "b": "prepared"}
    assert message(driving) == (
        "the node list says Failed deployment: the provisioner refuses to prepare it, and its group has "
        f"release_failed: false. {COMMAND} releases it and deploys it"
    )


def test_rule_11_a_machine_that_somebody_else_allocated_is_left_alone(listed: Listed, fake: FakeProvisioner) -> None:
    driving = listed("Allocated")
    assert driving.finish().state is GroupState.FAILURE
    assert fake.submissions() == [("prepare_nodes", ["b"])]
    said = message(driving)
    assert said.startswith("the node list says Allocated: it cannot be prepared so")
    assert "somebody else's" in said
    assert COMMAND in said


def test_rule_11_a_machine_that_somebody_allocated_since_our_deploy_is_left_alone(
    begin: Begin, fake: FakeProvisioner
) -> None:
    """Our deploy left it in another state: somebody freed and allocated it since."""
    fake.script("a", "deploy", "unreported", attempt=1)
    driving = begin(DESIGN)
    assert driving.finish().state is GroupState.FAILURE
    fake.set_status("a", "Allocated")
    before = len(fake.submissions())
    assert driving.finish(key="8").state is GroupState.FAILURE
    assert fake.submissions()[before:] == []
    assert "somebody else's" in message(driving)


def test_rule_12_a_release_that_is_under_way_is_joined_again(listed: Listed, fake: FakeProvisioner) -> None:
    fake.script("a", "destroy", "stuck")
    driving = listed(FAILED)
    driving.patience = 0.0
    first, again = driving.group("all"), driving.group("all")
    assert isinstance(first, StillRunning)
    assert again == first
    assert driving.states() == {"a": "preparing", "b": "not_started"}
    fake.release_stuck()
    driving.patience = 60.0
    assert driving.finish().state is GroupState.SUCCESS
    assert [action for action, _ in fake.submissions()] == ["destroy_nodes", "prepare_nodes", "deploy_nodes"]
    assert fake.double() == []


def test_rule_13_what_is_not_released_fails_and_is_not_prepared(listed: Listed, fake: FakeProvisioner) -> None:
    fake.script("a", "destroy", "flaky")
    driving = listed(FAILED)
    assert driving.finish().reason is Reason.PREPARE_CRITERIA
    assert fake.submissions() == [("destroy_nodes", ["a"]), ("prepare_nodes", ["b"])]
    assert driving.states() == {"a": "failure", "b": "prepared"}
    assert message(driving).startswith("not released, and so not prepared: Error Releasing node a")
    # It is "Releasing failed" now, by our own doing.
    assert driving.finish(key="8").state is GroupState.SUCCESS
    assert fake.submissions()[2:] == [
        ("destroy_nodes", ["a"]),
        ("prepare_nodes", ["a"]),
        ("deploy_nodes", ["a", "b"]),
    ]
    assert fake.double() == []


def test_rule_14_a_release_that_outruns_its_time_leaves_unknown_nodes_until_it_is_known(
    listed: Listed, fake: FakeProvisioner
) -> None:
    fake.script("a", "destroy", "stuck")
    driving = listed(FAILED)
    driving.timeout = driving.queue_timeout = 0.5
    assert driving.finish().state is GroupState.FAILURE
    # The stuck task blocks the queue, so that b is not prepared in time either.
    assert driving.states() == {"a": "unknown", "b": "unknown"}
    assert message(driving).startswith("not released, and so not prepared: no result in time")
    fake.release_stuck()
    driving.timeout = driving.queue_timeout = 60.0
    assert driving.finish(key="8").state is GroupState.SUCCESS
    assert [task for task in fake.submissions() if task[0] == "destroy_nodes"] == [("destroy_nodes", ["a"])]
    assert fake.double() == []


def test_rule_24_an_action_that_ends_during_a_release_holds_its_nodes(
    listed: Listed, begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("a", "destroy", "stuck")
    driving = listed(FAILED)
    driving.patience = 0.0
    assert isinstance(driving.group("all"), StillRunning)
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled by a test")
    assert driving.states() == {"a": "unknown", "b": "not_started"}
    later = begin(DESIGN, "run-2")
    later.timeout = later.queue_timeout = 0.5
    later.finish()
    assert later.states()["a"] == "not_started"
    assert [nodes for action, nodes in fake.submissions() if "a" in nodes] == [["a"]]
    assert fake.double() == []
