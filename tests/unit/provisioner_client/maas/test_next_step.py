"""What is done to a machine in each status, and what is refused, with a reason for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provisioner_client.maas.machine import Machine, Status, read_machine
from provisioner_client.maas.tasks.next_step import Act, next_step
from provisioner_client.maas.tasks.progress import Progress
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import NODE_STEPS, SUBMITTED_PHASES, Phase

MACHINE = Machine("abc123", "w1", Status.READY, "Ready", power_state="off")
S = Status


def at(status: Status, **more: object) -> Machine:
    words = status.name.replace("_", " ").capitalize()
    osystem = "ubuntu" if status in (S.DEPLOYED, S.DEPLOYING) else ""
    return replace(MACHINE, status=status, status_name=words, **{"osystem": osystem, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "acts"),
    [
        (
            Phase.PREPARE,
            {
                Act.COMMISSION: {S.NEW, S.FAILED_COMMISSIONING, S.READY},
                Act.WAIT: {
                    S.COMMISSIONING,
                    S.TESTING,
                    S.DEPLOYING,
                    S.RELEASING,
                    S.DISK_ERASING,
                    S.ENTERING_RESCUE_MODE,
                    S.EXITING_RESCUE_MODE,
                },
            },
        ),
        (
            Phase.DEPLOY,
            {
                Act.ALLOCATE: {S.READY},
                Act.DEPLOY: {S.ALLOCATED},
                Act.WAIT: {
                    S.COMMISSIONING,
                    S.TESTING,
                    S.DEPLOYING,
                    S.RELEASING,
                    S.DISK_ERASING,
                    S.ENTERING_RESCUE_MODE,
                    S.EXITING_RESCUE_MODE,
                },
            },
        ),
        (
            Phase.DESTROY,
            {
                Act.RELEASE: {
                    S.ALLOCATED,
                    S.DEPLOYED,
                    S.DEPLOYING,
                    S.FAILED_DEPLOYMENT,
                    S.FAILED_DISK_ERASING,
                    S.RELEASING_FAILED,
                    S.RESERVED,
                },
                Act.WAIT: {
                    S.COMMISSIONING,
                    S.TESTING,
                    S.RELEASING,
                    S.DISK_ERASING,
                    S.ENTERING_RESCUE_MODE,
                    S.EXITING_RESCUE_MODE,
                },
            },
        ),
    ],
)
def test_what_is_done_in_each_status(phase: Phase, acts: dict[Act, set[Status]]) -> None:
    found: dict[Act, set[Status]] = {}
    for status in Status:
        found.setdefault(next_step(phase, at(status), Progress(), "slipway").act, set()).add(status)
    assert found.pop(Act.SETTLE) == set(Status).difference(*acts.values())
    assert found == acts


@pytest.mark.parametrize("phase", [*SUBMITTED_PHASES, *NODE_STEPS])
def test_what_somebody_else_owns_is_left_alone_and_his_name_is_told(phase: Phase) -> None:
    for status in Status:
        step = next_step(phase, at(status, owner="bob"), Progress(), "slipway")
        assert (step.act, step.ok) == (Act.SETTLE, False)
        assert "owned by bob" in step.why
    ours = next_step(Phase.DEPLOY, at(S.ALLOCATED, owner="slipway"), Progress(), "slipway")
    assert ours.act is Act.DEPLOY


def test_a_locked_machine_says_so() -> None:
    step = next_step(Phase.DESTROY, at(S.DEPLOYED, locked=True, owner="slipway"), Progress(), "slipway")
    assert (step.act, step.ok) == (Act.SETTLE, False)
    assert "locked" in step.why


@pytest.mark.parametrize("status", [S.FAILED_TESTING, S.MISSING, S.RETIRED, S.NEW])
def test_a_machine_that_still_has_its_operating_system_is_not_taken_for_a_free_one(status: Status) -> None:
    """A deployed machine whose tests failed, or that went missing, is what it was."""
    step = next_step(Phase.DESTROY, at(status, osystem="ubuntu", owner="slipway"), Progress(), "slipway")
    assert (step.act, step.ok) == (Act.SETTLE, False)
    assert "cannot be released" in step.why
    assert next_step(Phase.DESTROY, at(status), Progress(), "slipway").ok


@pytest.mark.parametrize(
    ("said", "act"),
    [({}, Act.SETTLE), ({"owner": "slipway"}, Act.RELEASE), ({"osystem": "ubuntu"}, Act.RELEASE)],
)
def test_a_broken_machine_is_released_if_it_is_anybodys_or_has_a_system(said: dict[str, str], act: Act) -> None:
    assert next_step(Phase.DESTROY, at(S.BROKEN, **said), Progress(), "slipway").act is act


def test_a_half_released_machine_is_not_deployed() -> None:
    half = at(S.DEPLOYED, osystem="")
    assert half.condition is NodeCondition.FAILED_RELEASE
    for phase in SUBMITTED_PHASES:
        step = next_step(phase, half, Progress(), "slipway")
        assert (step.act, step.ok) == (Act.SETTLE, False)
        assert "half released" in step.why
    assert next_step(Phase.DESTROY, half, Progress(), "slipway").act is Act.RELEASE


def test_a_machine_that_is_deployed_already_is_not_deployed_again() -> None:
    step = next_step(Phase.DEPLOY, at(S.DEPLOYED), Progress(), "slipway")
    assert (step.act, step.ok) == (Act.SETTLE, True)


def test_a_machine_that_was_allocated_for_this_task_and_is_free_again_is_not_taken_twice() -> None:
    step = next_step(Phase.DEPLOY, at(S.READY), Progress(acquired=True), "slipway")
    assert (step.act, step.ok) == (Act.SETTLE, False)


def test_ready_machines_can_be_left_alone() -> None:
    step = next_step(Phase.PREPARE, at(S.READY), Progress(), "slipway", recommission=False)
    assert (step.act, step.ok) == (Act.SETTLE, True)
    assert next_step(Phase.PREPARE, at(S.NEW), Progress(), "slipway", recommission=False).act is Act.COMMISSION


def test_a_machine_that_is_commissioned_again_keeps_its_network_and_its_storage() -> None:
    keeps = {
        status: next_step(Phase.PREPARE, at(status), Progress(), "slipway").keeps
        for status in (S.NEW, S.FAILED_COMMISSIONING, S.READY)
    }
    assert keeps == {S.NEW: False, S.FAILED_COMMISSIONING: False, S.READY: True}


def test_an_unknown_status_waits_and_is_named() -> None:
    strange = read_machine({"system_id": "x", "hostname": "w1", "status": 99, "status_name": "Sublimating"})
    for phase in (*SUBMITTED_PHASES, Phase.DESTROY):
        step = next_step(phase, strange, Progress(), "slipway")
        assert step.act is Act.WAIT
        assert "Sublimating" in step.why
    assert strange.condition is NodeCondition.OTHER


def test_a_machine_that_is_not_there_is_refused() -> None:
    assert not next_step(Phase.PREPARE, None, Progress(), "slipway").ok
