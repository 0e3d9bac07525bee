"""The address of a design gives access to it: it stands in requests, and in no text of ours."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import responses

from provisioner_client.designs import DesignSource
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import ProvisionerError
from provisioner_client.protocol import TaskRef
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.unit.provisioner_client.drydock.drydock_answers import API, GOOD, TaskJson

TOKEN = "cAnArY-0123456789-abcd"
REF = f"https://slipway.test:8443/slipway/d/{TOKEN}"
DESIGN = DesignSource(REF)
ECHO = f"Unable to resolve {REF}: HTTPSConnectionPool(host='slipway.test', port=8443): with url: /slipway/d/{TOKEN}"

Ask = Callable[[DrydockProvisioner], object]


def asks() -> list[Any]:
    """Everything that sends the address, with each path to which it does."""
    asks: dict[str, tuple[Ask, tuple[str, ...]]] = {
        "validate_design": (lambda drydock: drydock.validate_design(DESIGN), ("validatedesign",)),
        "select_nodes": (
            lambda drydock: drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))]),
            ("validatedesign", "nodefilter"),
        ),
        "submit": (lambda drydock: drydock.submit(Phase.PREPARE, DESIGN, ["n1"], "ref"), ("tasks",)),
        "submit a site": (
            lambda drydock: drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref"),
            ("validatedesign", "nodefilter", "tasks"),
        ),
    }
    return [pytest.param(ask, path, id=f"{name}, {path}") for name, (ask, paths) in asks.items() for path in paths]


@pytest.mark.parametrize(("ask", "refusing"), asks())
@pytest.mark.parametrize("status", [302, 400, 404, 500])
@pytest.mark.parametrize(
    "echo",
    [
        pytest.param({"json": {"type": "error", "message": ECHO}}, id="shape a"),
        pytest.param({"json": {"title": "Bad", "description": ECHO}}, id="shape b"),
        pytest.param({"body": ECHO}, id="shape c"),
        pytest.param({"json": {"kind": "Status", "status": "Failure", "message": ECHO, "code": 400}}, id="shape d"),
        pytest.param({"body": f"<html><title>{ECHO}</title></html>"}, id="a page"),
        pytest.param({"body": f"Unable to resolve {REF[:-5]}"}, id="cut short"),
    ],
)
def test_an_answer_that_echoes_the_address_is_not_repeated(
    http: responses.RequestsMock,
    drydock: DrydockProvisioner,
    caplog: pytest.LogCaptureFixture,
    ask: Ask,
    status: int,
    echo: dict[str, Any],
    refusing: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    http.get(f"{API}/tasks", json=[{"task_id": "old"}])
    good: dict[str, dict[str, Any]] = {"validatedesign": {"json": GOOD}, "nodefilter": {"json": ["n1"]}, "tasks": {}}
    for path, answer in good.items():
        http.post(f"{API}/{path}", **({"status": status, **echo} if path == refusing else answer))
    try:
        told = repr(ask(drydock))
    except ProvisionerError as error:
        told = "".join(traceback.format_exception(error)) + repr(error)
    assert ("POST", f"{API}/{refusing}") in {(call.request.method, call.request.url) for call in http.calls}
    assert TOKEN[:8] not in told
    assert TOKEN[:8] not in caplog.text


def test_the_text_says_which_server_has_the_design(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=500, json={"type": "error", "message": ECHO})
    with pytest.raises(ProvisionerError, match=r"could not read the design at https://slipway\.test:8443$"):
        drydock.validate_design(DESIGN)


def test_what_is_said_about_a_design_does_not_name_its_address(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    said = [{"message": ECHO, "error": True, "documents": [{"schema": "x/y/v1", "name": REF}]}]
    http.post(f"{API}/validatedesign", status=400, json={**GOOD, "status": "Failure", "details": {"messageList": said}})
    (message,) = drydock.validate_design(DESIGN).messages
    assert message.text.startswith("Unable to resolve the design at https://slipway.test:8443: ")
    assert TOKEN not in repr(message)


def test_what_a_task_says_does_not_name_the_address_even_to_who_never_knew_it(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    messages = [(ECHO[:127], True, "n1", "2026-11-21 01:06:54.343851")]
    task = task_json("t-1", design_ref=REF, messages=messages, node_filter={"x_client_ref": "ref"})
    http.get(f"{API}/tasks/t-1", json=task)
    http.get(f"{API}/tasks", json=[task])
    http.get(f"{API}/nodes", json=[])
    evidence = drydock.evidence(TaskRef("t-1"), ["n1"])
    assert evidence.messages["n1"].startswith("Unable to resolve the design at https://slipway.test:8443")
    for told in (drydock.task(TaskRef("t-1")), drydock.find("ref"), evidence):
        assert TOKEN[:8] not in repr(told)


def test_an_address_that_is_too_long_is_not_repeated(drydock: DrydockProvisioner) -> None:
    longer = DesignSource(REF + "x" * 128)
    for ask in (
        lambda: drydock.validate_design(longer),
        lambda: drydock.submit(Phase.PREPARE, longer, ["n1"], "ref"),
    ):
        with pytest.raises(ProvisionerError, match="characters, and Drydock takes 128") as caught:
            ask()
        assert TOKEN[:8] not in str(caught.value)


def test_a_repeated_attempt_is_logged_without_the_words_of_the_answer(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson, caplog: pytest.LogCaptureFixture
) -> None:
    http.get(f"{API}/tasks/t-1", status=503, json={"type": "error", "message": "the password hunter2-of-the-site"})
    http.get(f"{API}/tasks/t-1", json=task_json("t-1"))
    drydock.task(TaskRef("t-1"))
    assert "attempt 1 of" in caplog.text
    assert "GET /api/v1.0/tasks/t-1: 503" in caplog.text
    assert "hunter2" not in caplog.text
