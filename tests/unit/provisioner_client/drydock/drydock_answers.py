"""Addresses and answers of a Drydock that exists only in these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import responses

from provisioner_client.designs import DesignSource

URL: Final = "http://drydock.test:9000"
API: Final = f"{URL}/api/v1.0"
REF: Final = "http://slipway.test/design/1"
DESIGN: Final = DesignSource(REF)
GOOD: Final = {"kind": "Status", "status": "Success", "code": 200, "details": {"messageList": []}}
BAD: Final = {
    "kind": "Status",
    "status": "Failure",
    "code": 400,
    "details": {"messageList": [{"message": "rack has no gateway", "error": True, "level": "Error"}]},
}
NOT_FOUND: Final = {"type": "error", "message": "Unable to resolve design reference", "retry": False}

TaskJson = Callable[..., dict[str, Any]]


def sent_body(call: Any) -> Any:
    """What was posted."""
    return json.loads(call.request.body)


def posted_tasks(http: responses.RequestsMock) -> list[Any]:
    """The bodies of all submissions."""
    return [
        sent_body(call) for call in http.calls if call.request.method == "POST" and call.request.url == f"{API}/tasks"
    ]


def echo(task_json: TaskJson, reference: str = "ref", **given: Any) -> dict[str, Any]:
    """Build a task that carries a reference."""
    return task_json(node_filter={"x_client_ref": reference, "filter_set": []}, **given)
