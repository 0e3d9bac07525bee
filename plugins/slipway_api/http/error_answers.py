"""Which error is which answer: every exception that a route can end with has one place here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provisioner_client.errors import ProvisionerError, ProvisionerUnavailable
from site_engine.designs import RevisionUnreadable
from site_engine.errors import (
    AirflowApiError,
    AirflowRefused,
    Conflict,
    ConnectionLookupFailed,
    SettingsError,
    UnknownNodes,
)
from site_engine.extensions import ExtensionError
from site_engine.groups.approvals import MayNotAnswer, NotAsked
from site_store import (
    BufferChanged,
    BufferEmpty,
    BufferNotEmpty,
    CollectionUnchanged,
    DocumentElsewhere,
    NotFound,
    ReporterRefused,
    SchemaNotCurrent,
    SiteBusy,
    StoreError,
    StoreNotConfigured,
    StoreUnavailable,
    TooManyReports,
    ValueRefused,
    VersionChanged,
)
from site_store.sql.sealing import KeyMissing
from slipway_api.http.api_errors import ApiError, failure, is_below, keystone_failure, plain_message
from slipway_api.http.dependencies import LONGEST_NAME, NAME_PATTERN, etag_headers, request_id
from strategy_lib.settings import SettingError

log = logging.getLogger(__name__)

PageFailure = Callable[[Scope, ApiError], Response]
"""Makes the page that a person reads."""

# (HTTP status, its reason where the status's own words do not do, whether the same request may succeed later); an error
# that is not listed is as its base.
_ANSWERS: dict[type[BaseException], tuple[int, str, bool]] = {
    AirflowApiError: (503, "Airflow unreachable", True),
    ConnectionLookupFailed: (503, "Connection unknown", True),
    ExtensionError: (503, "Extension refused", False),
    SettingsError: (503, "Provisioner not configured", False),
    RevisionUnreadable: (409, "Unable to compare revisions", False),
    NotAsked: (409, "No approval asked for", False),
    MayNotAnswer: (403, "", False),
    UnknownNodes: (404, "Node not found", False),
    Conflict: (409, "", False),
    ProvisionerUnavailable: (503, "Provisioner unreachable", True),
    ProvisionerError: (502, "Provisioner", False),
    SettingError: (503, "Setting refused", False),
    StoreError: (500, "", False),
    StoreUnavailable: (503, "", True),
    KeyMissing: (503, "Key of the store missing", True),
    StoreNotConfigured: (503, "", False),
    SchemaNotCurrent: (503, "", False),
    NotFound: (404, "", False),
    ReporterRefused: (403, "", False),
    TooManyReports: (409, "", False),
    SiteBusy: (409, "", True),
    BufferNotEmpty: (409, "", False),
    BufferEmpty: (409, "", True),
    BufferChanged: (409, "", True),
    DocumentElsewhere: (409, "", False),
    ValueRefused: (400, "", False),
    CollectionUnchanged: (400, "Unchanged collection", False),
    VersionChanged: (412, "", False),
}


def as_api_error(error: Exception) -> ApiError:
    """Return the answer to an exception; of an unexpected one it says only that it happened."""
    match error:
        case ApiError():
            return error
        case AirflowRefused():
            # Airflow's own 401 would be the caller's token, which was good a moment ago.
            return ApiError(error.status, str(error), "Refused by Airflow")
        case Conflict():
            return ApiError(409, str(error), error.title, retry=error.retry)
        case TooManyReports(retry_after=int(seconds)):
            return ApiError(429, str(error), retry=True, headers={"Retry-After": str(seconds)})
        case VersionChanged(version=version):
            return ApiError(412, str(error), "Changed Meanwhile", headers=etag_headers(version))
        case RequestValidationError():
            return ApiError(400, "the request is not valid", "Bad Request", _parts(error))
        case HTTPException():
            return ApiError(error.status_code, str(error.detail), headers=error.headers)
    for kind in type(error).__mro__:
        if kind in _ANSWERS:
            status, reason, retry = _ANSWERS[kind]
            return ApiError(status, str(error), reason, retry=retry)
    return ApiError(500, "an unexpected error; the API server's log says more, under this X-Shipyard-Req", retry=True)


def add_error_answers(app: FastAPI, page_failure: PageFailure) -> None:
    """Let every error of the application have Shipyard's shape, Keystone's below /v3, or that of a page below /ui."""

    def answer(request: Request, error: Exception) -> Response:
        return _shaped(request.scope, as_api_error(error), page_failure)

    for kind in (ApiError, RequestValidationError, *_ANSWERS):
        app.add_exception_handler(kind, answer)

    async def no_route(request: Request, error: Exception) -> Response:
        refused = as_api_error(error)
        if refused.status == 405:
            allowed = ", ".join(_methods(app, request))
            if request.method == "OPTIONS":
                return Response(status_code=200, headers={"Allow": allowed})
            refused = ApiError(405, f"{request.method} is not possible here: use {allowed}", headers={"Allow": allowed})
        elif refused.status == 404 and refused.message == "Not Found":
            if (there := _other_slash(app, request)) is not None:
                return Response(status_code=307, headers={"Location": there})
            refused = ApiError(404, f"there is nothing at {request.url.path}")
        return _shaped(request.scope, refused, page_failure)

    app.add_exception_handler(HTTPException, no_route)


class Unexpected:
    """ASGI middleware, the outermost: what nothing else handles is logged, and answered without its details."""

    def __init__(self, app: ASGIApp, page_failure: PageFailure) -> None:
        self._app = app
        self._page_failure = page_failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            # It went away while it was sending. Nobody reads an answer, but Airflow's middlewares fail without one.
            if not started:
                await Response(status_code=400)(scope, receive, send)
        except Exception as error:
            if started:
                raise
            refused = as_api_error(error)
            if refused.status >= 500:
                log.exception("Request %s failed: %s %s", request_id(Request(scope)), scope["method"], scope["path"])
            await _shaped(scope, refused, self._page_failure)(scope, receive, send)


def _shaped(scope: Scope, error: ApiError, page_failure: PageFailure) -> Response:
    if is_below(scope, "/ui"):
        return page_failure(scope, error)
    return keystone_failure(error) if is_below(scope, "/v3") else failure(error)


def _other_slash(app: FastAPI, request: Request) -> str | None:
    """Return where the request would lead with a slash more or less at its end; None when that leads nowhere either.

    Only a path: Starlette's own redirect has the host that the request names, which may be anybody's.
    """
    path: str = request.scope["path"]
    other = path.rstrip("/") if path.endswith("/") else f"{path}/"
    if all(route.matches({**request.scope, "path": other})[0] is Match.NONE for route in app.routes):
        return None
    # Two slashes at the beginning would make a host of what comes behind them.
    location = "/" + quote(other.lstrip("/"), safe="/:@!$&'()*+,;=~")
    return f"{location}?{request.url.query}" if request.url.query else location


def _methods(app: FastAPI, request: Request) -> list[str]:
    methods = {"OPTIONS"}
    for route in app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods)


def _parts(error: RequestValidationError) -> list[dict[str, Any]]:
    """Return what is wrong with a request, each thing once: `verbosity` is read by all routes and again by some."""
    parts = (_part(item) for item in error.errors())
    return list({part["message"]: part for part in parts}.values())


def _part(item: Any) -> dict[str, Any]:
    """Return one of pydantic's errors as a message; never the value that was sent, which may be a secret."""
    place, *names = item["loc"] or ("request",)
    where = ".".join(str(name) for name in names)
    said = validation_message(item)
    return plain_message(f"{place} parameter {where!r}: {said}" if where else f"{place}: {said}")


PATTERNS_IN_WORDS = {
    NAME_PATTERN: f"a name: up to {LONGEST_NAME} letters, digits, _ . and -, beginning with a letter or digit",
    "^[0-9A-Za-z]{26}$": "the id of an action: 26 letters and digits",
    "^(all|[0-9]{1,3})$": "a number of levels from 0 to 999, or all",
    r"^\d{1,18}\.\d{1,18}$": "a version as the view has it, epoch and version: 1763836800.7",
}


def validation_message(item: Mapping[str, Any]) -> str:
    """Return what is wrong, of one of pydantic's errors."""
    words = PATTERNS_IN_WORDS.get((item.get("ctx") or {}).get("pattern", ""))
    return f"must be {words}" if words else str(item["msg"])
