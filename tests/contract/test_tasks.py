"""Contract: what a provisioner says about its tasks and about nodes, and what may be concluded (rules 13 and 14)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import ProvisionerRefused, TaskNotFound
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskState, TaskTree
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence, Outcome, judge
from strategy_lib.phase import NODE_STEPS, SUBMITTED_PHASES, Phase
from tests.contract.conftest import Publish
from tests.contract.in_use import BACKEND
from tests.contract.servers import ContractDrydock

Run = Callable[..., str]
Finish = Callable[..., ProvisionerTask]

NODES = ["c1", "c2", "w1"]
# A real MAAS, or Ironic, does not forget that a machine was prepared.
UNUSED = {NodeCondition.NEW, NodeCondition.READY} if BACKEND in ("maas", "ironic") else {NodeCondition.NEW}
LISTS = pytest.mark.drydock_alone("MAAS has no lists of results that could lie")


def outcome(provisioner: Provisioner, phase: Phase, task_id: str, sent: Collection[str]) -> Outcome:
    return judge(phase, sent, provisioner.evidence(TaskRef(task_id), sent))


def until(provisioner: Provisioner, task_id: str, holds: Callable[[Evidence], bool]) -> Evidence:
    deadline = time.monotonic() + 15
    while True:
        # As the engine does: who is asked after a task goes on with it, where he does it piece by piece.
        provisioner.task(TaskRef(task_id))
        evidence = provisioner.evidence(TaskRef(task_id), NODES)
        if holds(evidence):
            return evidence
        assert time.monotonic() < deadline, evidence
        time.sleep(0.02)


def is_new(provisioner: Provisioner, name: str) -> bool:
    """A machine that was never prepared, or that was destroyed, need not be listed."""
    listed = provisioner.nodes()
    return name not in listed or listed[name].condition in UNUSED


def test_nodes_are_prepared_and_then_deployed(provisioner: Provisioner, run: Run) -> None:
    assert is_new(provisioner, "c1")
    task_id = run(Phase.PREPARE, NODES, "slipway-a-1")
    assert outcome(provisioner, Phase.PREPARE, task_id, NODES).succeeded == set(NODES)
    listed = provisioner.nodes()
    assert {listed[name].condition for name in NODES} == {NodeCondition.READY}
    task_id = run(Phase.DEPLOY, NODES, "slipway-a-2")
    assert outcome(provisioner, Phase.DEPLOY, task_id, NODES).succeeded == set(NODES)
    listed = provisioner.nodes()
    assert {listed[name].condition for name in NODES} == {NodeCondition.DEPLOYED}
    assert is_new(provisioner, "w4")


def test_a_task_of_one_node(provisioner: Provisioner, run: Run) -> None:
    task_id = run(Phase.PREPARE, ["w4"], "slipway-a-1")
    assert outcome(provisioner, Phase.PREPARE, task_id, ["w4"]).succeeded == {"w4"}


@pytest.mark.parametrize("phase", [Phase.VERIFY_SITE, Phase.PREPARE_SITE])
def test_a_task_of_the_whole_site_is_found_again_too(provisioner: Provisioner, run: Run, phase: Phase) -> None:
    task_id = run(phase, None, "slipway-a-1")
    found = provisioner.find("slipway-a-1")
    assert found is not None
    assert (found.task_id, found.action, found.state) == (task_id, phase.value, TaskState.COMPLETE)
    assert found.result in ("success", "partial_success")


def test_trap_3_lists_come_at_the_end_and_children_before(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, finish: Finish
) -> None:
    simulator.script("c2", "prepare", "stuck")
    task_id = provisioner.submit(Phase.PREPARE, design, NODES, "slipway-a-1")
    evidence = until(provisioner, task_id, lambda one: len(one.child_success) == 2)
    assert evidence.child_success == {"c1", "w1"}
    assert not evidence.over
    assert evidence.reported_success == frozenset()
    assert evidence.condition["c2"] is NodeCondition.COMMISSIONING
    task = provisioner.task(TaskRef(task_id))
    assert (task.state, task.result, task.successes) == (TaskState.RUNNING, "incomplete", frozenset())
    assert judge(Phase.PREPARE, NODES, evidence).unknown == {"c2"}
    simulator.release_stuck()
    assert finish(provisioner, task_id).successes == set(NODES)


@pytest.mark.parametrize("phase", SUBMITTED_PHASES)
def test_a_partial_failure_names_the_node_and_says_why(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run, phase: Phase
) -> None:
    if phase is Phase.DEPLOY:
        run(Phase.PREPARE, NODES, "slipway-a-0")
    simulator.script("c2", phase, "fail")
    task_id = run(phase, NODES, "slipway-a-1")
    answer = outcome(provisioner, phase, task_id, NODES)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.failed == {"c2"}
    assert provisioner.evidence(TaskRef(task_id), NODES).messages["c2"]


@pytest.mark.parametrize("phase", SUBMITTED_PHASES)
@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        pytest.param("both_lists", "failed", id="trap 4: in both lists", marks=LISTS),
        pytest.param("false_success", "failed", id="trap 9: false success", marks=LISTS),
        pytest.param("unreported", "unknown", id="trap 2: in no list", marks=LISTS),
        pytest.param("unreported_done", "succeeded", id="rule 13: in no list, proven by the node list", marks=LISTS),
        pytest.param("slow", "succeeded", id="slow"),
    ],
)
@pytest.mark.parametrize("nodes", [NODES, ["c2"]], ids=["among others", "alone"])
def test_what_becomes_of_a_node(
    simulator: ContractDrydock,
    provisioner: Provisioner,
    run: Run,
    phase: Phase,
    behaviour: str,
    expected: str,
    nodes: list[str],
) -> None:
    if phase is Phase.DEPLOY:
        run(Phase.PREPARE, nodes, "slipway-a-0")
    simulator.script("c2", phase, behaviour, factor=2)
    task_id = run(phase, nodes, "slipway-a-1")
    answer = outcome(provisioner, phase, task_id, nodes)
    assert "c2" in getattr(answer, expected)
    assert answer.succeeded >= set(nodes) - {"c2"}


@pytest.mark.drydock_alone("trap 26; of MAAS such a node has failed")
def test_a_node_whose_ipmi_does_not_answer_is_in_no_list(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run
) -> None:
    simulator.script("c2", "prepare", "power")
    answer = outcome(provisioner, Phase.PREPARE, run(Phase.PREPARE, NODES, "slipway-a-1"), NODES)
    assert answer.succeeded == {"c1", "w1"}
    assert (set(answer.failed), set(answer.unknown)) == (set(), {"c2"})


@pytest.mark.drydock_alone("trap 25; MAAS has no boot actions")
def test_trap_25_a_deploy_of_a_design_without_boot_actions_says_so(
    provisioner: Provisioner, site_file: Path, publish: Publish, run: Run, finish: Finish
) -> None:
    run(Phase.PREPARE, ["w4"], "slipway-a-1")
    documents = site_file.read_text().split("\n---\n")
    text = "\n---\n".join(one for one in documents if "drydock/BootAction/v1" not in one)
    bare = replace(publish(text), read=lambda: text)
    task_id = provisioner.submit(Phase.DEPLOY, bare, ["w4"], "slipway-a-2")
    finish(provisioner, task_id)
    evidence = provisioner.evidence(TaskRef(task_id, Phase.DEPLOY, design=bare), ["w4"])
    answer = judge(Phase.DEPLOY, ["w4"], evidence)
    assert answer.unknown == {"w4"}
    assert "DD4001" in answer.notes["w4"]


@pytest.mark.drydock_alone("trap 29; MAAS's events say when it is done")
@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DEPLOY])
def test_a_node_that_maas_is_still_at_work_on_is_reported_as_a_success_and_not_proven(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run, phase: Phase
) -> None:
    if phase is Phase.DEPLOY:
        run(Phase.PREPARE, NODES, "slipway-a-0")
    simulator.script("c2", phase, "taken_for_done", factor=100_000)
    task_id = run(phase, NODES, "slipway-a-1")
    assert "c2" in provisioner.task(TaskRef(task_id)).successes
    answer = outcome(provisioner, phase, task_id, NODES)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == answer.awaited == {"c2"}


def tasks_of(tree: TaskTree) -> Iterator[TaskTree]:
    yield tree
    for child in tree.children:
        yield from tasks_of(child)


@pytest.mark.parametrize("nodes", [NODES, ["c2"]], ids=["among others", "alone"])
@pytest.mark.parametrize("phase", [Phase.DEPLOY, Phase.DESTROY])
def test_the_tree_of_a_task_is_that_of_one_node(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run, phase: Phase, nodes: list[str]
) -> None:
    run(Phase.PREPARE, nodes, "slipway-a-0")
    if phase is Phase.DESTROY:
        run(Phase.DEPLOY, nodes, "slipway-a-00")
    simulator.script("c2", phase.value.removesuffix("_nodes"), "fail")
    task_id = run(phase, nodes, "slipway-a-1")
    tree = provisioner.task_tree(TaskRef(task_id, phase=phase, reference="slipway-a-1"), "c2")
    assert (tree.task.task_id, tree.task.state) == (task_id, TaskState.COMPLETE)
    said = [message for one in tasks_of(tree) for message in one.task.messages]
    assert any(message.error and message.context == "c2" for message in said)
    assert {message.context for message in said} <= {"c2", None}
    below = [one for one in tasks_of(tree) if one is not tree]
    assert all("c2" in one.nodes for one in below)
    assert {one.task.task_id for one in tasks_of(provisioner.task_tree(TaskRef(task_id)))} >= {task_id}


def test_the_tree_of_a_task_that_is_gone(provisioner: Provisioner, run: Run) -> None:
    run(Phase.PREPARE, ["c2"], "slipway-a-1")
    with pytest.raises(TaskNotFound):
        provisioner.task_tree(TaskRef("00000000-0000-4000-8000-000000000001"), "c2")


@pytest.fixture
def deployed(run: Run) -> None:
    """Deploy the three nodes."""
    run(Phase.PREPARE, NODES, "slipway-a-01")
    run(Phase.DEPLOY, NODES, "slipway-a-02")


@pytest.mark.usefixtures("deployed")
def test_destroyed_nodes_are_no_longer_deployed_and_can_be_deployed_again(provisioner: Provisioner, run: Run) -> None:
    task_id = run(Phase.DESTROY, ["c1", "c2"], "slipway-b-1")
    assert outcome(provisioner, Phase.DESTROY, task_id, ["c1", "c2"]).succeeded == {"c1", "c2"}
    listed = provisioner.nodes()
    still = {name for name in NODES if name in listed and listed[name].condition is NodeCondition.DEPLOYED}
    assert still == {"w1"}
    run(Phase.PREPARE, ["c1"], "slipway-b-2")
    run(Phase.DEPLOY, ["c1"], "slipway-b-3")
    assert provisioner.nodes()["c1"].condition is NodeCondition.DEPLOYED


@pytest.mark.skipif(BACKEND == "drydock", reason="a Drydock without Keystone never ends it")
@pytest.mark.usefixtures("deployed")
def test_relabelled_nodes_stay_as_they_are(provisioner: Provisioner, run: Run) -> None:
    task_id = run(Phase.RELABEL, NODES, "slipway-b-1")
    assert outcome(provisioner, Phase.RELABEL, task_id, NODES).succeeded == set(NODES)
    assert {provisioner.nodes()[name].condition for name in NODES} == {NodeCondition.DEPLOYED}


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("step", NODE_STEPS)
@pytest.mark.parametrize(
    ("behaviour", "destroyed", "relabelled"),
    [
        ("fail", "failed", "failed"),
        pytest.param("both_lists", "failed", "failed", id="trap 4: in both lists"),
        pytest.param(
            "unreported", "failed", "unknown", id="trap 2: in no list; a destroyed node is not listed deployed"
        ),
        pytest.param(
            "false_success", "failed", "succeeded", id="a false success is seen in the node list, if anywhere"
        ),
    ],
)
@pytest.mark.drydock_alone("its lists and its relabelling can lie; MAAS has neither")
def test_rule_25_what_becomes_of_a_node(
    simulator: ContractDrydock,
    provisioner: Provisioner,
    run: Run,
    step: Phase,
    behaviour: str,
    destroyed: str,
    relabelled: str,
) -> None:
    simulator.script("c2", step.value.removesuffix("_nodes"), behaviour)
    task_id = run(step, NODES, "slipway-b-1")
    answer = outcome(provisioner, step, task_id, NODES)
    assert "c2" in getattr(answer, destroyed if step is Phase.DESTROY else relabelled)
    assert answer.succeeded >= {"c1", "w1"}
    if behaviour == "fail":
        assert provisioner.evidence(TaskRef(task_id), NODES).messages["c2"]


@pytest.mark.usefixtures("deployed")
@pytest.mark.drydock_alone("trap 30; MAAS keeps a machine, and its events say how its release has ended")
@pytest.mark.parametrize("phase", [Phase.DESTROY, Phase.RELEASE])
@pytest.mark.parametrize("nodes", [NODES, ["c2"]], ids=["among others", "alone"])
def test_rule_25_a_machine_that_is_deleted_before_it_is_released_is_not_destroyed(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run, phase: Phase, nodes: list[str]
) -> None:
    simulator.script("c2", "destroy", "taken_for_done")
    task_id = run(phase, nodes, "slipway-b-1")
    assert provisioner.task(TaskRef(task_id)).successes == set(nodes)
    answer = outcome(provisioner, phase, task_id, nodes)
    assert answer.failed == {"c2"}
    assert answer.succeeded == set(nodes) - {"c2"}
    assert "Node c2 release timed out" in answer.notes["c2"]


@pytest.mark.usefixtures("deployed")
def test_rule_25_a_destroy_that_is_under_way_proves_nothing(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, finish: Finish
) -> None:
    simulator.script("c1", "destroy", "stuck")
    task_id = provisioner.submit(Phase.DESTROY, design, ["c1"], "slipway-b-1")
    finish(provisioner, task_id, TaskState.RUNNING)
    assert outcome(provisioner, Phase.DESTROY, task_id, ["c1"]).unknown == {"c1"}
    simulator.release_stuck()
    finish(provisioner, task_id)
    assert outcome(provisioner, Phase.DESTROY, task_id, ["c1"]).succeeded == {"c1"}


@pytest.mark.drydock_alone("MAAS says that it has no such machine")
def test_trap_2_an_unknown_name_is_not_done(provisioner: Provisioner, run: Run) -> None:
    task_id = run(Phase.PREPARE, ["nobody"], "slipway-a-1")
    assert provisioner.task(TaskRef(task_id)).result == "success"
    assert outcome(provisioner, Phase.PREPARE, task_id, ["nobody"]).unknown == {"nobody"}


@pytest.mark.drydock_alone("it does one task at a time")
def test_rule_14_a_task_behind_another_is_queued_and_proves_nothing(
    simulator: ContractDrydock, provisioner: Provisioner, run: Run, design: DesignSource, finish: Finish
) -> None:
    run(Phase.PREPARE, ["c1"], "slipway-a-0")
    simulator.script("c2", "prepare", "stuck")
    first = provisioner.submit(Phase.PREPARE, design, ["c2"], "slipway-a-1")
    second = provisioner.submit(Phase.PREPARE, design, ["c1"], "slipway-a-2")
    finish(provisioner, first, TaskState.RUNNING)
    assert provisioner.task(TaskRef(second)).state is TaskState.QUEUED
    assert outcome(provisioner, Phase.PREPARE, second, ["c1"]).unknown == {"c1"}
    simulator.release_stuck()
    finish(provisioner, second)
    assert outcome(provisioner, Phase.PREPARE, second, ["c1"]).succeeded == {"c1"}


def test_rule_14_late_truth_is_told(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, finish: Finish
) -> None:
    simulator.script("c2", "prepare", "stuck")
    task_id = provisioner.submit(Phase.PREPARE, design, ["c2"], "slipway-a-1")
    finish(provisioner, task_id, TaskState.RUNNING)
    assert outcome(provisioner, Phase.PREPARE, task_id, ["c2"]).unknown == {"c2"}
    simulator.release_stuck()
    finish(provisioner, task_id)
    assert outcome(provisioner, Phase.PREPARE, task_id, ["c2"]).succeeded == {"c2"}


def test_a_node_changed_behind_our_back_is_seen(simulator: ContractDrydock, provisioner: Provisioner, run: Run) -> None:
    run(Phase.PREPARE, ["c1"], "slipway-a-1")
    simulator.post("nodes/c1", {"status": "Broken", "power_state": "off"})
    node = provisioner.nodes()["c1"]
    assert (node.condition, node.status_name, node.power_state) == (NodeCondition.UNFIT, simulator.broken, "off")


@pytest.mark.parametrize("task_id", ["6a1f9a5e-6a3e-4d0e-8a53-0c2b9d0e7f11", "no-uuid"])
def test_an_unknown_task(provisioner: Provisioner, run: Run, task_id: str) -> None:
    run(Phase.PREPARE, ["c1"], "slipway-a-1")
    with pytest.raises(TaskNotFound):
        provisioner.task(TaskRef(task_id))
    assert provisioner.evidence(TaskRef(task_id), ["c1"]).over


def test_an_unknown_reference(provisioner: Provisioner, run: Run) -> None:
    run(Phase.PREPARE, ["c1"], "slipway-a-1")
    assert provisioner.find("slipway-a-11") is None
    assert provisioner.find("slipway-a") is None


@pytest.mark.parametrize("nodes", [[], None], ids=["none", "the whole site"])
@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DESTROY, Phase.RELABEL])
def test_nodes_must_be_named(
    simulator: ContractDrydock,
    provisioner: Provisioner,
    design: DesignSource,
    phase: Phase,
    nodes: list[str] | None,
) -> None:
    with pytest.raises(ProvisionerRefused):
        provisioner.submit(phase, design, nodes, "slipway-a-1")
    assert simulator.tasks() == []
