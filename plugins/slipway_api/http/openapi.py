"""What the API says of itself: its OpenAPI document, and its versions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers, errors

TEXT = """\
Load the documents of a site, commit them as a revision, create actions and follow them.

The paths below `/api/v1.0` are those of Airship's Shipyard, and its own client works with them. Authentication is
Airflow's: send its token as `Authorization: Bearer …` or as `X-Auth-Token`. What a user may do here follows from what
they may do with the DAG of the same name in Airflow.
"""

_ASKS_THE_PROVISIONER = (
    "get /provisioner",
    "get /imports/{provisioner}",
    "get /site_statuses",
    "post /commitconfigdocs",
    "post /revisions/{number}/rollback",
    "post /actions",
    "post /actions/plan",
)

_MISMATCH = "It has another version than `If-Match` says."


def describe(app: FastAPI) -> None:
    """Let ``app.openapi()`` say that wrong parameters are answered with 400, and where 412 is possible.

    The models within a body of a request stand among the components, where its references lead.
    """
    derived = app.openapi

    def openapi() -> dict[str, Any]:
        description = app.openapi_schema or derived()
        _complete_examples(app, description["paths"])
        models = description["components"]["schemas"]
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                _correct(path, method, operation)
                _share_models(operation, models)
        for name in ("HTTPValidationError", "ValidationError"):
            models.pop(name, None)
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


def _share_models(operation: dict[str, Any], models: dict[str, Any]) -> None:
    """Move the models within the operation's body to `models`. Raises `ValueError`: another one has that name."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = dict(content["schema"])
        content["schema"] = schema
        for name, model in schema.pop("$defs", {}).items():
            if models.setdefault(name, model) != model:
                raise ValueError(f"two models of the API are named {name}; rename one")


def _complete_examples(app: FastAPI, paths: dict[str, Any]) -> None:
    """Give the examples of the answers back what FastAPI leaves out of them, which is every null."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            for method in route.methods:
                answers = paths.get(route.path_format, {}).get(method.lower(), {}).get("responses", {})
                for status, given in route.responses.items():
                    for kind, content in given.get("content", {}).items():
                        answers[str(status)]["content"][kind].update(content)


class ApiVersion(BaseModel):
    """A version of this API."""

    path: str
    status: str


_OpenApi = Annotated[dict[str, Any], Field(examples=[{"openapi": "3.1.0", "paths": {}}])]

router = APIRouter(tags=["service"])
VERSIONS = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


@router.get(
    "/versions",
    summary="The versions of this API",
    responses=answers(Annotated[dict[str, ApiVersion], Field(examples=[VERSIONS])]),
)
async def versions() -> JSONResponse:
    """Return the versions of this API, and below which path each is. No token is needed."""
    return JSONResponse(VERSIONS)


@router.get(
    "/openapi.json",
    dependencies=[access.may_read],
    summary="This description",
    responses={**answers(_OpenApi), **errors(401, 403)},
)
async def openapi(request: Request) -> JSONResponse:
    """Return the description of this API in OpenAPI's form."""
    description: dict[str, Any] = request.app.openapi()
    return JSONResponse({**description, "servers": [{"url": request.scope.get("root_path", "")}]})
