"""The API's description in OpenAPI's form: what FastAPI derives from the routes, and what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from slipway_api.documents.answers import Judged
from slipway_api.http.answers import KeystoneErrorBody
from slipway_api.http.api_errors import ErrorBody

TEXT = """\
Load the documents of a site, commit them as a revision, create actions and follow them.

The paths below `/api/v1.0` are those of Airship's Shipyard, and its own client works with them. Authentication is
Airflow's: send its token as `Authorization: Bearer …` or as `X-Auth-Token`. What a user may do here follows from what
they may do with the DAG of the same name in Airflow.
"""

_DESCRIPTIONS = {
    400: "The request is wrong: `messageList` says all that is.",
    401: "No token, or none that is valid.",
    403: "The user may not do this.",
    404: "There is no such thing.",
    408: "The body takes too long to come.",
    409: "It does not fit what there is; with `retry`, it may later.",
    413: "The body is too large.",
    429: "Too many wrong passwords: wait as long as `Retry-After` says.",
    500: "A mistake of Slipway's: the API server's log has it, under the request's id.",
    501: "The tokens of Airflow's auth manager do not say when they expire.",
    502: "The provisioner refuses.",
    503: "The store, Airflow or the provisioner does not answer, or none is connected.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return these errors as a route's ``responses``."""
    return {status: {"model": ErrorBody, "description": _DESCRIPTIONS[status]} for status in statuses}


def keystone_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return these errors in Keystone's shape as a route's ``responses``."""
    return {status: {"model": KeystoneErrorBody, "description": _DESCRIPTIONS[status]} for status in statuses}


ERRORS = errors(400, 401, 403, 404, 409, 413, 500, 502, 503)
"""The errors of every route below ``/api/v1.0``, unless `describe` takes some away."""

NOT_VALID: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody | Judged, "description": "The request is wrong, or the documents are: all that is."}
}
"""The 400 of routes that judge documents."""

_ASKS_THE_PROVISIONER = (
    "get /site_statuses",
    "post /commitconfigdocs",
    "post /revisions/{number}/rollback",
    "post /actions",
)

_MISMATCH = "The buffer is not as `If-Match` says any more."


def describe(app: FastAPI) -> None:
    """Let ``app.openapi()`` say that wrong parameters are answered with 400, and where 412 is possible."""
    derived = app.openapi

    def openapi() -> dict[str, Any]:
        description = app.openapi_schema or derived()
        _complete_examples(app, description["paths"])
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                _correct(path, method, operation)
        for name in ("HTTPValidationError", "ValidationError"):
            description["components"]["schemas"].pop(name, None)
        return description

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _correct(path: str, method: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    # FastAPI's own words for a wrong parameter, which `slipway_api/http/error_answers.py` replaces.
    answers.pop("422", None)
    if any(parameter["name"] == "If-Match" for parameter in operation.get("parameters", ())):
        answers["412"] = {**answers["409"], "description": _MISMATCH}
    # An action is also found by its run's id, which runs of several DAGs may have.
    if method == "get" and "{action_id}" not in path:
        answers.pop("409", None)
    if f"{method} {path.removeprefix('/api/v1.0')}" not in _ASKS_THE_PROVISIONER:
        answers.pop("502", None)
    if path.endswith("}"):
        answers["307"] = {"description": "The path has a slash too many at its end: `Location` has the right one."}
    operation["responses"] = dict(sorted(answers.items()))


def _complete_examples(app: FastAPI, paths: dict[str, Any]) -> None:
    """Give the examples of the answers back what FastAPI leaves out of them, which is every null."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            for method in route.methods:
                answers = paths.get(route.path_format, {}).get(method.lower(), {}).get("responses", {})
                for status, given in route.responses.items():
                    for kind, content in given.get("content", {}).items():
                        answers[str(status)]["content"][kind].update(content)
