"""What of Drydock's long lists other processes are given: what is looked for in them, and no secret."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from provisioner_client.errors import ProvisionerError, ProvisionerUnavailable
from provisioner_client.http_settings import Timeouts
from provisioner_client.protocol import TaskRef
from provisioner_client.shared_lists import Shared
from tests.unit.provisioner_client.drydock.drydock_answers import API, TaskJson, echo

Make = Callable[..., DrydockProvisioner]


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
