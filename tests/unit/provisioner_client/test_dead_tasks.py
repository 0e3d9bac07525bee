"""Which running task of Drydock is dead, judged by what else its list of tasks shows (trap 17)."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner_client.drydock.task_list import is_dead

AT = "2026-11-21 01:00:00.000000"
LATER = "2026-11-21 01:05:00.000000"
ZONE = "+00:00"


def task(task_id: str, status: str, created: str | None, **more: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "status": status,
        "created": created,
        "action": "prepare_nodes",
        "parent_task_id": None,
        **more,
    }


def other(status: str = "complete", created: str | None = LATER, **more: Any) -> dict[str, Any]:
    return task("t-2", status, created, **more)


ACCEPTED = ["validate_design", "verify_site", "prepare_site", "verify_nodes", "prepare_nodes", "deploy_nodes"]
ACCEPTED += ["destroy_nodes", "relabel_nodes"]


@pytest.mark.parametrize("action", ACCEPTED)
@pytest.mark.parametrize("status", ["running", "complete"])
def test_trap_17_a_newer_root_task_that_has_begun_proves_that_an_older_one_does_not_run(
    action: str, status: str
) -> None:
    assert is_dead([other(status, action=action), task("t-1", "running", AT)], "t-1")


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param([], id="no other task"),
        pytest.param([other("queued")], id="a newer one waits: it may wait for this very task"),
        pytest.param([other("requested")], id="a newer one was only asked for"),
        pytest.param([other("terminated")], id="a newer one was ended before it began"),
        pytest.param([other("complete", "2026-11-21 00:59:59")], id="an older one"),
        pytest.param([other("complete", AT)], id="one of the same moment"),
        pytest.param([other("complete", "2026-11-21 01:00:01.000000")], id="within what clocks of servers differ"),
        pytest.param([other("complete", LATER + ZONE)], id="one with a zone beside one without"),
        pytest.param([other("complete", None)], id="one without a time"),
        pytest.param([other("complete", "yesterday")], id="one with a time that is none"),
        pytest.param([other("complete", parent_task_id="t-1")], id="a task below it"),
        pytest.param([other("complete", parent_task_id="t-9")], id="a task below another"),
        pytest.param([other("complete", action="identify_node")], id="identify_node: part of a running prepare"),
        pytest.param([other("complete", action="apply_node_storage")], id="apply_node_storage: part of a deploy"),
        pytest.param([other("complete", action="noop")], id="noop: the health check's, beside all others"),
        pytest.param([other("complete", action=None)], id="one without an action"),
        pytest.param([other("complete", action=["prepare_nodes"])], id="one with an action that is none"),
        pytest.param(["garbage", None, 7], id="no tasks at all"),
        pytest.param([task("t-1", "complete", LATER)], id="the list has it twice"),
    ],
)
def test_trap_17_what_proves_nothing(tasks: list[Any]) -> None:
    assert not is_dead([task("t-1", "running", AT), *tasks], "t-1")


@pytest.mark.parametrize(
    "this",
    [
        pytest.param(task("t-1", "queued", AT), id="it is queued"),
        pytest.param(task("t-1", "complete", AT), id="it is complete"),
        pytest.param(task("t-1", "running", AT, action="identify_node"), id="it is no root task"),
        pytest.param(task("t-1", "running", AT, parent_task_id="t-9"), id="it has a parent"),
        pytest.param(task("t-1", "running", None), id="its time is not known"),
        pytest.param(task("t-3", "running", AT), id="it is not in the list"),
    ],
)
def test_trap_17_only_a_running_root_task_can_be_dead(this: dict[str, Any]) -> None:
    assert not is_dead([this, other()], "t-1")


def test_trap_17_times_with_a_zone_are_compared_as_moments() -> None:
    this = task("t-1", "running", "2026-11-21 02:00:00+02:00")
    assert is_dead([this, other("running", "2026-11-21 01:00:00+00:00")], "t-1")
    assert not is_dead([this, other("running", "2026-11-21 02:30:00+03:00")], "t-1")
