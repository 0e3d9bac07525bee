"""Look at provisioner tasks that nobody waits for, for the controller: the API server knows the connections."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.controller.follow import follow_site
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import shared_by
from slipway_api import airflow_access as access
from slipway_api.http.answers import answers
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import SitePath, Store, provisioners
from slipway_api.http.leader import Leader, require_leader

if TYPE_CHECKING:
    from provisioner_client.protocol import Provisioner
    from site_store import ActionRecord

log = logging.getLogger(__name__)

router = APIRouter(tags=["sites"], route_class=BlockingRoute)

PATIENCE = 8.0
"""Seconds for which another process's question for a list is waited for: the next look comes soon."""


class Followed(BaseModel):
    """What the look has come to."""

    looked: int = Field(examples=[1], description="How many provisioner tasks were looked at.")
    over: int = Field(examples=[1], description="How many of them are over: what came of their nodes is recorded.")
    problem: str | None = Field(examples=[None], description="What could not be asked.")


@router.post(
    "/sites/{site}/unfinished",
    dependencies=[access.may_control],
    summary="Look at provisioner tasks that nobody waits for; for the controller alone",
    responses=answers(Followed),
)
def post_unfinished(site: SitePath, body: Leader, store: Store) -> JSONResponse:
    """Look once at each provisioner task of an action that is over, and record what came of its nodes (rule 14)."""
    require_leader(store, body)

    def connect(action: ActionRecord) -> Provisioner:
        connection = provisioners().for_action(store, action).hurried
        observer = ProvisionerObserver(store, connection)
        shared = shared_by(store, patience=PATIENCE)
        return connection.connect(redact_for_action(store, action), observer=observer, shared=shared)

    found = follow_site(store, site, connect, log)
    return JSONResponse({"looked": found.looked, "over": found.over, "problem": found.problem})
