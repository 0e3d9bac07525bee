"""A task that was told to stop submits nothing more; a step that is stored as ended is not asked about again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provisioner_client.protocol import Provisioner
from site_engine.actions.site_steps import run_site_step
from site_engine.errors import StepError, TaskStopped
from site_engine.operations import run as operation_run
from site_engine.operations.reconcile import OperationOwner
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_engine.process import STOP, Stopping
from site_store import Claim, OperationStatus
from site_store.operations.operations import Operations
from strategy_lib.phase import Phase
from tests.support.driving import LOG, Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

DESIGN = site([node("a")], [group("all")])
NOBODY = cast(Provisioner, SimpleNamespace())
TIMES = PhaseTimes(0.05, 60.0, 60.0)


@pytest.fixture
def driving(begin: Begin) -> Driving:
    """Begin an action."""
    return begin(DESIGN)


def step(driving: Driving, stopping: Stopping | None = None, provisioner: Provisioner | None = None) -> Any:
    """Drive the step verify_site, as its Airflow task does."""
    owner = OperationOwner(driving.action.id, driving.action.site, None, 0)
    client = provisioner or driving.connect()
    operations = OperationRun(driving.store, client, driving.clock, 60.0, LOG, stopping or Stopping())
    return run_site_step(operations, owner, Phase.VERIFY_SITE, driving.design_ref, TIMES)


def asked_for(fake: FakeProvisioner) -> list[Any]:
    """Return the tasks that the provisioner was asked for."""
    return [task.action for task in fake.shown_tasks()]


def test_a_task_that_was_told_to_stop_submits_nothing(
    driving: Driving, fake: FakeProvisioner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_run, "LEASE_SECONDS", 0.5)
    with pytest.raises(TaskStopped, match="nothing more is submitted"):
        step(driving, Stopping(told=True))
    assert asked_for(fake) == []
    (operation,) = driving.store.operations.of_action(driving.action.id)
    assert operation.sending is None, "nothing is to be looked for"
    assert step(driving) is None, "started again, it goes on"
    assert asked_for(fake) == ["verify_site"]


def test_a_signal_that_comes_with_the_right_to_submit_is_in_time(
    driving: Driving, fake: FakeProvisioner, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = Stopping()
    acquire_lease: Callable[..., bool] = Operations.acquire_lease

    def signalled(*arguments: Any, **more: Any) -> bool:
        if more.get("sending"):
            stopping.told = True
        return acquire_lease(*arguments, **more)

    monkeypatch.setattr(Operations, "acquire_lease", signalled)
    with pytest.raises(TaskStopped):
        step(driving, stopping)
    assert asked_for(fake) == []


def test_an_action_that_is_stopped_submits_nothing_although_its_task_was_not_told_yet(
    driving: Driving, fake: FakeProvisioner
) -> None:
    started = Stopping(driving.store, driving.action.id, since=driving.clock.now())
    driving.store.actions.record_command(driving.action.id, STOP, "ann")
    with pytest.raises(TaskStopped, match="stopped by ann"):
        step(driving, started)
    assert asked_for(fake) == []


def test_a_task_that_starts_after_the_command_is_of_another_try(driving: Driving, fake: FakeProvisioner) -> None:
    driving.store.actions.record_command(driving.action.id, STOP, "ann")
    driving.store.actions.record_command(driving.action.id, "pause", "ann")
    driving.clock.sleep(1.0)
    assert step(driving, Stopping(driving.store, driving.action.id, since=driving.clock.now())) is None
    assert asked_for(fake) == ["verify_site"]


def test_a_task_that_is_told_while_it_waits_does_not_wait_on(
    driving: Driving, fake: FakeProvisioner, clock: FakeClock
) -> None:
    fake.script("a", "prepare", "stuck")
    stopping = Stopping()

    class Clock(FakeClock):
        def sleep(self, seconds: float) -> None:
            stopping.told = True

    operations = OperationRun(driving.store, driving.connect(), Clock(clock.now()), 60.0, LOG, stopping)
    driving.store.groups.open_attempt(driving.action.id, "all", "0")
    operation = driving.store.operations.begin(
        Claim(driving.action.id, driving.action.site, "all", 1, Phase.PREPARE, ["a"], driving.design_ref)
    )
    with pytest.raises(TaskStopped):
        operations.run(operation, PhaseTimes(0.05, 60.0, 60.0))
    assert driving.store.operations.get(operation.op).status is OperationStatus.SUBMITTED
    assert asked_for(fake).count("prepare_nodes") == 1


def test_a_step_that_is_stored_as_ended_is_not_asked_about_again(driving: Driving, fake: FakeProvisioner) -> None:
    assert step(driving) is None
    assert step(driving, provisioner=NOBODY) is None


@pytest.mark.parametrize(
    ("phase", "status", "result", "said"),
    [
        (Phase.VERIFY_SITE, OperationStatus.COMPLETE, "failure", "verify_site ended with failure"),
        (Phase.VERIFY_SITE, OperationStatus.COMPLETE, "partial_success", "ended with partial_success"),
        (Phase.PREPARE_SITE, OperationStatus.TIMED_OUT, "timed_out", "prepare_site ended with timed_out"),
        (Phase.PREPARE_SITE, OperationStatus.COMPLETE, "partial_success", None),
        (Phase.PREPARE_SITE, OperationStatus.COMPLETE, "success", None),
    ],
)
def test_the_end_of_a_step_stays_what_it_was(
    driving: Driving, phase: Phase, status: OperationStatus, result: str, said: str | None
) -> None:
    action = driving.action
    operation = driving.store.operations.begin(Claim(action.id, action.site, None, 0, phase, (), driving.design_ref))
    driving.store.operations.mark_submitted(operation.op, "task-1")
    driving.store.operations.finish(operation.op, status, result)
    owner = OperationOwner(action.id, action.site, None, 0)
    ended: StillRunning | None = None

    def again() -> None:
        nonlocal ended
        operations = OperationRun(driving.store, NOBODY, driving.clock, 1.0, LOG)
        ended = run_site_step(operations, owner, phase, driving.design_ref, TIMES)

    if said is None:
        again()
        assert ended is None
    else:
        with pytest.raises(StepError, match=said):
            again()
