"""Contract: the provisioner is killed in the middle of a task; what is still known is told, and nothing is invented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import requests

from provisioner_client.designs import DesignSource
from provisioner_client.errors import ProvisionerUnavailable, TaskNotFound
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskState
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.contract.servers import ContractDrydock
from tests.support.processes import wait_until

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]

NODES = ["c1", "c2", "w1"]
REFERENCE = "slipway-a-1"


@pytest.fixture
def in_the_middle(mortal: ContractDrydock, connect: Connect, design: DesignSource) -> tuple[Provisioner, str]:
    """A task of three nodes of which one hangs, under way, and its provisioner just killed."""
    mortal.start()
    mortal.script("c2", "prepare", "stuck")
    provisioner = connect(mortal.address)
    task_id = provisioner.submit(Phase.PREPARE, design, NODES, REFERENCE)

    def two_are_done() -> bool:
        provisioner.task(TaskRef(task_id))
        return len(provisioner.evidence(TaskRef(task_id), NODES).child_success) > 1

    wait_until(two_are_done, "two are done")
    mortal.kill()
    with pytest.raises(ProvisionerUnavailable):
        provisioner.task(TaskRef(task_id))
    with pytest.raises(ProvisionerUnavailable):
        provisioner.evidence(TaskRef(task_id), NODES)
    return provisioner, task_id


@pytest.mark.endurance
def test_rule_23_a_resumed_task_is_joined_and_ends(
    mortal: ContractDrydock, in_the_middle: tuple[Provisioner, str], design: DesignSource, finish: Finish
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "resume")
    assert provisioner.submit(Phase.PREPARE, design, NODES, REFERENCE) == task_id
    mortal.release_stuck()
    finish(provisioner, task_id)
    evidence = provisioner.evidence(TaskRef(task_id), NODES)
    assert evidence.over
    assert judge(Phase.PREPARE, NODES, evidence).succeeded == (set(NODES) if mortal.resumes else {"c1", "w1"})
    assert mortal.posts() == 1


@pytest.mark.endurance
@pytest.mark.drydock_alone("no task of MAAS depends on a process")
def test_trap_5_an_orphaned_task_runs_for_ever_and_is_not_repeated(
    mortal: ContractDrydock, in_the_middle: tuple[Provisioner, str], design: DesignSource
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "orphan")
    found = provisioner.find(REFERENCE)
    assert found is not None
    assert (found.task_id, found.state, found.result) == (task_id, TaskState.RUNNING, "incomplete")
    assert provisioner.submit(Phase.PREPARE, design, NODES, REFERENCE) == task_id
    evidence = provisioner.evidence(TaskRef(task_id), NODES)
    assert not evidence.over
    answer = judge(Phase.PREPARE, NODES, evidence)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == {"c2"}
    assert mortal.posts() == 1


@pytest.mark.endurance
@pytest.mark.drydock_alone("no task of MAAS depends on a process")
def test_trap_17_an_orphaned_task_is_dead_once_a_newer_root_task_has_begun(
    mortal: ContractDrydock, in_the_middle: tuple[Provisioner, str], design: DesignSource, finish: Finish
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "orphan", "--grace", "1000000")
    provisioner.submit(Phase.VERIFY_SITE, design, None, "slipway-b-1")
    assert not provisioner.is_dead(task_id), "a newer task that waits proves nothing"
    mortal.stop()
    mortal.start("--restart-mode", "orphan", "--grace", "0")
    newer = 1
    while not provisioner.is_dead(task_id):
        newer += 1
        assert newer < 100
        finish(provisioner, provisioner.submit(Phase.VERIFY_SITE, design, None, f"slipway-b-{newer}"))
    assert provisioner.task(TaskRef(task_id)).state is TaskState.RUNNING
    answer = judge(Phase.PREPARE, NODES, replace(provisioner.evidence(TaskRef(task_id), NODES), over=True))
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == {"c2"}


@pytest.mark.drydock_alone("no task of MAAS depends on a process")
def test_trap_17_a_task_that_runs_is_not_dead_whatever_stands_beside_it(
    mortal: ContractDrydock, connect: Connect, design: DesignSource
) -> None:
    """Its own tasks without a parent, which are newer and over; a health check's; and tasks that wait behind it."""
    mortal.start()
    mortal.script("c1", "prepare", "stuck")
    provisioner = connect(mortal.address)
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1", "c2"], REFERENCE)
    provisioner.submit(Phase.DEPLOY, design, ["w1"], "slipway-a-2")
    wait_until(lambda: bool(provisioner.evidence(TaskRef(task_id), ["c2"]).child_success), "c2 is done")
    requests.get(f"{mortal.url}/api/v1.0/health", timeout=5)
    listed = requests.get(f"{mortal.url}/api/v1.0/tasks", timeout=5).json()
    parentless = {task["action"] for task in listed if task["parent_task_id"] is None and task["status"] == "complete"}
    assert parentless == {"identify_node", "noop"}
    assert not provisioner.is_dead(task_id)


@pytest.mark.drydock_alone("MAAS loses no tags")
def test_a_lost_task_is_gone_and_the_node_list_still_proves(
    mortal: ContractDrydock, in_the_middle: tuple[Provisioner, str], design: DesignSource
) -> None:
    provisioner, task_id = in_the_middle
    mortal.start("--restart-mode", "lost")
    provisioner.submit(Phase.VERIFY_SITE, design, None, "slipway-other-1")
    assert provisioner.find(REFERENCE) is None
    with pytest.raises(TaskNotFound):
        provisioner.task(TaskRef(task_id))
    evidence = provisioner.evidence(TaskRef(task_id), NODES)
    assert evidence.over
    answer = judge(Phase.PREPARE, NODES, evidence)
    assert answer.succeeded == {"c1", "w1"}
    assert answer.unknown == {"c2"}


def test_a_restart_between_two_attempts_is_waited_out(
    mortal: ContractDrydock, connect: Connect, design: DesignSource
) -> None:
    """A connection kept open to a process that has gone is noticed and replaced."""
    mortal.start()
    provisioner = connect(mortal.address)
    assert provisioner.nodes()
    mortal.kill()
    mortal.start()
    provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert len(mortal.tasks()) == 1
