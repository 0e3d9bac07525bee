"""Drydock's list of all tasks: when it is read, what it costs, and which running task it shows to be dead (trap 17)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import pytest
import requests
import responses

from provisioner_client.connection import ConnectionValues
from provisioner_client.drydock.connection import connect_drydock
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.task_list import is_dead, shared_task
from provisioner_client.drydock.wire import task_ids, tasks_with_reference
from provisioner_client.errors import ProvisionerError, ProvisionerProtocolError, ProvisionerUnavailable
from provisioner_client.http_settings import Timeouts
from provisioner_client.protocol import TaskRef
from provisioner_client.shared_lists import Shared
from strategy_lib.phase import Phase
from tests.unit.provisioner_client.drydock.drydock_answers import API, DESIGN, TaskJson, echo

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
    drydock.task(TaskRef("t-1"))
    drydock.evidence(TaskRef("t-1"), ["n1"])
    assert f"{API}/tasks" not in {call.request.url for call in http.calls if call.request.method == "GET"}


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


class Lists:
    """Gives the server so many seconds more than is asked for, and keeps what is shared."""

    def __init__(self, more: float = 0.0) -> None:
        self.more, self.kept, self.asked = more, dict[str, str](), list[str]()

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        self.asked.append(name)
        self.kept[name] = ask(timeout + self.more)
        return self.kept[name]

    def from_now(self) -> Lists:
        return self


def test_what_is_shared_has_no_secret_of_the_design(http: responses.RequestsMock, make_drydock: Make) -> None:
    lists = Lists()
    node = {"hostname": "n1", "status_name": "Failed for canary", "power_state": "canary", "memory": 1, "cpu_count": 2}
    http.get(f"{API}/nodes", json=[node])
    listed = make_drydock(lists=lists, redact=lambda text: text.replace("canary", "***")).nodes()
    assert (listed["n1"].status_name, listed["n1"].power_state, listed["n1"].cores) == ("Failed for ***", "***", 2)
    (name,) = lists.kept
    assert name == "list of nodes of Drydock at drydock.test:9000"
    assert "canary" not in lists.kept[name]


def test_who_asks_with_other_credentials_is_given_nothing_that_another_asked_for_and_no_name_shows_them(
    http: responses.RequestsMock,
) -> None:
    http.get(f"{API}/nodes", status=403)
    http.post("http://keystone.test/v3/auth/tokens", status=401)
    keystone = {"auth_url": "http://keystone.test/v3"}
    asking: list[tuple[str, dict[str, Any]]] = [
        ("", {}),
        ("ann", keystone),
        ("bob", keystone),
        ("ann", {**keystone, "project_name": "other"}),
        ("", {"auth_token": "canary-1"}),
    ]
    named = []
    for login, extra in asking:
        lists = Lists()
        values = ConnectionValues(
            "drydock", "c", "http://drydock.test:9000", login=login, password="canary-2", extra=extra
        )
        client = connect_drydock(replace(values, shared=Shared(lists=lists), named_by="connection 'c'"), str)
        with closing(client), suppress(ProvisionerError):
            client.nodes()
        (name,) = lists.asked
        named.append(name)
    at = "list of nodes of Drydock at drydock.test:9000"
    assert named == [
        at,
        f"{at}, for ann (Default) in project service (Default) of keystone.test:80/v3",
        f"{at}, for bob (Default) in project service (Default) of keystone.test:80/v3",
        f"{at}, for ann (Default) in project other (Default) of keystone.test:80/v3",
        f"{at}, for the token of connection 'c'",
    ]


def test_all_that_is_looked_for_in_the_list_of_tasks_is_shared_and_nothing_else(task_json: TaskJson) -> None:
    mine = echo(task_json, task_id="t-1", status="running", created="2026-11-21 01:00:00.000000", successes=["n1"])
    newer = task_json("t-2", status="complete", created="2026-11-21 02:00:00.000000", action="verify_site")
    below = {**task_json("t-3"), "parent_task_id": "t-2"}
    whole: list[Any] = [mine, newer, below, "what is this"]
    some = json.loads(json.dumps([shared_task(task) for task in whole]))
    assert is_dead(some, "t-1") is is_dead(whole, "t-1") is True
    assert task_ids(some) >= task_ids(whole)
    (found,), (told,) = tasks_with_reference(some, "ref"), tasks_with_reference(whole, "ref")
    assert (found.task_id, found.action, found.state, found.result, found.successes, found.reference) == (
        told.task_id,
        told.action,
        told.state,
        told.result,
        told.successes,
        told.reference,
    )
    assert some[2:] == [{"task_id": "t-3"}, {}]
    assert "design" not in json.dumps(some)
    assert "message" not in json.dumps(some)


@pytest.mark.parametrize(
    ("path", "look"),
    [("nodes", lambda drydock: drydock.nodes()), ("tasks", lambda drydock: drydock.find("ref"))],
    ids=["nodes", "tasks"],
)
def test_a_list_that_did_not_come_in_time_is_not_repeated_and_any_other_trouble_is(
    http: responses.RequestsMock, make_drydock: Make, path: str, look: Callable[[DrydockProvisioner], Any]
) -> None:
    http.get(f"{API}/{path}", body=requests.ReadTimeout("slow"))
    with pytest.raises(ProvisionerUnavailable) as caught:
        look(make_drydock())
    assert caught.value.timed_out
    assert len(http.calls) == 1
    http.replace(responses.GET, f"{API}/{path}", status=503)
    with pytest.raises(ProvisionerUnavailable):
        look(make_drydock())
    assert len(http.calls) > 2


def test_a_list_is_given_the_time_that_is_said(
    http: responses.RequestsMock, make_drydock: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    send = requests.Session.request

    def request(self: requests.Session, *args: Any, **options: Any) -> Any:
        given.append(options["timeout"][1])
        return send(self, *args, **options)

    monkeypatch.setattr(requests.Session, "request", request)
    http.get(f"{API}/nodes", json=[])
    http.get(f"{API}/tasks/t-1", status=404)
    drydock = make_drydock(timeouts=Timeouts(read=8.0), list_timeout=60.0, lists=Lists(more=81.0))
    drydock.nodes()
    with pytest.raises(Exception, match="404"):
        drydock.task(TaskRef("t-1"))
    assert given == [141.0, 8.0]
