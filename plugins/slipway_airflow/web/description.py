"""The API's description in OpenAPI's form: what FastAPI derives from the routes, and what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from slipway_airflow.web.failure import ErrorBody

TEXT = """\
Load the documents of a site, commit them as a revision, create actions and follow them.

The paths below `/api/v1.0` are those of Airship's Shipyard, and its own client works with them. Authentication is
Airflow's: send its token as `Authorization: Bearer …` or as `X-Auth-Token`. What a user may do here follows from what
they may do with the DAG of the same name in Airflow.
"""

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The request is wrong: `messageList` says all that is."},
    401: {"model": ErrorBody, "description": "No token, or none that is valid."},
    403: {"model": ErrorBody, "description": "The user may not do this."},
    404: {"model": ErrorBody, "description": "There is no such thing."},
    409: {"model": ErrorBody, "description": "It does not fit what there is; with `retry`, it may later."},
    413: {"model": ErrorBody, "description": "The body is too large."},
    502: {"model": ErrorBody, "description": "The provisioner refuses."},
    503: {
        "model": ErrorBody,
        "description": "The store, Airflow or the provisioner does not answer, or none is connected.",
    },
}
"""The errors of every route below ``/api/v1.0``."""

_MISMATCH = "The buffer is not as `If-Match` says any more."


def describe(app: FastAPI) -> None:
    """Let ``app.openapi()`` say that wrong parameters are answered with 400, and where 412 is possible."""
    derived = app.openapi

    def openapi() -> dict[str, Any]:
        description = app.openapi_schema or derived()
        for operations in description["paths"].values():
            for operation in operations.values():
                _correct(operation)
        for name in ("HTTPValidationError", "ValidationError"):
            description["components"]["schemas"].pop(name, None)
        return description

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _correct(operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    # FastAPI's own words for a wrong parameter, which `error_answers.py` replaces.
    answers.pop("422", None)
    if any(parameter["name"] == "If-Match" for parameter in operation.get("parameters", ())):
        answers["412"] = {**answers["409"], "description": _MISMATCH}
