"""Commit a whole design in one request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from slipway_airflow.web import access
from slipway_airflow.web.blocking_route import BlockingRoute
from slipway_airflow.web.bodies import YAML_BODY, RawBody
from slipway_airflow.web.commit import commit
from slipway_airflow.web.site_name import LONGEST_NAME, NAME_PATTERN

router = APIRouter(tags=["configdocs"], route_class=BlockingRoute)


@router.post(
    "/sites/{site}/revisions",
    dependencies=[access.may_commit],
    status_code=201,
    openapi_extra=YAML_BODY,
    summary="Commit a whole design",
)
def commit_revision(
    site: Annotated[str, Path(pattern=NAME_PATTERN, max_length=LONGEST_NAME)], body: RawBody, user: access.UserName
) -> JSONResponse:
    """Commit documents (YAML body) as a new revision; the same content again is the revision that exists."""
    result = commit(site, body, user)
    return JSONResponse(result, 201 if result["created"] else 200)
