"""The list of all tasks that Drydock ever had: what it costs is said, and it is read only where it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import requests
import responses

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import ProvisionerProtocolError, ProvisionerUnavailable
from strategy_lib.phase import Phase
from tests.unit.provisioner_client.drydock_answers import API, DESIGN, TaskJson, echo

Make = Callable[..., DrydockProvisioner]


@pytest.mark.parametrize(("seconds", "warned"), [(167.0, True), (9.0, False)], ids=["slow", "quick"])
def test_a_list_that_takes_long_is_warned_about_with_what_helps(
    http: responses.RequestsMock,
    make_drydock: Make,
    task_json: TaskJson,
    caplog: pytest.LogCaptureFixture,
    seconds: float,
    warned: bool,
) -> None:
    times: Iterator[float] = iter([100.0, 100.0 + seconds])
    http.get(f"{API}/tasks", json=[echo(task_json, task_id="t-1"), *(task_json(f"t-{n}") for n in range(2, 32))])
    assert make_drydock(clock=lambda: next(times)).find("ref") is not None
    said = "GET /tasks took 167 s: Drydock lists all 31 tasks that it ever had, subtasks included; purge old ones with"
    assert (said in caplog.text) is warned
    assert ("DELETE /api/v1.0/tasks?days=N" in caplog.text) is warned


def test_a_list_that_never_comes_is_told_with_what_helps(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.get(f"{API}/tasks", body=requests.ReadTimeout("slow"))
    with pytest.raises(ProvisionerUnavailable, match=r"no answer in time; .*purge old ones") as caught:
        drydock.find("ref")
    assert caught.value.timed_out


def test_a_list_that_is_none_is_not_understood(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.get(f"{API}/tasks", json={"tasks": []})
    with pytest.raises(ProvisionerProtocolError, match="not a list"):
        drydock.is_dead("t-1")


@pytest.mark.parametrize(("status", "dead"), [("complete", True), ("queued", False)])
def test_trap_17_the_list_tells_whether_a_running_task_is_dead(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, status: str, dead: bool
) -> None:
    orphan = task_json("t-1", status="running", created="2026-11-21 01:00:00.000000")
    newer = task_json("t-2", status=status, created="2026-11-21 02:00:00.000000", action="verify_site")
    http.get(f"{API}/tasks", json=[newer, orphan])
    assert drydock.is_dead("t-1") is dead


def test_a_task_that_is_answered_at_once_costs_no_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    """Neither to submit it, nor to ask after it, nor to see what it has done."""
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    http.get(f"{API}/tasks/t-1", json=echo(task_json, task_id="t-1", successes=["n1"]))
    http.get(f"{API}/nodes", json=[])
    drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref", sent_ago=None)
    drydock.task("t-1")
    drydock.evidence("t-1", ["n1"])
    assert f"{API}/tasks" not in {call.request.url for call in http.calls if call.request.method == "GET"}
