"""Slipway's REST API, put together: Shipyard's paths, Keystone's token route, and the design for the provisioner."""

from __future__ import annotations

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
    site_statuses,
    workflows,
)
from slipway_airflow.web.body_limit import BodyLimit
from slipway_airflow.web.description import ERRORS, TEXT, describe
from slipway_airflow.web.error_answers import Unexpected, add_error_answers
from slipway_airflow.web.existing_site import require_existing_site
from slipway_airflow.web.headers import ShipyardHeaders
from slipway_airflow.web.verbosity import accept_verbosity

_ROUTERS = (configdocs, commit, revisions, actions, notes, workflows, site_statuses, run_view)


def create_app() -> FastAPI:
    """Build the application; the store is opened by the first request that needs it, so it need not exist yet."""
    app = FastAPI(
        title="Slipway",
        version="1.0",
        description=TEXT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # `error_answers.py` does it, and takes no host from the request.
        redirect_slashes=False,
    )
    everywhere = [Depends(accept_verbosity), Depends(require_existing_site)]
    api = APIRouter(prefix="/api/v1.0", dependencies=everywhere, responses=ERRORS)
    for module in _ROUTERS:
        api.include_router(module.router)
    for router in (service.router, keystone.router, design.router, api):
        app.include_router(router)
    describe(app)
    add_error_answers(app)
    # The last one added is the first to see a request.
    for middleware in (BodyLimit, Unexpected, ShipyardHeaders, design.HiddenTokens):
        app.add_middleware(middleware)
    return app
