"""Submitting to Drydock: what is sent, what is refused before, and what follows a lost answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
import responses

from provisioner_client.designs import DesignSource
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import (
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.http_settings import Timeouts
from strategy_lib.phase import Phase
from tests.unit.provisioner_client.drydock.drydock_answers import (
    API,
    BAD,
    DESIGN,
    GOOD,
    REF,
    TaskJson,
    echo,
    posted_tasks,
    sent_body,
)

Make = Callable[..., DrydockProvisioner]
ANOTHER: dict[str, Any] = {"task_id": "t-9", "status": "queued", "action": "prepare_nodes"}


@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"status": 500, "json": {"type": "error", "message": "busy"}}, id="500 shape a"),
        pytest.param({"status": 500, "json": {"title": "500 Internal Server Error"}}, id="500 shape b"),
        pytest.param({"status": 500, "body": "Unexpected error."}, id="500 shape c"),
        pytest.param({"status": 502, "body": "<html><title>502</title></html>"}, id="a proxy's page"),
        pytest.param({"status": 503, "headers": {"Retry-After": "3"}}, id="503"),
        pytest.param({"status": 429}, id="429"),
        pytest.param({"status": 302, "headers": {"Location": "https://login.test/"}}, id="a redirect"),
        pytest.param({"status": 201, "body": '{"kind": "Task", "task_'}, id="201 cut off"),
        pytest.param({"status": 201, "body": ""}, id="201 without a body"),
        pytest.param({"status": 201, "json": {"kind": "Task"}}, id="201 without an id"),
        pytest.param({"status": 201, "json": {**ANOTHER, "action": "deploy_nodes"}}, id="201 about another action"),
        pytest.param(
            {"status": 201, "json": {**ANOTHER, "node_filter": {"x_client_ref": "x"}}}, id="201 about another"
        ),
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
    assert drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref") == "t-1"
    assert len(posted_tasks(http)) == 2


STRANGERS = [
    pytest.param({"status": 404, "body": "<html><title>404 Not Found</title></html>"}, id="404 page"),
    pytest.param({"status": 404, "json": {"type": "error", "message": "not found"}}, id="404 shape a"),
    pytest.param({"status": 400, "body": "Bad Request"}, id="400"),
]


@pytest.mark.parametrize("look", STRANGERS)
def test_rule_12_a_list_of_tasks_that_is_refused_says_nothing_about_the_task(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, look: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.get(f"{API}/tasks", **look)
    http.post(f"{API}/tasks", body=requests.ConnectionError("reset"))  # after the task was taken, for all we know
    with pytest.raises(SubmissionUncertain):
        drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref")
    assert len(posted_tasks(http)) == 1


@pytest.mark.parametrize("answer", [one for one in STRANGERS if one.id != "404 shape a"])
def test_rule_12_a_stranger_that_refuses_the_task_may_have_passed_it_on(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, answer: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", **answer)
    with pytest.raises(SubmissionUncertain):
        drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref")
    assert len(posted_tasks(http)) == 1


def test_a_whole_site_that_was_sent_before_is_joined_whatever_became_of_its_design(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[echo(task_json, task_id="t-1", action="verify_site")])
    http.post(f"{API}/validatedesign", status=400, json=BAD)
    assert drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref") == "t-1"


def test_a_whole_site_whose_design_is_bad_is_refused(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/validatedesign", status=400, json=BAD)
    with pytest.raises(SubmissionRefused, match="rack has no gateway"):
        drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref")


@pytest.mark.parametrize("answer", STRANGERS)
def test_a_whole_site_is_not_refused_for_what_a_stranger_says(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, answer: dict[str, Any]
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/validatedesign", **answer)
    with pytest.raises(ProvisionerUnavailable, match="nothing was sent"):
        drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref")
    assert not posted_tasks(http)


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param({"body": requests.ReadTimeout("slow")}, id="no answer"),
        pytest.param({"body": requests.ConnectionError("reset")}, id="reset"),
        pytest.param({"status": 500, "json": {"type": "error", "message": "busy"}}, id="500"),
        pytest.param({"status": 201, "body": "{"}, id="cut off"),
    ],
)
def test_rule_12_after_a_lost_answer_it_is_looked_for_as_long_as_it_may_take_effect(
    http: responses.RequestsMock,
    make_drydock: Make,
    task_json: TaskJson,
    waits: list[float],
    lost: dict[str, Any],
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", **lost)
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    make_drydock(timeouts=Timeouts(read=40)).submit(Phase.PREPARE, DESIGN, ["n1"], "ref")
    assert sum(waits) >= 40


def test_an_unsupported_action_is_refused_at_once(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=400, json={"type": "error", "message": "Unsupported action"})
    with pytest.raises(SubmissionRefused, match="400: Unsupported action"):
        drydock.submit(Phase.RELABEL, DESIGN, ["n1"], "ref")
    assert len(posted_tasks(http)) == 1


def test_a_reference_of_another_action_is_refused(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[echo(task_json, task_id="t-1", action="prepare_nodes")])
    with pytest.raises(ProvisionerRefused, match="t-1, prepare_nodes"):
        drydock.submit(Phase.DEPLOY, DESIGN, ["n1"], "ref")


def test_a_provisioner_that_does_not_echo_is_warned_about(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=task_json("t-1"))
    assert drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref") == "t-1"
    assert "does not echo its reference" in caplog.text


def test_the_whole_site_is_sent_by_name(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n2", "n1"])
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1", action="verify_site"))
    assert drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref") == "t-1"
    assert sent_body(http.calls[-2]) == {"design_ref": REF, "node_filter": None}, "trap 7: all nodes is null"
    assert posted_tasks(http)[0]["node_filter"] == {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
        "x_client_ref": "ref",
    }


@pytest.mark.parametrize(
    ("address", "nodes", "reference", "match"),
    [
        pytest.param("x" * 129, ["n1"], "ref", "129 characters", id="address wider than its column"),
        pytest.param("", ["n1"], "ref", "has no address", id="no address"),
        pytest.param(REF, ["n" * 33], "ref", "1 to 32 characters", id="host name wider than its column"),
        pytest.param(REF, ["n1", ""], "ref", "1 to 32 characters", id="empty host name"),
        pytest.param(REF, ["n1"], "", "without a reference", id="no reference"),
    ],
)
def test_what_drydock_would_break_on_is_refused_before_it_is_sent(
    http: responses.RequestsMock,
    drydock: DrydockProvisioner,
    address: str,
    nodes: list[str],
    reference: str,
    match: str,
) -> None:
    with pytest.raises(SubmissionRefused, match=match):
        drydock.submit(Phase.PREPARE, DesignSource(address), nodes, reference)
    assert len(http.calls) == 0


def test_the_widest_that_fits_is_sent(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/tasks", status=201, json=echo(task_json, task_id="t-1"))
    assert drydock.submit(Phase.PREPARE, DesignSource("x" * 128), ["n" * 32], "ref") == "t-1"
