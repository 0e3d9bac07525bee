"""Errors in Keystone's shape, which its clients read below ``/v3``."""

from __future__ import annotations

from http import HTTPStatus

from fastapi.responses import JSONResponse
from starlette.types import Scope

from slipway_api.http.api_errors import ApiError, EscapedJson


def is_keystone(scope: Scope) -> bool:
    """Whether a request is for the Keystone face."""
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path == "/v3" or path.startswith("/v3/")


def keystone_failure(error: ApiError) -> JSONResponse:
    """Return the response to a request that failed, in Keystone's shape."""
    body = {"code": error.status, "message": error.message, "title": HTTPStatus(error.status).phrase}
    return EscapedJson({"error": body}, error.status, headers=error.headers)
