"""Rule 61: the references in each answer to a question are handed on, by all backends in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import pytest
import responses

from provisioner_client.connection import ConnectionValues
from provisioner_client.errors import ProvisionerRefused
from provisioner_client.factory import FACTORY
from provisioner_client.http_session import HttpSession
from provisioner_client.protocol import Provisioner, TaskRef
from provisioner_client.redacting import CallResult, nothing_is_secret
from provisioner_client.references import newest_ops, newest_reference

ACTION = "01M8J7TQMDR5E8R7BAVGWE91JH"
URL = "http://drydock.test:9000"


def ours(op: int, store: str = "mystore1") -> str:
    return f"slipway-{store}-{ACTION}-{op}"


def test_the_newest_of_each_store_counts_wherever_it_stands() -> None:
    said = [ours(9), {"note": f"{ours(10)} set-up 0a.1b"}, ours(99, "theirs22"), f"slipway-{ACTION}-98", "slipway-a-5"]
    assert newest_ops(json.dumps(said).encode()) == {"mystore1": 10, "theirs22": 99}
    assert newest_ops(b"") == {}


def test_the_newest_reference_is_that_with_the_greatest_number() -> None:
    among = [ours(9), None, ours(10), ours(99, "theirs22"), f"slipway-{ACTION}-98", f"{ours(11)} set-up"]
    assert newest_reference(among, "mystore1") == ours(10)
    assert newest_reference(among, "another3") is None


class Shown:
    """An observer that keeps what was shown."""

    def __init__(self) -> None:
        self.newest: list[Mapping[str, int]] = []

    def called(self, call: str, result: CallResult, seconds: float) -> None: ...

    def shown(self, newest: Mapping[str, int]) -> None:
        self.newest.append(newest)

    def closed(self) -> None: ...


DRYDOCK = ConnectionValues("drydock", "site", "http://h", login="slipway")
MAAS = ConnectionValues("maas", "site", "http://h/MAAS", password="a:b:c", extra={"pool": "default"})
IRONIC = ConnectionValues("ironic", "site", "http://h", extra={"resource_class": "baremetal"})
TASK = {"task_id": "t", "action": "deploy_nodes", "status": "complete", "node_filter": {"x_client_ref": ours(7)}}
MACHINE = {"system_id": "x1", "hostname": "n1", "status": 6, "status_name": "Deployed", "tag_names": [ours(7)]}
NODE = {"uuid": "u", "name": "n1", "provision_state": "active", "resource_class": "baremetal"}
LOOKS: list[Any] = [
    pytest.param(DRYDOCK, "/api/v1.0/tasks", [TASK], lambda one: one.find(ours(3)), id="Drydock: the list of tasks"),
    pytest.param(DRYDOCK, "/api/v1.0/tasks/t", TASK, lambda one: one.task_tree(TaskRef("t")), id="Drydock: a task"),
    pytest.param(MAAS, "/MAAS/api/2.0/machines/", [MACHINE], lambda one: one.nodes(["n1"]), id="MAAS: machines"),
    pytest.param(
        MAAS, "/MAAS/api/2.0/tags/", [{"name": ours(7)}], lambda one: one.newest_reference("-"), id="MAAS: tags"
    ),
    pytest.param(
        IRONIC,
        "/v1/nodes",
        {"nodes": [NODE | {"extra": {"slipway": {"ref": ours(5), "action": "deploy_nodes", "claim": ours(7)}}}]},
        lambda one: one.nodes(),
        id="Ironic: marks and claims",
    ),
]


@pytest.mark.parametrize(("connection", "path", "answer", "look"), LOOKS)
def test_each_look_hands_on_what_it_shows(
    http: responses.RequestsMock,
    connection: ConnectionValues,
    path: str,
    answer: object,
    look: Callable[[Provisioner], object],
) -> None:
    seen = Shown()
    http.get(f"http://h{path}", json=answer)
    http.get("http://h/MAAS/api/2.0/users/op-whoami", json={"username": "ann"})
    with closing(FACTORY.connect(connection, nothing_is_secret, observer=seen)) as made:
        look(made)
    assert seen.newest == [{"mystore1": 7}]


def test_an_answer_that_is_none_shows_what_it_names_all_the_same(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    shown: list[Mapping[str, int]] = []
    http.get(f"{URL}/x", status=409, json={"type": "error", "message": f"{ours(7)} has it", "retry": False})
    with pytest.raises(ProvisionerRefused):
        make_session(shown=shown.append).get("/x")
    assert shown == [{"mystore1": 7}]


def test_the_answer_to_a_request_that_was_just_sent_is_no_look(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    shown: list[Mapping[str, int]] = []
    http.post(f"{URL}/x", json={"x_client_ref": ours(7)})
    http.get(f"{URL}/x", json=["nothing of ours"])
    session = make_session(shown=shown.append)
    session.post("/x", {})
    session.get("/x")
    assert shown == []
