"""How large the body of a request may be: counted as it comes, whatever its headers say."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slipway_api.http.api_errors import ApiError

LARGEST_YAML = 64 * 1024 * 1024
LARGEST_JSON = 1024 * 1024
# Where documents are sent; everywhere else a body is a small JSON object, or empty.
_DOCUMENTS = ("/api/v1.0/configdocs/", "/api/v1.0/sites/")


class BodyLimit:
    """ASGI middleware: refuses (413) a body that is too large; `Unexpected`, which is outside, shapes the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = _limit(scope)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > limit:
            raise _too_large(limit)
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        await self._app(scope, counted, send)


def _limit(scope: Scope) -> int:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return LARGEST_YAML if path.startswith(_DOCUMENTS) else LARGEST_JSON


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body is larger than {limit // 1024 // 1024} MiB, which is the most that is read here")
