"""Errors as pages: below ``/ui/`` a person reads them. 401 leads to the login, inside Airflow's frame or out of it."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.types import Scope

from slipway_api.http.api_errors import ApiError
from slipway_api.pages.rendering import page

_HEADINGS = {
    401: "The session is over",
    403: "You may not see this",
    404: "There is no such thing",
    409: "This does not fit how things stand",
    503: "Not reachable now",
}


def is_page(scope: Scope) -> bool:
    """Whether a request is for a page."""
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path == "/ui" or path.startswith("/ui/")


def page_failure(scope: Scope, error: ApiError) -> Response:
    """Return the response to a request for a page that failed."""
    request = Request(scope)
    query = f"?{request.url.query}" if request.url.query else ""
    details = [str(item["message"]) for item in error.messages if item["message"] != error.message]
    values = {
        "heading": _HEADINGS.get(error.status, "This did not work"),
        "message": error.message,
        "details": details,
        "status": error.status,
        "back": f"{request.url.path}{query}" if request.method == "GET" else "",
    }
    answer = page(request, "error.html", values, error.status)
    # The browser would open its own window for a password.
    answer.headers.update({name: value for name, value in error.headers.items() if name.lower() != "www-authenticate"})
    return answer
