"""Airflow's own login, slowed down where passwords are wrong: the same count as at the Keystone face."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slipway_api.airflow_settings import secret_key
from slipway_api.http.api_errors import ApiError
from slipway_api.keystone import wrong_passwords

PROOF = "X-Slipway-Login"
"""The header of a login that Slipway asks for itself, on behalf of a client that it has counted already."""
LARGEST = 64 * 1024


def proof_of(user: str, password: str) -> str:
    """Return what shows that Slipway sends this user and password: nobody else has Airflow's secret key."""
    text = json.dumps(["slipway login", user, password]).encode()
    return hmac.new(secret_key().encode(), text, hashlib.sha256).hexdigest()


class SlowedLogin:
    """ASGI middleware around a login of Airflow's: who must wait is answered 429, and Airflow is not asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one login."""
        body = await _whole(receive)
        if body is None:
            await JSONResponse({"detail": f"a login has at most {LARGEST} bytes"}, 413)(scope, receive, send)
            return

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        headers = Headers(scope=scope)
        login = _login(headers.get("content-type", ""), body)
        user, password = (str(login.get(key, "")) for key in ("username", "password"))
        if hmac.compare_digest(headers.get(PROOF, "").encode(), proof_of(user, password).encode()):
            await self._app(scope, again, send)
            return
        try:
            with wrong_passwords.REMEMBERED.attempt(wrong_passwords.address_of(scope), user) as attempt:

                async def judged(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        attempt.right = message["status"] < 300
                        attempt.wrong = message["status"] in (401, 403)
                    await send(message)

                await self._app(scope, again, judged)
        except ApiError as refusal:
            answer = JSONResponse({"detail": refusal.message}, refusal.status, headers=refusal.headers)
            await answer(scope, receive, send)


async def _whole(receive: Receive) -> bytes | None:
    """Return the body; None when it is too large."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


def _login(content_type: str, body: bytes) -> Mapping[str, Any]:
    """Return the fields of a login; none where it has a form that Airflow does not accept either."""
    try:
        if content_type.startswith("application/x-www-form-urlencoded"):
            return dict(parse_qsl(body.decode()))
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
