"""A step on named nodes from its start to its verdict (rule 25), with a provisioner and a clock in memory."""

from __future__ import annotations

import pytest

from site_engine.operations.wait import StillRunning
from site_store import ActionState
from strategy_lib.phase import Phase
from tests.support.driving import Begin, Driving, verdict
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site
from tests.support.stores import done_digests

DESTROY, RELABEL = Phase.DESTROY, Phase.RELABEL
DESIGN = site([node("a"), node("b"), node("c")], [group("all", percent_successful_nodes=100)])


@pytest.fixture
def deployed(begin: Begin) -> Driving:
    """Deploy three nodes."""
    driving = begin(DESIGN)
    driving.group("all")
    assert done_digests(driving.store, "alpha").keys() == {"a", "b", "c"}
    return driving


@pytest.fixture
def listed(begin: Begin, fake: FakeProvisioner) -> Driving:
    """Have three machines that were deployed by somebody else: quicker, where only the step itself matters."""
    driving = begin(DESIGN)
    for name in "abc":
        fake.set_status(name, "Deployed")
    return driving


@pytest.mark.parametrize(
    ("step", "behaviour", "state", "words"),
    [
        (DESTROY, "fail", "error", "Error Releasing node b"),
        (DESTROY, "false_success", "error", "the node list says Deployed"),
        (DESTROY, "unreported_done", "unknown", "without a word about it"),
        (RELABEL, "fail", "error", "Failed to label node b"),
        (RELABEL, "unreported", "unknown", "without a word about it"),
    ],
)
def test_rule_25_every_node_must_be_proven_done(
    listed: Driving, fake: FakeProvisioner, step: Phase, behaviour: str, state: str, words: str
) -> None:
    fake.script("b", step.value.removesuffix("_nodes"), behaviour)
    said = verdict(listed, step, "a", "b")
    assert said.startswith(f"{step}: 1 node not proven done: b: ")
    assert words in said
    assert listed.step_states(step) == {"a": "success", "b": state}


def test_rule_23_a_cleared_step_tries_again_what_is_not_done(listed: Driving, fake: FakeProvisioner) -> None:
    fake.script("b", "destroy", "flaky")
    assert verdict(listed, DESTROY, "a", "b") != ""
    before = len(fake.submissions())
    assert verdict(listed, DESTROY, "a", "b") != "", "the same attempt has its verdict"
    assert len(fake.submissions()) == before
    assert verdict(listed, DESTROY, "a", "b", attempt=41) == ""
    assert fake.submissions()[before:] == [("destroy_nodes", ["b"])]
    assert verdict(listed, DESTROY, "a", "b", attempt=62) == "", "nothing is left to do"
    assert len(fake.submissions()) == before + 1
    assert fake.double() == []


def test_rule_12_a_step_that_starts_again_joins_its_provisioner_task(listed: Driving, fake: FakeProvisioner) -> None:
    fake.script("b", "destroy", "stuck")
    listed.patience = 0.0
    first = listed.node_step(DESTROY, ["a", "b"])
    again = listed.node_step(DESTROY, ["a", "b"])
    assert isinstance(first, StillRunning)
    assert again == first
    fake.release_stuck()
    listed.patience = 60.0
    assert verdict(listed, DESTROY, "a", "b") == ""
    assert fake.submissions()[-1:] == [("destroy_nodes", ["a", "b"])]
    assert fake.double() == []


def test_rule_14_what_comes_late_is_known_and_not_sent_again(listed: Driving, fake: FakeProvisioner) -> None:
    fake.script("a", "destroy", "stuck")
    listed.timeout = 0.5
    assert "no result in time" in verdict(listed, DESTROY, "a", "b")
    assert listed.step_states(DESTROY) == {"a": "unknown", "b": "unknown"}, "b waits behind a"
    fake.release_stuck()
    listed.timeout = 60.0
    before = len(fake.submissions())
    assert verdict(listed, DESTROY, "a", "b", attempt=41) == ""
    assert len(fake.submissions()) == before


def test_nodes_that_an_older_task_holds_are_left_out_and_the_step_fails(
    listed: Driving, begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("b", "relabel", "stuck")
    listed.timeout = 0.5
    verdict(listed, RELABEL, "b")
    listed.store.actions.close(listed.action.id, ActionState.CANCELLED, "cancelled by a test")
    later = begin(DESIGN, "run-2")
    later.timeout = later.queue_timeout = 0.5
    # The stuck task blocks the queue, so that what is sent now stays unknown.
    said = verdict(later, DESTROY, "a", "b")
    (older,) = (task.task_id for task in fake.shown_tasks() if task.action == "relabel_nodes")
    assert said.startswith("destroy_nodes: 2 nodes not proven done: a: no result in time; b: held by provisioner task")
    assert fake.submissions()[-1] == ("destroy_nodes", ["a"])
    (told,) = [event.message for event in later.store.events.of_action(later.action.id) if "left out" in event.message]
    assert told.startswith(f"Destroy: left out: b: held by provisioner task {older} (relabel_nodes, action ")
    assert later.step_states(DESTROY)["b"] == "pending"


def test_a_step_that_ignores_older_tasks_does_not_wait(
    listed: Driving, begin: Begin, fake: FakeProvisioner, clock: FakeClock
) -> None:
    fake.script("b", "relabel", "stuck")
    listed.timeout = 0.5
    verdict(listed, RELABEL, "b")
    listed.store.actions.close(listed.action.id, ActionState.CANCELLED, "cancelled by a test")
    later = begin(DESIGN, "run-2")
    clock.after(1.0, fake.release_stuck)
    assert verdict(later, DESTROY, "b", ignore_older_tasks=True) == ""


def test_rule_24_a_cancelled_step_leaves_its_nodes_unknown(listed: Driving, fake: FakeProvisioner) -> None:
    fake.script("b", "destroy", "stuck")
    listed.patience = 0.0
    listed.node_step(DESTROY, ["b"])
    listed.store.actions.close(listed.action.id, ActionState.CANCELLED, "cancelled by a test")
    assert listed.step_states(DESTROY) == {"b": "unknown"}
    (left,) = listed.store.operations.unfinished("alpha", ["b"])
    assert left.phase is Phase.DESTROY


CHAIN = {"a": ("b",), "b": ("c",)}


def test_rule_40_dependants_are_destroyed_before_what_they_wait_for(listed: Driving, fake: FakeProvisioner) -> None:
    assert verdict(listed, DESTROY, "a", "b", "c", waits_for=CHAIN) == ""
    assert fake.submissions() == [("destroy_nodes", ["a"]), ("destroy_nodes", ["b"]), ("destroy_nodes", ["c"])]
    assert verdict(listed, DESTROY, "a", "b", "c", waits_for=CHAIN) == ""
    assert len(fake.submissions()) == 3, "started again, nothing is sent twice"


def test_rule_40_what_a_node_waits_for_stays_where_that_is_not_proven_destroyed(
    listed: Driving, fake: FakeProvisioner
) -> None:
    fake.script("b", "destroy", "flaky")
    said = verdict(listed, DESTROY, "a", "b", "c", waits_for=CHAIN)
    assert "2 nodes not proven done" in said
    assert "c: comes after b, which waits for it and is not proven done" in said
    assert verdict(listed, DESTROY, "a", "b", "c", attempt=21, waits_for=CHAIN) == ""
    assert [nodes for _, nodes in fake.submissions()] == [["a"], ["b"], ["b"], ["c"]]
