"""The Drydock backend against the odd answers of the real one. `test_trap_n` is trap n of docs/provisioner.md."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import requests
import responses

from provisioner_client.drydock import DrydockProvisioner
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionUncertain,
    TaskNotFound,
)
from provisioner_client.protocol import Provisioner, TaskAction, TaskState
from provisioner_client.tokens import StaticToken
from strategy_lib.outcome import NodeCondition, judge
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector

TaskJson = Callable[..., dict[str, Any]]
Make = Callable[..., DrydockProvisioner]

URL = "http://drydock.test:9000"
API = f"{URL}/api/v1.0"
REF = "http://slipway.test/design/1"
GOOD = {"kind": "Status", "status": "Success", "code": 200, "details": {"messageList": []}}
BAD = {
    "kind": "Status",
    "status": "Failure",
    "code": 400,
    "details": {"messageList": [{"message": "rack has no gateway", "error": True, "level": "Error"}]},
}
NOT_FOUND = {"type": "error", "message": "Unable to resolve design reference", "retry": False}


def sent_body(call: Any) -> Any:
    return json.loads(call.request.body)


def posted_tasks(http: responses.RequestsMock) -> list[Any]:
    return [
        sent_body(call) for call in http.calls if call.request.method == "POST" and call.request.url == f"{API}/tasks"
    ]


def echo(task_json: TaskJson, reference: str = "ref", **given: Any) -> dict[str, Any]:
    return task_json(node_filter={"x_client_ref": reference, "filter_set": []}, **given)


def test_it_is_a_provisioner(drydock: DrydockProvisioner) -> None:
    provisioner: Provisioner = drydock
    assert provisioner.find.__doc__


# --- the ten things -------------------------------------------------------------------------------------------------


def test_trap_2_a_success_without_names_is_no_success(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"init_task_id": "t-1", "t-1": task_json("t-1", result="success")})
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Allocated", "power_state": "on"}])
    outcome = judge(Phase.DEPLOY, ["n1", "n2"], drydock.evidence("t-1", ["n1", "n2"]))
    assert outcome.unknown == {"n1", "n2"}


def test_trap_3_before_the_end_the_per_node_children_are_asked(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(
        f"{API}/tasks/t-1",
        json={
            "init_task_id": "t-1",
            "t-1": task_json("t-1", status="running", result="incomplete"),
            "c-1": task_json("c-1", parent="t-1", successes=["n1"]),
        },
        match=[responses.matchers.query_param_matcher({"layers": "2", "subtaskerrors": "true"})],
    )
    http.get(f"{API}/nodes", json=[])
    evidence = drydock.evidence("t-1", ["n1", "n2"])
    assert not evidence.over
    assert evidence.child_success == {"n1"}


def test_trap_4_a_node_in_both_lists_failed(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", successes=["n1", "n2"], failures=["n1"])})
    http.get(f"{API}/nodes", json=[])
    outcome = judge(Phase.PREPARE, ["n1", "n2"], drydock.evidence("t-1", ["n1", "n2"]))
    assert outcome.succeeded == {"n2"}
    assert outcome.failed == {"n1"}


@pytest.mark.parametrize("nodes", [[], ()])
def test_trap_5_a_filter_that_would_hang_is_not_sent(drydock: DrydockProvisioner, nodes: list[str]) -> None:
    with pytest.raises(ProvisionerRefused, match="no nodes"):
        drydock.submit(TaskAction.PREPARE_NODES, REF, nodes, "ref")


@pytest.mark.parametrize("action", [one for one in TaskAction if one.endswith("_nodes")])
def test_rule_11_what_is_done_to_nodes_is_never_done_to_a_whole_site(
    http: responses.RequestsMock, drydock: DrydockProvisioner, action: TaskAction
) -> None:
    with pytest.raises(ProvisionerRefused, match="must name its nodes"):
        drydock.submit(action, REF, None, "ref")
    assert len(http.calls) == 0


def test_trap_6_a_design_that_cannot_be_found_is_no_empty_group(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", status=500, json=NOT_FOUND)
    http.post(f"{API}/nodefilter", json=[])
    with pytest.raises(ProvisionerRefused, match="Unable to resolve design reference"):
        drydock.select_nodes(REF, [Selector(node_tags=("t",))])
    assert not drydock.validate_design(REF).valid


def test_trap_6_a_design_without_nodes_is_refused(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=[])
    with pytest.raises(ProvisionerRefused, match="has no nodes"):
        drydock.select_nodes(REF, [])
    with pytest.raises(ProvisionerRefused, match="has no nodes"):
        drydock.submit(TaskAction.VERIFY_SITE, REF, None, "ref")


@pytest.mark.parametrize("selectors", [[], [Selector()], [Selector(node_names=("n1",)), Selector()]])
def test_trap_7_all_nodes_is_null(
    http: responses.RequestsMock, drydock: DrydockProvisioner, selectors: list[Selector]
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n2", "n1"])
    assert drydock.select_nodes(REF, selectors) == {"n1", "n2"}
    assert sent_body(http.calls[-1]) == {"design_ref": REF, "node_filter": None}


def test_trap_8_criteria_are_intersected_inside_a_selector(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1"])
    drydock.select_nodes(REF, [Selector(node_tags=("a", "b"), rack_names=("r1",))])
    assert sent_body(http.calls[-1])["node_filter"]["filter_set"] == [
        {"filter_type": "intersection", "node_tags": ["a", "b"], "rack_names": ["r1"]}
    ]


def test_trap_9_a_false_success_is_caught_by_the_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", successes=["n1"])})
    http.get(
        f"{API}/nodes",
        json=[
            {"hostname": "n1", "status_name": "Failed commissioning", "power_state": "off"},
            {"hostname": "stranger", "status_name": "Ready", "power_state": "off"},
        ],
    )
    evidence = drydock.evidence("t-1", ["n1"])
    assert evidence.condition == {"n1": NodeCondition.FAILED_COMMISSIONING}
    assert judge(Phase.PREPARE, ["n1"], evidence).failed == {"n1"}


def test_trap_10_the_reference_travels_in_the_filter_and_is_found(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1", action="deploy_nodes"))
    assert drydock.submit(TaskAction.DEPLOY_NODES, REF, ["n2", "n1", "n2"], "ref") == "t-1"
    assert posted_tasks(http) == [
        {
            "action": "deploy_nodes",
            "design_ref": REF,
            "node_filter": {
                "filter_set_type": "union",
                "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
                "x_client_ref": "ref",
            },
        }
    ]


def test_trap_10_a_lost_answer_does_not_make_two_tasks(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.get(f"{API}/tasks", json=[task_json("old"), echo(task_json, task_id="t-1", status="running")])
    http.post(f"{API}/tasks", body=requests.ConnectionError(ConnectionResetError(104, "reset")))
    assert drydock.submit(TaskAction.PREPARE_NODES, REF, ["n1"], "ref") == "t-1"
    assert len(posted_tasks(http)) == 1


# --- submitting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"status": 500, "json": {"type": "error", "message": "busy"}}, id="500 shape a"),
        pytest.param({"status": 500, "json": {"title": "500 Internal Server Error"}}, id="500 shape b"),
        pytest.param({"status": 500, "body": "Unexpected error."}, id="500 shape c"),
        pytest.param({"status": 502, "body": "<html><title>502</title></html>"}, id="a proxy's page"),
        pytest.param({"status": 503, "headers": {"Retry-After": "3"}}, id="503"),
        pytest.param({"status": 429}, id="429"),
        pytest.param({"status": 201, "body": '{"kind": "Task", "task_'}, id="201 cut off"),
        pytest.param({"status": 201, "body": ""}, id="201 without a body"),
        pytest.param({"status": 201, "json": {"kind": "Task"}}, id="201 without an id"),
        pytest.param({"body": requests.ReadTimeout("slow")}, id="no answer in time"),
        pytest.param({"body": requests.ConnectTimeout("gone")}, id="not reached"),
    ],
)
def test_rule_12_after_trouble_it_is_looked_for_and_then_sent_again(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, first: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", **first)
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    assert drydock.submit(TaskAction.PREPARE_NODES, REF, ["n1"], "ref") == "t-1"
    assert len(posted_tasks(http)) == 2


def test_rule_12_when_the_tasks_cannot_be_listed_it_is_left_open(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.get(f"{API}/tasks", status=503)
    http.post(f"{API}/tasks", status=504)
    with pytest.raises(SubmissionUncertain):
        drydock.submit(TaskAction.PREPARE_NODES, REF, ["n1"], "ref")
    assert len(posted_tasks(http)) == 1


def test_a_slow_answer_is_waited_for_as_long_as_one_may_take(
    http: responses.RequestsMock, make_drydock: Make, task_json: TaskJson, waits: list[float]
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", body=requests.ReadTimeout("slow"))
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    make_drydock(read_timeout=40).submit(TaskAction.PREPARE_NODES, REF, ["n1"], "ref")
    assert sum(waits) >= 40


def test_an_unsupported_action_is_refused_at_once(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=400, json={"type": "error", "message": "Unsupported action"})
    with pytest.raises(ProvisionerRefused, match="400: Unsupported action"):
        drydock.submit(TaskAction.RELABEL_NODES, REF, ["n1"], "ref")
    assert len(posted_tasks(http)) == 1


def test_a_reference_of_another_action_is_refused(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[echo(task_json, task_id="t-1", action="prepare_nodes")])
    with pytest.raises(ProvisionerRefused, match="t-1, prepare_nodes"):
        drydock.submit(TaskAction.DEPLOY_NODES, REF, ["n1"], "ref")


def test_a_provisioner_that_does_not_echo_is_warned_about(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=task_json("t-1"))
    assert drydock.submit(TaskAction.PREPARE_NODES, REF, ["n1"], "ref") == "t-1"
    assert "does not echo its reference" in caplog.text


def test_the_whole_site_is_sent_by_name(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n2", "n1"])
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1", action="verify_site"))
    assert drydock.submit(TaskAction.VERIFY_SITE, REF, None, "ref") == "t-1"
    assert posted_tasks(http)[0]["node_filter"] == {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
        "x_client_ref": "ref",
    }


@pytest.mark.parametrize(
    ("design_ref", "nodes", "reference", "match"),
    [
        pytest.param("x" * 129, ["n1"], "ref", "129 characters", id="design_ref wider than its column"),
        pytest.param("", ["n1"], "ref", "no design reference", id="no design_ref"),
        pytest.param(REF, ["n" * 33], "ref", "1 to 32 characters", id="host name wider than its column"),
        pytest.param(REF, ["n1", ""], "ref", "1 to 32 characters", id="empty host name"),
        pytest.param(REF, ["n1"], "", "without a reference", id="no reference"),
    ],
)
def test_what_drydock_would_break_on_is_refused_before_it_is_sent(
    http: responses.RequestsMock,
    drydock: DrydockProvisioner,
    design_ref: str,
    nodes: list[str],
    reference: str,
    match: str,
) -> None:
    with pytest.raises(ProvisionerRefused, match=match):
        drydock.submit(TaskAction.PREPARE_NODES, design_ref, nodes, reference)
    assert len(http.calls) == 0


def test_the_widest_that_fits_is_sent(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    assert drydock.submit(TaskAction.PREPARE_NODES, "x" * 128, ["n" * 32], "ref") == "t-1"


# --- designs and selection ------------------------------------------------------------------------------------------


def test_a_design_is_validated_by_its_own_call_and_never_by_a_task(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(REF).valid
    assert sent_body(http.calls[0]) == {"href": REF}
    assert "validate_design" not in set(TaskAction)


def test_a_design_that_is_bad_says_why(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=400, json=BAD)
    answer = drydock.validate_design(REF)
    assert (answer.valid, [message.text for message in answer.messages]) == (False, ["rack has no gateway"])
    assert len(http.calls) == 1


def test_a_stumble_over_a_design_is_tried_once_more(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=500, json=NOT_FOUND)
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(REF).valid


@pytest.mark.parametrize(
    "answer",
    [{"status": 500, "json": {"title": "500"}}, {"status": 503}, {"status": 500, "body": "<html></html>"}],
    ids=["shape b", "503", "a page"],
)
def test_a_provisioner_in_trouble_says_nothing_about_a_design(
    http: responses.RequestsMock, drydock: DrydockProvisioner, answer: dict[str, Any]
) -> None:
    http.post(f"{API}/validatedesign", **answer)
    with pytest.raises(ProvisionerUnavailable):
        drydock.validate_design(REF)


def test_a_design_is_validated_once_for_many_groups(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1"])
    for _ in range(3):
        drydock.select_nodes(REF, [Selector(node_tags=("t",))])
    assert [call.request.url for call in http.calls].count(f"{API}/validatedesign") == 1


def test_a_group_that_matches_no_node_is_empty(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=[])
    assert drydock.select_nodes(REF, [Selector(node_tags=("t",))]) == frozenset()


def test_names_that_were_not_asked_for_are_not_believed(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1", "n7"])
    with pytest.raises(ProvisionerProtocolError, match="n7"):
        drydock.select_nodes(REF, [Selector(node_names=("n1", "n2")), Selector(node_names=("n3",))])


# --- looking --------------------------------------------------------------------------------------------------------


def test_find_gives_none_or_the_oldest(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks", json=[])
    assert drydock.find("ref") is None
    two = [
        echo(task_json, task_id="t-2", created="2026-11-21 02:00:00"),
        echo(task_json, task_id="t-1", created="2026-11-21 01:00:00"),
    ]
    http.replace("GET", f"{API}/tasks", json=two)
    found = drydock.find("ref")
    assert found is not None
    assert found.task_id == "t-1"
    assert "several tasks" in caplog.text


def test_task(http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson) -> None:
    http.get(f"{API}/tasks/t-1", json=task_json("t-1", status="running", result="incomplete"))
    task = drydock.task("t-1")
    assert (task.state, task.result) == (TaskState.RUNNING, "incomplete")


def test_a_task_that_drydock_does_not_know(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.get(f"{API}/tasks/t-1", status=404, json={"type": "error", "message": "Task not found", "retry": False})
    with pytest.raises(TaskNotFound, match="t-1"):
        drydock.task("t-1")


@pytest.mark.parametrize(
    "answer", [{"json": {"title": "404 Not Found"}}, {"body": "<html></html>"}, {"body": ""}], ids=["b", "page", "c"]
)
def test_a_404_that_is_not_about_the_task_does_not_lose_it(
    http: responses.RequestsMock, drydock: DrydockProvisioner, answer: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks/t-1", status=404, **answer)
    with pytest.raises(ProvisionerRefused) as caught:
        drydock.task("t-1")
    assert not isinstance(caught.value, TaskNotFound)


def test_a_task_id_cannot_leave_its_place_in_the_path(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.get(f"{API}/tasks/..%2Fnodes%3Fx", json={})
    with pytest.raises(ProvisionerProtocolError):
        drydock.task("../nodes?x")


def test_evidence_of_a_queued_task_has_no_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", status="queued", result="incomplete")})
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    assert judge(Phase.DEPLOY, ["n1"], drydock.evidence("t-1", ["n1"])).unknown == {"n1"}


def test_evidence_of_a_task_that_is_gone_is_the_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.get(f"{API}/tasks/t-1", status=404, json={"type": "error", "message": "Task not found"})
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence("t-1", ["n1", "n2"])
    assert evidence.over
    assert evidence.condition == {"n1": NodeCondition.DEPLOYED}


def test_evidence_without_node_list_is_what_the_task_says(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", successes=["n1"])})
    http.get(f"{API}/nodes", status=500, json={"title": "500 Internal Server Error"})
    evidence = drydock.evidence("t-1", ["n1"])
    assert evidence.reported_success == {"n1"}
    assert evidence.condition == {}
    assert "node list cannot be read" in caplog.text


def test_evidence_without_task_is_what_the_node_list_says(
    http: responses.RequestsMock, drydock: DrydockProvisioner, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks/t-1", status=500, body="Unexpected error.")
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence("t-1", ["n1"])
    assert not evidence.over
    assert evidence.condition == {"n1": NodeCondition.DEPLOYED}
    assert "task t-1 cannot be read" in caplog.text


def test_no_evidence_at_all_is_an_error(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.get(f"{API}/tasks/t-1", status=503)
    http.get(f"{API}/nodes", status=503)
    with pytest.raises(ProvisionerUnavailable, match="tasks/t-1"):
        drydock.evidence("t-1", ["n1"])


# --- check and headers ----------------------------------------------------------------------------------------------


def test_check_leaves_nothing_behind(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.get(f"{URL}/versions", json={"v1.0": {"path": "/api/v1.0", "status": "stable"}})
    http.get(url=f"{API}/tasks/00000000-0000-4000-8000-000000000000", status=404, json={"type": "error", "message": ""})
    assert drydock.check() == f"Drydock at {URL} answers (API v1.0) and accepts the credentials."
    assert {call.request.method for call in http.calls} == {"GET"}
    assert not [call for call in http.calls if "health" in str(call.request.url)]


def test_check_notices_credentials_that_are_not_accepted(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.get(f"{URL}/versions", json={"v1.0": {}})
    http.get(f"{API}/tasks/00000000-0000-4000-8000-000000000000", status=401)
    with pytest.raises(AuthenticationFailed):
        drydock.check()


@pytest.mark.parametrize("versions", [{}, [], {"v2": {}}, None])
def test_check_notices_another_service(
    http: responses.RequestsMock, drydock: DrydockProvisioner, versions: object
) -> None:
    http.get(f"{URL}/versions", json=versions)
    with pytest.raises(ProvisionerProtocolError, match="is this Drydock"):
        drydock.check()


@pytest.mark.parametrize("marker", [None, "action-17", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", str(uuid.uuid1())])
def test_the_context_marker_is_a_uuid_of_version_4(
    http: responses.RequestsMock, make_drydock: Make, marker: str | None
) -> None:
    http.get(f"{API}/nodes", json=[])
    make_drydock(context_marker=marker, end_user="Ann").nodes()
    headers = http.calls[0].request.headers
    assert uuid.UUID(headers["X-Context-Marker"]).version == 4
    assert headers["X-End-User"] == "Ann"


def test_the_context_marker_of_one_text_is_always_the_same(make_drydock: Make) -> None:
    one, two = (make_drydock(context_marker="action-17").context_marker for _ in range(2))
    assert one == two
    assert make_drydock(context_marker=one).context_marker == one
    assert make_drydock(context_marker="action-18").context_marker != one


@pytest.mark.parametrize("user", ["Ann\r\nX-Auth-Token: x", " Ann", "Änne"])
def test_an_end_user_that_cannot_stand_in_a_header_is_refused(make_drydock: Make, user: str) -> None:
    with pytest.raises(ValueError, match="end user"):
        make_drydock(end_user=user)


@pytest.mark.parametrize("url", [URL, f"{URL}/", f"{URL}/api", f"{URL}/api/v1.0/"])
def test_the_url_may_name_the_api(http: responses.RequestsMock, make_drydock: Make, url: str) -> None:
    http.get(f"{API}/nodes", json=[])
    assert make_drydock(url=url).nodes() == {}


def test_no_secret_in_any_text(
    http: responses.RequestsMock, make_drydock: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = make_drydock(tokens=StaticToken("s3cret-canary"))
    http.get(f"{API}/tasks/t-1", status=403, body="token s3cret-canary lacks a role")
    http.get(f"{API}/nodes", body=requests.exceptions.InvalidHeader("bad header s3cret-canary"))
    http.get(f"{API}/tasks", body=requests.ConnectionError("lost, sent s3cret-canary"))
    texts = [repr(client)]
    for attempt in (lambda: client.task("t-1"), client.nodes, lambda: client.find("ref")):
        with pytest.raises((ProvisionerRefused, ProvisionerUnavailable)) as caught:
            attempt()
        texts += [str(caught.value), repr(caught.value), repr(caught.value.args)]
    assert http.calls[0].request.headers["X-Auth-Token"] == "s3cret-canary"
    assert "s3cret" not in "".join([*texts, caplog.text])
