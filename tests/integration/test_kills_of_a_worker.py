"""Kill -9 of a worker at the worst moments, at a simulator: one submission, and the right record (rules 12, 45)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

import site_store.operations as operations_module
from site_store import GroupRecord
from site_store.operations import Operations
from strategy_lib.goals.node_errors import ErrorCode, ReportState, Standing
from strategy_lib.phase import GroupState
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

SITE = "alpha"
TEXT = site([node("a"), node("b"), node("c")], [group("all", maximum_failed_nodes=1)])


def die(*_arguments: object, **_more: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    monkeypatch.setattr(owner, name, die)


def after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    done = getattr(owner, name)

    def work(*arguments: Any, **more: Any) -> None:
        done(*arguments, **more)
        die()

    monkeypatch.setattr(owner, name, work)


MOMENTS: dict[str, tuple[Callable[[pytest.MonkeyPatch, Any, str], None], Any, str]] = {
    "between submitting and storing": (before, Operations, "mark_submitted"),
    "after storing": (after, Operations, "mark_submitted"),
    "before the result": (before, Operations, "record_outcome"),
    # Within the transaction: nodes are written, and nothing is committed.
    "during the result": (after, operations_module, "follow_operation"),
    "after the result": (after, Operations, "record_outcome"),
}


def drive_and_be_killed(driving: Driving, how: Callable[[pytest.MonkeyPatch, Any, str], None], *where: Any) -> None:
    """Drive the group in a process that is killed at this moment."""
    child = os.fork()
    if child == 0:
        try:
            how(pytest.MonkeyPatch(), *where)
            driving.group("all")
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it came past that moment: {os.waitstatus_to_exitcode(status)}"
    assert os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.parametrize("moment", MOMENTS)
def test_rule_12_kill_9_of_the_worker_leaves_one_submission_and_the_right_record(
    begin: Begin, simulator: Simulator, moment: str
) -> None:
    simulator.script("b", "prepare", "fail", message="no answer to PXE")
    driving = begin(TEXT)
    driving.settle = 0.2
    drive_and_be_killed(driving, *MOMENTS[moment])
    record = driving.group("all")
    assert isinstance(record, GroupRecord)
    assert record.state is GroupState.SUCCESS
    assert simulator.submissions() == [("prepare_nodes", ["a", "b", "c"]), ("deploy_nodes", ["a", "c"])]
    assert simulator.double() == {}
    assert driving.states() == {"a": "success", "b": "failure", "c": "success"}
    (error,) = driving.store.node_errors.of_node(SITE, "b")
    prepared = driving.store.operations.of_action(driving.action.id, "all")[0]
    assert (error.error.op, error.error.provisioner_task) == (prepared.op, prepared.provisioner_task)
    assert (error.error.code, error.state, error.standing) == (
        ErrorCode.PROVISIONER,
        ReportState.FAILED,
        Standing.SHOWN,
    )
    assert "no answer to PXE" in error.error.text
    known = driving.store.site_nodes.get(SITE, "b")
    assert known is not None
    assert known.failures == 1
    assert driving.store.node_errors.of_node(SITE, "a") == []
