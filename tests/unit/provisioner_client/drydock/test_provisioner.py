"""What is asked of Drydock and read from it: designs, selections, tasks, evidence, nodes; headers, and no secrets."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import requests
import responses

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    TaskNotFound,
)
from provisioner_client.protocol import ACTIONS, Provisioner, TaskRef, TaskState
from provisioner_client.tokens import StaticToken
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.unit.provisioner_client.drydock.drydock_answers import (
    API,
    BAD,
    DESIGN,
    GOOD,
    NOT_FOUND,
    REF,
    URL,
    TaskJson,
    echo,
    sent_body,
)

Make = Callable[..., DrydockProvisioner]


def test_it_is_a_provisioner(drydock: DrydockProvisioner) -> None:
    provisioner: Provisioner = drydock
    assert provisioner.find.__doc__


def test_find_gives_none_or_the_oldest(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks", json=[echo(task_json, reference="another")])
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
    task = drydock.task(TaskRef("t-1"))
    assert (task.state, task.result) == (TaskState.RUNNING, "incomplete")


def test_a_task_that_drydock_does_not_know(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", status=404, json={"type": "error", "message": "Task not found", "retry": False})
    http.get(f"{API}/tasks", json=[task_json("t-2")])
    with pytest.raises(TaskNotFound, match="t-1"):
        drydock.task(TaskRef("t-1"))


ANOTHER = [
    pytest.param({"task_id": "t-2"}, "about task t-2", id="another id"),
    pytest.param({"action": "deploy_nodes"}, "deploy_nodes", id="another action"),
    pytest.param({"node_filter": {"x_client_ref": "slipway-a-1"}}, "reference slipway-a-1", id="another reference"),
]


@pytest.mark.parametrize(("given", "told"), ANOTHER)
def test_an_answer_about_another_task_than_the_one_asked_for_proves_nothing(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, given: dict[str, Any], told: str
) -> None:
    """A stale cache once made the document of a prepare prove a deploy."""
    answer = {**echo(task_json, task_id="t-1", successes=["n1"]), **given}
    http.get(f"{API}/tasks/t-1", json=answer)
    expected: dict[str, Any] = {"phase": Phase.PREPARE, "reference": "ref"}
    with pytest.raises(ProvisionerProtocolError, match=told):
        drydock.task(TaskRef("t-1", **expected))
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence(TaskRef("t-1", **expected), ["n1"])
    assert (evidence.over, evidence.reported_success, evidence.child_success) == (False, frozenset(), frozenset())
    assert (evidence.condition, evidence.listed) == ({"n1": NodeCondition.DEPLOYED}, True)


@pytest.mark.parametrize(("given", "told"), ANOTHER)
def test_a_tree_about_another_task_proves_nothing(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, given: dict[str, Any], told: str
) -> None:
    root = {**echo(task_json, task_id="t-1", successes=["n1"]), **given}
    http.get(f"{API}/tasks/t-1", json={"init_task_id": "t-1", "t-1": root})
    http.get(f"{API}/nodes", json=[])
    evidence = drydock.evidence(TaskRef("t-1", phase=Phase.PREPARE, reference="ref"), ["n1"])
    assert (evidence.over, evidence.reported_success) == (False, frozenset())


def test_the_answer_about_the_very_task_is_taken_also_without_its_reference(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json=task_json("t-1"))
    task = drydock.task(TaskRef("t-1", phase=Phase.PREPARE, reference="ref"))
    assert (task.task_id, task.reference) == ("t-1", None)


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param({"json": []}, id="an empty list"),
        pytest.param({"json": [{"task_id": "t-1"}, {"task_id": "t-2"}]}, id="a list that has it"),
        pytest.param({"status": 404, "body": "<html></html>"}, id="a page"),
        pytest.param({"status": 302}, id="a redirect"),
        pytest.param({"status": 503}, id="busy"),
    ],
)
def test_trap_15_a_task_is_gone_only_if_the_list_of_tasks_says_so_too(
    http: responses.RequestsMock, drydock: DrydockProvisioner, listed: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks/t-1", status=404, json={"type": "error", "message": "Task not found", "retry": False})
    http.get(f"{API}/tasks", **listed)
    for ask in (lambda: drydock.task(TaskRef("t-1")), lambda: drydock.evidence(TaskRef("t-1"), ["n1"])):
        with pytest.raises(ProvisionerUnavailable):
            ask()


def test_trap_15_an_empty_list_of_tasks_proves_no_absence(
    http: responses.RequestsMock, drydock: DrydockProvisioner, waits: list[float]
) -> None:
    http.get(f"{API}/tasks", json=[])
    with pytest.raises(ProvisionerUnavailable, match="no tasks at all"):
        drydock.find("ref")
    assert waits
    assert len(http.calls) > 1


@pytest.mark.parametrize("reference", ["ref", "another"])
def test_trap_15_a_list_that_was_empty_for_a_moment(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, reference: str
) -> None:
    http.get(f"{API}/tasks", json=[])
    http.get(f"{API}/tasks", json=[echo(task_json, task_id="t-1")])
    found = drydock.find(reference)
    assert (found.task_id if found else None) == ("t-1" if reference == "ref" else None)


@pytest.mark.parametrize(
    "answer", [{"json": {"title": "404 Not Found"}}, {"body": "<html></html>"}, {"body": ""}], ids=["b", "page", "c"]
)
def test_a_404_that_is_not_about_the_task_does_not_lose_it(
    http: responses.RequestsMock, drydock: DrydockProvisioner, answer: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks/t-1", status=404, **answer)
    with pytest.raises(ProvisionerRefused) as caught:
        drydock.task(TaskRef("t-1"))
    assert not isinstance(caught.value, TaskNotFound)


def test_a_task_id_cannot_leave_its_place_in_the_path(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.get(f"{API}/tasks/..%2Fnodes%3Fx", json={})
    with pytest.raises(ProvisionerProtocolError):
        drydock.task(TaskRef("../nodes?x"))


def test_evidence_of_a_queued_task_has_no_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", status="queued", result="incomplete")})
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence(TaskRef("t-1"), ["n1"])
    assert judge(Phase.DEPLOY, ["n1"], evidence).unknown == {"n1"}
    assert evidence.listed, "there is nothing to ask again for"


def test_evidence_of_a_task_that_is_gone_is_the_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("t-2")])
    http.get(f"{API}/tasks/t-1", status=404, json={"type": "error", "message": "Task not found"})
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence(TaskRef("t-1"), ["n1", "n2"])
    assert evidence.over
    assert evidence.listed
    assert evidence.condition == {"n1": NodeCondition.DEPLOYED}


def test_evidence_without_node_list_is_what_the_task_says(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", successes=["n1"])})
    http.get(f"{API}/nodes", status=500, json={"title": "500 Internal Server Error"})
    evidence = drydock.evidence(TaskRef("t-1"), ["n1"])
    assert evidence.reported_success == {"n1"}
    assert evidence.condition == {}
    assert not evidence.listed
    assert "node list cannot be read" in caplog.text


def test_evidence_without_task_is_what_the_node_list_says(
    http: responses.RequestsMock, drydock: DrydockProvisioner, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks/t-1", status=500, body="Unexpected error.")
    http.get(f"{API}/nodes", json=[{"hostname": "n1", "status_name": "Deployed"}])
    evidence = drydock.evidence(TaskRef("t-1"), ["n1"])
    assert not evidence.over
    assert evidence.listed
    assert evidence.condition == {"n1": NodeCondition.DEPLOYED}
    assert "task t-1 cannot be read" in caplog.text


def test_no_evidence_at_all_is_an_error(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.get(f"{API}/tasks/t-1", status=503)
    http.get(f"{API}/nodes", status=503)
    with pytest.raises(ProvisionerUnavailable, match="tasks/t-1"):
        drydock.evidence(TaskRef("t-1"), ["n1"])


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


@pytest.mark.parametrize(
    "marker", [None, "action-17", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "4f1ef014-e587-11f1-9a5a-02fc00000001"]
)
def test_the_context_marker_is_a_uuid_of_version_4(
    http: responses.RequestsMock, make_drydock: Make, marker: str | None
) -> None:
    http.get(f"{API}/nodes", json=[])
    make_drydock(context_marker=marker, end_user="Ann").nodes()
    headers = http.calls[0].request.headers
    assert uuid.UUID(headers["X-Context-Marker"]).version == 4
    assert headers["X-End-User"] == "Ann"
    assert headers["Cache-Control"] == "no-cache"


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
    for attempt in (lambda: client.task(TaskRef("t-1")), client.nodes, lambda: client.find("ref")):
        with pytest.raises((ProvisionerRefused, ProvisionerUnavailable)) as caught:
            attempt()
        texts += [str(caught.value), repr(caught.value), repr(caught.value.args)]
    assert http.calls[0].request.headers["X-Auth-Token"] == "s3cret-canary"
    assert "s3cret" not in "".join([*texts, caplog.text])


def test_a_design_is_validated_by_its_own_call_and_never_by_a_task(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(DESIGN).valid
    assert sent_body(http.calls[0]) == {"href": REF}
    assert "validate_design" not in set(ACTIONS.values())


def test_a_design_that_is_bad_says_why(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=400, json=BAD)
    answer = drydock.validate_design(DESIGN)
    assert (answer.valid, [message.text for message in answer.messages]) == (False, ["rack has no gateway"])
    assert len(http.calls) == 1


def test_a_stumble_over_a_design_is_tried_once_more(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=500, json=NOT_FOUND)
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(DESIGN).valid


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
        drydock.validate_design(DESIGN)


def test_a_design_is_validated_once_for_many_groups(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1"])
    for _ in range(3):
        drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))])
    assert [call.request.url for call in http.calls].count(f"{API}/validatedesign") == 1


def test_a_group_that_matches_no_node_is_empty(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=[])
    assert drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))]) == frozenset()


def test_names_that_were_not_asked_for_are_not_believed(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1", "n7"])
    with pytest.raises(ProvisionerProtocolError, match="n7"):
        drydock.select_nodes(DESIGN, [Selector(node_names=("n1", "n2")), Selector(node_names=("n3",))])
