"""Faults on the wire: what the client sees of each, and whether the request took effect all the same."""

from __future__ import annotations

import time
from typing import Any

import pytest
import requests

from tests.integration.provisioner_client.simulator.drydock_calls import Drydock
from tests.support.simulators import Simulator


def _post(drydock: Drydock, design_ref: str) -> requests.Response:
    body = {"action": "verify_site", "design_ref": design_ref, "node_filter": {"x_client_ref": "slipway-A-1"}}
    return drydock.post("tasks", body)


@pytest.mark.parametrize(
    ("fault", "took_effect", "error"),
    [
        ({"kind": "reset_before"}, 0, requests.ConnectionError),
        ({"kind": "reset_after"}, 1, requests.ConnectionError),
        ({"kind": "truncated"}, 1, requests.exceptions.ChunkedEncodingError),
        ({"kind": "timeout", "seconds": 0.3}, 1, requests.ConnectionError),
        ({"kind": "timeout", "seconds": 0.3, "after": False}, 0, requests.ConnectionError),
    ],
    ids=["reset_before", "reset_after", "truncated", "timeout_after", "timeout_before"],
)
def test_lost_answers(
    drydock: Drydock,
    simulator: Simulator,
    design_ref: str,
    fault: dict[str, Any],
    took_effect: int,
    error: type[Exception],
) -> None:
    simulator.post("faults", {"method": "POST", "path": "/api/v1.0/tasks", **fault})
    with pytest.raises(error):
        _post(drydock, design_ref)
    tasks = simulator.get("tasks")
    entry = simulator.get("journal")[0]
    assert len(tasks) == took_effect
    assert entry["reference"] == "slipway-A-1"
    assert entry["status"] == (201 if fault["kind"] == "truncated" else None)
    assert ("created task" if took_effect else "no effect") in entry["effect"]
    assert _post(drydock, design_ref).status_code == 201


@pytest.mark.parametrize(
    ("shape", "content_type", "body"),
    [
        ("a", "application/json", '{"type": "error", "message": "Injected fault", "retry": false}'),
        ("b", "application/json", '{"title": "503 Service Unavailable"}'),
        ("c", "text/plain", "Injected fault"),
        ("d", "application/json", '"code": 503}'),
    ],
)
def test_the_four_shapes_of_an_error(
    drydock: Drydock, simulator: Simulator, shape: str, content_type: str, body: str
) -> None:
    fault = {"path": "*/nodes", "kind": "status", "status": 503, "shape": shape, "retry_after": 7}
    simulator.post("faults", fault)
    answer = drydock.get("nodes")
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, content_type)
    assert answer.text.endswith(body)
    assert answer.headers["Retry-After"] == "7"
    assert drydock.get("nodes").status_code == 200


def test_429_without_retry_after(drydock: Drydock, simulator: Simulator) -> None:
    simulator.post("faults", {"path": "*", "kind": "status", "status": 429})
    answer = drydock.get("nodes")
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, False)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [({"kind": "status", "status": 503}, 503), ({"kind": "html"}, 502), ({"kind": "reset_after"}, None)],
    ids=["status", "html", "reset"],
)
def test_a_request_may_take_effect_long_after_its_answer(
    drydock: Drydock, simulator: Simulator, design_ref: str, fault: dict[str, Any], seen: int | None
) -> None:
    simulator.post("faults", {"method": "POST", "path": "*/tasks", "effect_after": 0.5, **fault})
    try:
        assert _post(drydock, design_ref).status_code == seen
    except requests.ConnectionError:
        assert seen is None
    (entry,) = simulator.get("journal")
    assert (entry["status"], entry["effect"]) == (seen, f"fault {fault['kind']}, takes effect 0.5 s later")
    drydock.wait_for(lambda: simulator.get("tasks"), lambda tasks: len(tasks) == 1)


@pytest.mark.parametrize(("kind", "seconds"), [("reset_before", 1), ("drip", 1), ("reset_after", -1), ("html", "1")])
def test_what_cannot_take_effect_later_is_refused(simulator: Simulator, kind: str, seconds: object) -> None:
    fault = {"path": "*", "kind": kind, "effect_after": seconds}
    answer = requests.post(f"{simulator.url}/_sim/faults", json=fault, timeout=5)
    assert (answer.status_code, "effect_after is" in answer.text) == (400, True)


def test_count_skip_method_and_path(drydock: Drydock, simulator: Simulator) -> None:
    simulator.post("faults", [{"method": "get", "path": "*/nodes", "kind": "unauthorized", "skip": 1, "count": 2}])
    assert drydock.get("tasks").status_code == 200
    assert [drydock.get("nodes").status_code for _ in range(4)] == [200, 401, 401, 200]
    assert simulator.get("faults") == []


def test_an_html_page(drydock: Drydock, simulator: Simulator) -> None:
    simulator.post("faults", {"path": "*", "kind": "html"})
    answer = drydock.get("nodes")
    assert (answer.status_code, answer.headers["Content-Type"]) == (502, "text/html")
    assert "<h1>502 Bad Gateway</h1>" in answer.text


@pytest.mark.parametrize("fault", [{"kind": "latency", "seconds": 0.3}, {"kind": "drip", "seconds": 0.001}])
def test_late_answers_are_true(drydock: Drydock, simulator: Simulator, fault: dict[str, Any]) -> None:
    simulator.post("faults", {"path": "*", **fault})
    start = time.monotonic()
    answer = drydock.session.get(f"{simulator.url}/versions", timeout=5)
    assert "v1.0" in answer.json()
    assert time.monotonic() - start > 0.15


def test_a_reset_is_a_reset_and_not_an_orderly_end(drydock: Drydock, simulator: Simulator) -> None:
    simulator.post("faults", {"path": "*", "kind": "reset_before"})
    with pytest.raises(requests.ConnectionError, match="Connection reset"):
        drydock.get("nodes")
