"""A client that goes away in the middle of a request is no error of ours, and leaves no traceback."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from starlette.types import Message, Scope

if TYPE_CHECKING:
    from fastapi import FastAPI

_BODY = b'{"name": '
"""The beginning of one; the rest does not come."""


def _scope(request_line: str, token: str) -> Scope:
    method, target = request_line.split(" ")
    place = urlsplit(target)
    headers = {
        "host": "test",
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "content-length": "5000",
    }
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": place.path,
        "raw_path": place.path.encode(),
        "root_path": "",
        "query_string": place.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("192.0.2.1", 4711),
        "server": ("test", 80),
        "state": {},
    }


async def _serve_and_leave(app: FastAPI, scope: Scope) -> None:
    """Serve a request as the server does, up to where the client closes its connection."""
    received: list[Message] = [
        {"type": "http.request", "body": _BODY, "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return received.pop(0) if len(received) > 1 else received[0]

    async def send(_: Message) -> None:
        """Nobody reads it."""

    await app(scope, receive, send)


@pytest.mark.usefixtures("dags", "connected", "store")
@pytest.mark.parametrize(
    "request_line",
    [
        "POST /slipway/api/v1.0/configdocs/site",
        "POST /slipway/api/v1.0/actions",
        "POST /slipway/api/v1.0/sites/default/reporters",
        "POST /slipway/v3/auth/tokens",
        "POST /slipway/ui/sites/default/states/set",
        "POST /auth/token",
        "POST /auth/token/cli",
        "GET /slipway/api/v1.0/actions",
        "GET /slipway/api/v1.0/sites/default/state?wait=1",
    ],
)
def test_a_client_that_went_away_leaves_no_traceback(
    request_line: str, airflow_app: FastAPI, tokens: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(_serve_and_leave(airflow_app, _scope(request_line, tokens["admin"])))
    assert [record for record in caplog.records if record.exc_info] == []
