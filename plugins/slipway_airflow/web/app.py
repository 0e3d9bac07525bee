"""Slipway's REST API, put together: Shipyard's paths, Keystone's token route, and the design for the provisioner."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI

from slipway_airflow.web import (
    actions,
    commit,
    configdocs,
    design,
    keystone,
    notes,
    revisions,
    run_view,
    service,
    site_revisions,
    site_statuses,
    workflows,
)
from slipway_airflow.web.body_limit import BodyLimit
from slipway_airflow.web.error_answers import Unexpected, add_error_answers
from slipway_airflow.web.failure import ErrorBody
from slipway_airflow.web.headers import ShipyardHeaders
from slipway_airflow.web.verbosity import accept_verbosity

_DESCRIPTION = """\
Load the documents of a site, commit them as a revision, create actions and follow them.

The paths below `/api/v1.0` are those of Airship's Shipyard, and its own client works with them. Authentication is
Airflow's: send its token as `Authorization: Bearer …` or as `X-Auth-Token`. What a user may do here follows from what
they may do with the DAG of the same name in Airflow.
"""
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The request is wrong: `messageList` says all that is."},
    401: {"model": ErrorBody, "description": "No token, or none that is valid."},
    403: {"model": ErrorBody, "description": "The user may not do this."},
    404: {"model": ErrorBody, "description": "There is no such thing."},
    409: {"model": ErrorBody, "description": "It does not fit what there is; with `retry`, it may later."},
    413: {"model": ErrorBody, "description": "The body is too large."},
    503: {"model": ErrorBody, "description": "The store, Airflow or the provisioner cannot be reached."},
}
_ROUTERS = (configdocs, commit, revisions, actions, notes, workflows, site_statuses, run_view, site_revisions)


def create_app() -> FastAPI:
    """Build the application; the store is opened by the first request that needs it, so it need not exist yet."""
    app = FastAPI(
        title="Slipway", version="1.0", description=_DESCRIPTION, openapi_url=None, docs_url=None, redoc_url=None
    )
    api = APIRouter(prefix="/api/v1.0", dependencies=[Depends(accept_verbosity)], responses=_ERRORS)
    for module in _ROUTERS:
        api.include_router(module.router)
    for router in (service.router, keystone.router, design.router, api):
        app.include_router(router)
    add_error_answers(app)
    # The last one added is the first to see a request.
    for middleware in (BodyLimit, Unexpected, ShipyardHeaders):
        app.add_middleware(middleware)
    return app
