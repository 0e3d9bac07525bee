"""Contract: the provisioner is killed in the middle of a task; what is still known is told, and nothing is invented."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from provisioner_client.errors import ProvisionerUnavailable, TaskNotFound
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskAction, TaskState
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.support.simulators import SimulatorProcess

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]

NODES = ["c1", "c2", "w1"]
REFERENCE = "slipway-a-1"


@pytest.fixture
def in_the_middle(mortal: SimulatorProcess, connect: Connect, design_ref: str) -> tuple[Provisioner, str]:
    """A task of three nodes of which one hangs, under way, and its provisioner just killed."""
    mortal.start()
    mortal.script("c2", "prepare", "stuck")
    provisioner = connect(mortal.url)
    task_id = provisioner.submit(TaskAction.PREPARE_NODES, design_ref, NODES, REFERENCE)
    deadline = time.monotonic() + 15
    while len(provisioner.evidence(task_id, NODES).child_success) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    mortal.kill()
    with pytest.raises(ProvisionerUnavailable):
        provisioner.task(task_id)
    with pytest.raises(ProvisionerUnavailable):
        provisioner.evidence(task_id, NODES)
    return provisioner, task_id


def test_rule_23_a_resumed_task_is_joined_and_ends(
    mortal: SimulatorProcess, in_the_middle: tuple[Provisioner, str], design_ref: str, finish: Finish
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "resume")
    assert provisioner.submit(TaskAction.PREPARE_NODES, design_ref, NODES, REFERENCE) == task_id
    mortal.post("release")
    finish(provisioner, task_id)
    evidence = provisioner.evidence(task_id, NODES)
    assert evidence.over
    assert judge(Phase.PREPARE, NODES, evidence).succeeded == set(NODES)
    assert mortal.posts_of_tasks() == 1


def test_trap_5_an_orphaned_task_runs_for_ever_and_is_not_repeated(
    mortal: SimulatorProcess, in_the_middle: tuple[Provisioner, str], design_ref: str
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "orphan")
    found = provisioner.find(REFERENCE)
    assert found is not None
    assert (found.task_id, found.state, found.result) == (task_id, TaskState.RUNNING, "incomplete")
    assert provisioner.submit(TaskAction.PREPARE_NODES, design_ref, NODES, REFERENCE) == task_id
    evidence = provisioner.evidence(task_id, NODES)
    assert not evidence.over
    answer = judge(Phase.PREPARE, NODES, evidence)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == {"c2"}
    assert mortal.posts_of_tasks() == 1


def test_a_lost_task_is_gone_and_the_node_list_still_proves(
    mortal: SimulatorProcess, in_the_middle: tuple[Provisioner, str], design_ref: str
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "lost")
    provisioner.submit(TaskAction.VERIFY_SITE, design_ref, None, "slipway-other-1")
    assert provisioner.find(REFERENCE) is None
    with pytest.raises(TaskNotFound):
        provisioner.task(task_id)
    evidence = provisioner.evidence(task_id, NODES)
    assert evidence.over
    answer = judge(Phase.PREPARE, NODES, evidence)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == {"c2"}


def test_a_restart_between_two_attempts_is_waited_out(
    mortal: SimulatorProcess, connect: Connect, design_ref: str
) -> None:
    """A connection kept open to a process that has gone is noticed and replaced."""
    mortal.start()
    provisioner = connect(mortal.url)
    assert provisioner.nodes()
    mortal.kill()
    mortal.start()
    provisioner.submit(TaskAction.PREPARE_NODES, design_ref, ["c1"], REFERENCE)
    assert len(mortal.get("tasks")) == 1
