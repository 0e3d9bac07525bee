"""What a client asks before anything else: which API this is, whether it is there, and what it can do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from slipway_api import airflow_access as access
from slipway_api.http.answers import ApiVersion, answers
from slipway_api.http.description import errors

router = APIRouter(tags=["service"])
VERSIONS = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


@router.get(
    "/versions",
    summary="The versions of this API",
    responses=answers(dict[str, ApiVersion], VERSIONS),
)
async def versions() -> JSONResponse:
    """Return the versions of this API, and below which path each is. No token is needed."""
    return JSONResponse(VERSIONS)


@router.get("/health", status_code=204, summary="Whether the API is there")
@router.get("/api/v1.0/health", status_code=204, summary="Whether the API is there")
async def health() -> Response:
    """Answer that requests are served; nothing else is looked at. No token is needed."""
    return Response(status_code=204)


@router.get(
    "/openapi.json",
    dependencies=[access.may_read],
    summary="This description",
    responses={**answers(dict[str, Any], {"openapi": "3.1.0", "paths": {}}), **errors(401, 403)},
)
async def openapi(request: Request) -> JSONResponse:
    """Return the description of this API in OpenAPI's form."""
    description: dict[str, Any] = request.app.openapi()
    return JSONResponse({**description, "servers": [{"url": request.scope.get("root_path", "")}]})
