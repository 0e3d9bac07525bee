"""The provisioner in memory keeps the contract, too: what the engine's tests show with it holds for the simulator.

It is reached as any backend is: by one row in the factory.
"""

# ruff: noqa: F401 (the tests of the contract are for pytest to find here)
from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignSource
from provisioner_client.drydock.connection import connect_drydock
from provisioner_client.factory import ProvisionerFactory
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskState
from provisioner_client.redacting import Redact, nothing_is_secret
from strategy_lib.phase import Phase
from tests.contract.test_tasks import (
    deployed,
    test_a_node_whose_ipmi_does_not_answer_is_in_no_list,
    test_a_partial_failure_names_the_node_and_says_why,
    test_a_task_of_one_node,
    test_a_task_of_the_whole_site_is_found_again_too,
    test_an_unknown_reference,
    test_an_unknown_task,
    test_destroyed_nodes_are_no_longer_deployed_and_can_be_deployed_again,
    test_nodes_are_prepared_and_then_deployed,
    test_relabelled_nodes_stay_as_they_are,
    test_rule_14_a_task_behind_another_is_queued_and_proves_nothing,
    test_rule_14_late_truth_is_told,
    test_rule_25_a_destroy_that_is_under_way_proves_nothing,
    test_rule_25_what_becomes_of_a_node,
    test_the_tree_of_a_task_is_that_of_one_node,
    test_the_tree_of_a_task_that_is_gone,
    test_what_becomes_of_a_node,
)
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def simulator(clock: FakeClock) -> FakeProvisioner:
    """The controls, which a simulator has, too."""
    return FakeProvisioner(clock)


@pytest.fixture
def provisioner(simulator: FakeProvisioner) -> Provisioner:
    """A client that the factory makes from a connection, beside Drydock's."""

    def connect_fake(connection: ConnectionValues, redact: Redact, context_marker: str | None) -> Provisioner:
        return simulator

    factory = ProvisionerFactory({"drydock": ("Drydock", connect_drydock), "fake": ("Fake", connect_fake)})
    return factory.connect(ConnectionValues("fake", "contract"), nothing_is_secret)


@pytest.fixture
def finish(clock: FakeClock) -> Callable[..., ProvisionerTask]:
    """Wait until a provisioner task is over."""

    def wait(provisioner: Provisioner, task_id: str, until: TaskState = TaskState.COMPLETE) -> ProvisionerTask:
        for _ in range(100):
            task = provisioner.task(TaskRef(task_id))
            if task.state in (until, TaskState.COMPLETE):
                return task
            clock.sleep(0.1)
        raise AssertionError(f"{task} does not become {until}")

    return wait


@pytest.fixture
def design() -> DesignSource:
    return DesignSource("file:///in-memory.yaml")


REFERENCE = "slipway-a-1"


def test_submitting_again_joins(provisioner: Provisioner, simulator: FakeProvisioner, design: DesignSource) -> None:
    first = provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE) == first
    assert simulator.sent == 1


def test_the_guard_is_asked_before_it_is_sent(
    provisioner: Provisioner, simulator: FakeProvisioner, design: DesignSource
) -> None:
    def guard() -> None:
        raise LookupError("the lease is lost")

    with pytest.raises(LookupError):
        provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE, guard=guard)
    assert simulator.shown_tasks() == []


def test_trap_17_an_orphaned_task_is_dead_once_a_newer_task_has_begun(
    provisioner: Provisioner,
    simulator: FakeProvisioner,
    design: DesignSource,
    finish: Callable[..., ProvisionerTask],
) -> None:
    simulator.script("c2", "prepare", "stuck")
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1", "c2"], REFERENCE)
    simulator.orphan()
    assert not provisioner.is_dead(task_id)
    finish(provisioner, provisioner.submit(Phase.VERIFY_SITE, design, None, "slipway-b-1"))
    assert provisioner.is_dead(task_id)
    assert provisioner.task(TaskRef(task_id)).state is TaskState.RUNNING
