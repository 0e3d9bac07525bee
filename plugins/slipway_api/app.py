"""Slipway's REST API and pages, put together: Shipyard's paths, Keystone's token route, the provisioner's design."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from site_engine.extensions import ExtensionError, check_installed
from site_engine.provisioners import Provisioners
from slipway_api.actions import control, creation, notes, report, workflows
from slipway_api.actions import routes as actions
from slipway_api.controller import leader_routes, repair_switch
from slipway_api.documents import commit, configdocs, design, revisions
from slipway_api.http import health, openapi, whoami
from slipway_api.http.answers import ERRORS
from slipway_api.http.bodies import BodyLimit
from slipway_api.http.dependencies import ShipyardHeaders, accept_verbosity, require_existing_site, use_provisioners
from slipway_api.http.error_answers import Unexpected, add_error_answers
from slipway_api.http.openapi import TEXT, describe
from slipway_api.keystone import routes as keystone
from slipway_api.pages import routes as pages
from slipway_api.pages.rendering import page_failure
from slipway_api.sites import imports, node_states, node_wishes, site_plans, site_statuses, site_view
from slipway_api.status import (
    metrics,
    node_routes,
    report_routes,
    reporter_routes,
    site_routes,
    task_routes,
    tree_routes,
)

log = logging.getLogger(__name__)

_STATUS = (site_routes, node_routes, task_routes, report_routes, reporter_routes)
_ROUTERS = (
    configdocs,
    commit,
    revisions,
    actions,
    creation,
    report,
    control,
    notes,
    workflows,
    imports,
    site_statuses,
    node_wishes,
    leader_routes,
    repair_switch,
    site_view,
    node_states,
    whoami,
    *_STATUS,
)


def create_app(provisioners: Provisioners | None = None) -> FastAPI:
    """Build the application; the store is opened by the first request that needs it, so it need not exist yet.

    Parameters
    ----------
    provisioners : looks up the connections of provisioners. Without it the application can only describe itself.
    """
    if provisioners is not None:
        use_provisioners(provisioners)
        _log_bad_registrations()
    app = FastAPI(
        title="Slipway",
        version="1.0",
        description=TEXT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # `slipway_api/http/error_answers.py` does it, and takes no host from the request.
        redirect_slashes=False,
    )
    api = APIRouter(prefix="/api/v1.0", dependencies=[Depends(accept_verbosity)], responses=ERRORS)
    for module in _ROUTERS:
        api.include_router(module.router)
    # Behind the right that a route asks for: who does not have it is told no names of sites.
    for route in api.routes:
        if isinstance(route, APIRoute):
            route.dependencies.append(Depends(require_existing_site))
    # A tree, or a plan, says by itself whether there is anything.
    trees = APIRouter(prefix="/api/v1.0", dependencies=[Depends(accept_verbosity)], responses=ERRORS)
    for module in (tree_routes, site_plans):
        trees.include_router(module.router)
    # A reporter is no user of Airflow's.
    for_reporters = APIRouter(prefix="/api/v1.0", dependencies=[Depends(accept_verbosity)], responses=ERRORS)
    for_reporters.include_router(reporter_routes.reported_router)
    others = (metrics, openapi, health, keystone, design, pages)
    for router in (*(module.router for module in others), pages.elsewhere, trees, api, for_reporters):
        app.include_router(router)
    describe(app)
    add_error_answers(app, page_failure)
    # The last one added is the first to see a request.
    app.add_middleware(BodyLimit)
    app.add_middleware(Unexpected, page_failure=page_failure)
    app.add_middleware(ShipyardHeaders)
    app.add_middleware(design.HiddenTokens)
    return app


def _log_bad_registrations() -> None:
    """Say which policies and watchers cannot be used (rule 42): with a bad policy nothing can be committed."""
    try:
        check_installed()
    except ExtensionError as error:
        log.error("What is registered cannot be used; with a bad policy every commit is answered with 503: %s", error)
