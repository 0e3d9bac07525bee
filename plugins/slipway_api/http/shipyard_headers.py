"""Headers that Airship's clients send and expect, on every request and every answer."""

from __future__ import annotations

from uuid import UUID, uuid4

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_REQUEST = "slipway_request_id"
_MARKER = "slipway_context_marker"


class ShipyardHeaders:
    """ASGI middleware: ``X-Auth-Token`` is a bearer token; every request has an id and a context marker.

    The id is ours and is answered as ``X-Shipyard-Req``. The marker is the caller's ``X-Context-Marker``, if that is a
    UUID, else the id: it ties what several services log about one request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token = headers.get("x-auth-token", "").strip()
        # Another scheme is that of a proxy on the way. Were the token dropped for it, a cookie would be who is asking.
        if token and not headers.get("authorization", "").lower().startswith("bearer "):
            others = [header for header in scope["headers"] if header[0] != b"authorization"]
            scope = {**scope, "headers": [*others, (b"authorization", b"Bearer " + token.encode("latin-1"))]}
        request_id = str(uuid4())
        marker = _uuid(headers.get("x-context-marker")) or request_id
        scope.setdefault("state", {}).update({_REQUEST: request_id, _MARKER: marker})

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                given["X-Shipyard-Req"] = request_id
                given["X-Context-Marker"] = marker
            await send(message)

        await self._app(scope, receive, answer)


def request_id(request: Request) -> str:
    """Return the id of the request, as it is answered in ``X-Shipyard-Req``."""
    return str(getattr(request.state, _REQUEST))


def context_marker(request: Request) -> str:
    """Return the context marker of the request, a UUID."""
    return str(getattr(request.state, _MARKER))


def _uuid(text: str | None) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        return None
