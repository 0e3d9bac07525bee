"""The online commands against a server that is played by `responses`: what is sent, and what is made of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import responses

from tests.unit.slipway_cli.conftest import Slipway

URL = "http://127.0.0.1:1"
API = f"{URL}/slipway/api/v1.0"
ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
RUN_ID = f"default__{ID}"
AT = "2026-03-01T12:00:00.123456+00:00"
TOKEN = "the-token-of-the-test"


class Server:
    """Answers like Slipway: every answer has the id of its request."""

    def __init__(self, mock: responses.RequestsMock) -> None:
        self.mock = mock

    def on(
        self,
        method: str,
        path: str,
        answer: Any = None,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> responses.BaseResponse:
        """Answer a request with JSON, or with text where `answer` is text; `path` is below the API's."""
        body: dict[str, Any] = {"body": answer, "content_type": "text/plain"} if isinstance(answer, str) else {}
        if not body and answer is not None:
            body = {"json": answer}
        return self.mock.add(
            method,
            f"{API}{path}",
            status=status,
            headers={"X-Shipyard-Req": "request-1", **(headers or {})},
            **body,
            **more,
        )

    def foresee(
        self,
        *,
        deployed: tuple[str, ...] = (),
        withheld: tuple[str, ...] = (),
        released: tuple[str, ...] = (),
        removed: tuple[str, ...] = (),
    ) -> None:
        """Answer what an action would do: work on these deployed nodes, leave those alone, erase some, remove some."""
        of = {"redeploy": deployed, "withhold": withheld, "release": released, "remove": removed, "deploy": ("n9",)}
        nodes = [{"name": name, "deed": deed, "groups": ["all"]} for deed, names in of.items() for name in names]
        said = f"withheld: {', '.join(withheld)}; released first: {', '.join(released)}"
        answer = {
            "name": "update_site",
            "nodes": [one for one in nodes if one["name"] not in removed or one["deed"] == "remove"],
            "counts": {deed: len(names) for deed, names in of.items()},
            "touched": [name for name in deployed if name not in removed],
            "notes": [{"message": said, "error": False, "level": "Warning"}],
        }
        self.on("POST", "/actions/plan", answer)

    def refuse(self, method: str, path: str, status: int, message: str, *messages: Any, **more: Any) -> None:
        """Refuse a request in Slipway's way."""
        listed = [*messages] or [{"message": message, "error": True}]
        body = {"message": message, "details": {"messageList": listed}, "retry": status >= 500}
        self.on(method, path, body, status, **more)

    @property
    def request(self) -> Any:
        """The latest request."""
        return self.mock.calls[-1].request


@pytest.fixture
def server(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The server that `SLIPWAY_URL` names, with a token for it."""
    monkeypatch.setenv("SLIPWAY_URL", URL)
    monkeypatch.setenv("SLIPWAY_TOKEN", TOKEN)
    with responses.RequestsMock() as mock:
        yield Server(mock)


@pytest.fixture
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway_cli.terminal.follow._REST", 0.0)


def action(**more: Any) -> dict[str, Any]:
    """An action as the server shows it."""
    return {
        "id": ID,
        "name": "deploy_site",
        "dag_id": "deploy_site",
        "run_id": RUN_ID,
        "site": "default",
        "revision": 3,
        "parameters": {},
        "action_lifecycle": "Processing",
        "state": "running",
        "verdict": None,
        "user": "admin",
        "datetime": AT,
        "started": AT,
        "ended": None,
        "steps": [],
        "notes": [],
        "groups": [],
        "command_audit": [],
    } | more
