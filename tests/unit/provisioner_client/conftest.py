"""A Drydock client whose waits are noted and not waited, before an HTTP layer that answers what the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest
import responses

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import HttpSettings

URL = "http://drydock.test:9000"


@pytest.fixture
def http() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def waits() -> list[float]:
    """Every wait that the client asked for, in seconds."""
    return []


def http_settings(waits: list[float], options: dict[str, Any]) -> HttpSettings:
    """Take those of the options out that say how requests are sent."""
    given = {one.name: options.pop(one.name) for one in fields(HttpSettings) if one.name in options}
    return HttpSettings(**{"sleep": waits.append, "chance": lambda: 1.0, **given})


@pytest.fixture
def make_session(waits: list[float]) -> Iterator[Callable[..., HttpSession]]:
    made: list[HttpSession] = []

    def make(**options: Any) -> HttpSession:
        made.append(HttpSession(URL, http_settings(waits, options), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def session(make_session: Callable[..., HttpSession]) -> HttpSession:
    return make_session()


@pytest.fixture
def make_drydock(waits: list[float]) -> Iterator[Callable[..., DrydockProvisioner]]:
    made: list[DrydockProvisioner] = []

    def make(**options: Any) -> DrydockProvisioner:
        http = http_settings(waits, options)
        made.append(DrydockProvisioner(options.pop("url", URL), options.pop("tokens", None), http, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def drydock(make_drydock: Callable[..., DrydockProvisioner]) -> DrydockProvisioner:
    return make_drydock()


@pytest.fixture
def task_json() -> Callable[..., dict[str, Any]]:
    """Build a task as Drydock writes it, strange parts included."""

    def build(task_id: str = "t-1", **given: Any) -> dict[str, Any]:
        messages = [
            {
                "message": text,
                "error": error,
                "context_type": "node" if node else "task",
                "context": node or task_id,
                "ts": at,
                "extra": "{}",
            }
            for text, error, node, at in given.pop("messages", ())
        ]
        return {
            "kind": "Task",
            "apiVersion": "v1",
            "task_id": task_id,
            "action": given.pop("action", "prepare_nodes"),
            "parent_task_id": given.pop("parent", None),
            "design_ref": "file:///site.yaml",
            "status": given.pop("status", "complete"),
            "result": {
                "kind": "Status",
                "apiVersion": "v1.0",
                "metadata": {},
                "message": None,
                "reason": None,
                "status": given.pop("result", "success"),
                "successes": given.pop("successes", []),
                "failures": given.pop("failures", []),
                "links": [{"rel": "detail_logs", "href": "http://elsewhere"}],
                "details": {"errorCount": 0, "messageList": messages},
            },
            "node_filter": given.pop("node_filter", None),
            "subtask_id_list": [],
            "created": given.pop("created", "2026-11-21 01:06:54.343851"),
            "created_by": "noauth",
            "terminate": False,
            "retry": 0,
            **given,
        }

    return build
