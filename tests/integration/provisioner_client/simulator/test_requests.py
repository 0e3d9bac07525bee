"""Requests that Drydock answers with an error, and in which of its four shapes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock
from tests.support.simulators import Simulator

SHAPE_A, SHAPE_B, EMPTY = "a", "b", "empty"
JSON = "application/json"
TASK = '{"action": "verify_site", "design_ref": "%s"}'
NO_TASK = "00000000-0000-4000-8000-000000000000"

# name: (method, path, body, content type, status, shape)
ODD: dict[str, tuple[str, str, str | None, str, int, str]] = {
    "unknown-route": ("GET", "nothing", None, JSON, 404, SHAPE_B),
    "wrong-method": ("PUT", "tasks", "{}", JSON, 405, SHAPE_B),
    "no-cancel": ("DELETE", f"tasks/{NO_TASK}", None, JSON, 405, SHAPE_B),
    "unknown-task": ("GET", f"tasks/{NO_TASK}", None, JSON, 404, SHAPE_A),
    "task-id-is-no-uuid": ("GET", "tasks/banana", None, JSON, 404, SHAPE_A),
    "unsupported-action": ("POST", "tasks", '{"action": "dance", "design_ref": "x"}', JSON, 400, SHAPE_A),
    "prepare_node-singular": ("POST", "tasks", '{"action": "prepare_node", "design_ref": "x"}', JSON, 400, SHAPE_A),
    "missing-action": ("POST", "tasks", '{"design_ref": "x"}', JSON, 400, SHAPE_A),
    "missing-design_ref": ("POST", "tasks", '{"action": "verify_site"}', JSON, 500, SHAPE_A),
    "empty-body": ("POST", "tasks", None, JSON, 500, SHAPE_A),
    "bad-json": ("POST", "tasks", "{", JSON, 500, SHAPE_A),
    "content-type-not-exact": ("POST", "tasks", TASK % "x", f"{JSON}; charset=utf-8", 500, SHAPE_A),
    "design_ref-over-128": ("POST", "tasks", TASK % ("x" * 129), JSON, 500, SHAPE_A),
    "nodefilter-without-design_ref": ("POST", "nodefilter", "{}", JSON, 400, SHAPE_A),
    "nodefilter-bad-json": ("POST", "nodefilter", "{", JSON, 500, SHAPE_B),
    "validatedesign-without-href": ("POST", "validatedesign", "{}", JSON, 400, SHAPE_A),
    "validatedesign-empty": ("POST", "validatedesign", None, JSON, 400, SHAPE_A),
    "validatedesign-unresolvable": ("POST", "validatedesign", '{"href": "file:///no/design"}', JSON, 500, SHAPE_A),
    "designs-are-broken": ("GET", "designs", None, JSON, 500, SHAPE_B),
    "builddata-of-a-node": ("GET", "nodes/n1/builddata", None, JSON, 404, SHAPE_A),
    "builddata-of-a-task": ("GET", f"tasks/{NO_TASK}/builddata", None, JSON, 404, EMPTY),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_requests(drydock: Drydock, case: str) -> None:
    method, path, body, content_type, status, shape = ODD[case]
    url = f"{drydock.simulator.url}/api/v1.0/{path}"
    answer = drydock.session.request(method, url, data=body, headers={"Content-Type": content_type}, timeout=5)
    assert answer.status_code == status
    assert "X-Drydock-Req" in answer.headers
    if shape == SHAPE_A:
        assert answer.json() | {"message": ""} == {"type": "error", "message": "", "retry": False}
    elif shape == SHAPE_B:
        assert answer.json()["title"].startswith(f"{status} ")
    else:
        assert answer.content == b""


def test_a_bad_boolean_is_a_500(drydock: Drydock, design_ref: str) -> None:
    task_id = drydock.run("verify_site", design_ref, [])["task_id"]
    assert drydock.get(f"tasks/{task_id}?builddata=perhaps").status_code == 500
    assert drydock.task(task_id, "?builddata=true")["build_data"] == []


def test_a_user_over_16_characters_is_a_500(drydock: Drydock, design_ref: str) -> None:
    body = {"action": "verify_site", "design_ref": design_ref}
    assert drydock.post("tasks", body, X_User_Name="u" * 17).status_code == 500
    assert drydock.post("tasks", body, X_User_Name="u" * 16).json()["created_by"] == "u" * 16


def test_validatedesign_of_a_good_design(drydock: Drydock, design_ref: str) -> None:
    answer = drydock.post("validatedesign", {"href": design_ref})
    status: dict[str, Any] = answer.json()
    assert (answer.status_code, status["kind"], status["status"], status["code"]) == (200, "Status", "Success", 200)
    assert status["details"]["errorCount"] == 0


@pytest.mark.parametrize("own", ["gone", "there"], ids=["the node's", "the profile's"])
def test_validatedesign_of_a_design_without_a_host_profile_names_the_profile_and_no_node(
    drydock: Drydock, tmp_path_factory: pytest.TempPathFactory, own: str
) -> None:
    file = tmp_path_factory.mktemp("d") / "bad.yaml"
    file.write_text(
        f"schema: drydock/BaremetalNode/v1\nmetadata: {{name: n1}}\ndata: {{host_profile: {own}}}\n---\n"
        "schema: drydock/HostProfile/v1\nmetadata: {name: there}\ndata: {host_profile: gone}\n"
    )
    answer = drydock.post("validatedesign", {"href": f"file://{file}"})
    said = answer.json()
    assert (answer.status_code, said["status"], said["code"]) == (400, "failure", 400)
    assert (said["message"], said["reason"], said["details"]["errorCount"]) == (None, None, 1)
    (message,) = said["details"]["messageList"]
    del message["ts"]
    text = "Error loading effective site: HostProfile gone not found in design state"
    assert message == {"message": text, "error": True, "context_type": "NA", "context": "NA", "extra": {}}


def test_validatedesign_warns_of_a_node_without_a_boot_action(
    drydock: Drydock, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("d") / "bare.yaml"
    file.write_text("schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n")
    messages = drydock.post("validatedesign", {"href": f"file://{file}"}).json()["details"]["messageList"]
    (message,) = (one for one in messages if one["name"] == "DD4001" and one["level"] == "Warning")
    assert message["message"] == "Bootaction Definition: Node n1 is not in scope for any bootactions."
    assert message["diagnostic"] == "It is expected all nodes have at least one post-deploy action."
    assert message["documents"] == [{"schema": "drydock/BaremetalNode/v1", "name": "n1"}]


def test_an_empty_design_is_valid(drydock: Drydock, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("d") / "empty.yaml"
    file.write_text("schema: drydock/Region/v1\nmetadata: {name: r}\ndata: {}\n")
    assert drydock.post("validatedesign", {"href": f"file://{file}"}).json()["status"] == "Success"


def test_the_journal_tells_of_every_request(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    body = {"action": "prepare_nodes", "design_ref": design_ref, "node_filter": {"x_client_ref": "slipway-A-1"}}
    task_id = drydock.post("tasks", body, X_Context_Marker="m1").json()["task_id"]
    drydock.get("nodes?x=1")
    first, second = simulator.get("journal")
    assert (first["method"], first["path"], first["status"]) == ("POST", "/api/v1.0/tasks", 201)
    assert (first["reference"], first["marker"]) == ("slipway-A-1", "m1")
    assert first["effect"] == f"created task {task_id}"
    assert (second["path"], second["query"], second["effect"]) == ("/api/v1.0/nodes", "x=1", "read")
    assert simulator.get(f"journal?since={first['id']}") == [second]
    assert simulator.get("journal?method=POST&path=/api/v1.0/t&reference=slipway-A-1") == [first]
    assert simulator.get("journal?reference=other") == []


def test_a_required_token(start_simulator: StartSimulator) -> None:
    client = Drydock(start_simulator("--token", "secret", "--token", "other"))
    with client.session:
        assert client.get("nodes").status_code == 401
        assert client.get("nodes").json()["error"]["code"] == 401, "Keystone's own shape"
        assert client.get("health").status_code == 204
        client.session.headers["X-Auth-Token"] = "other"
        assert client.get("nodes").json() == []


def test_the_list_of_tasks_costs_a_time_for_each_task(start_simulator: StartSimulator, design_ref: str) -> None:
    simulator = start_simulator("--task-cost", "0.05")
    with (drydock := Drydock(simulator)).session:
        drydock.run("verify_site", design_ref, [])
        drydock.run("prepare_nodes", design_ref, ["n1"])
        started = time.monotonic()
        listed = len(drydock.get("tasks").json())
        assert time.monotonic() - started > 0.05 * listed > 0.2


def test_the_list_of_nodes_costs_a_time_for_each_node(start_simulator: StartSimulator, design_ref: str) -> None:
    simulator = start_simulator("--node-cost", "0.1")
    with (drydock := Drydock(simulator)).session:
        drydock.run("verify_site", design_ref, [])
        started = time.monotonic()
        assert len(drydock.get("nodes").json()) == 3
        assert time.monotonic() - started > 0.3


def test_a_request_waits_while_all_threads_are_at_others(start_simulator: StartSimulator) -> None:
    simulator = start_simulator("--threads", "1")
    simulator.fault("GET", "nodes", "latency", seconds=0.5)
    with (drydock := Drydock(simulator)).session, ThreadPoolExecutor(1) as other:
        started = time.monotonic()
        other.submit(Drydock(simulator).get, "nodes")
        while not simulator.get("journal", method="GET"):
            time.sleep(0.01)
        assert drydock.get("tasks").json() == []
        assert time.monotonic() - started >= 0.5
