"""What the controller that leads has the provisioners asked for: the API server knows the connections.

It proves that it leads by the secret of its lease; owner and epoch of a lease are public. The routes ask for the right
to act on the site besides.
"""

from __future__ import annotations

import logging

from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, Field

from provisioner_client.protocol import Provisioner
from site_engine.controller.controller import NAME
from site_engine.controller.follow import follow_site
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import shared_by
from site_store import ActionRecord, SiteStore
from site_store.status.leases import lease_of
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import SitePath, Store, blocking_router, provisioners
from slipway_api.sites.site_statuses import observe_list

log = logging.getLogger(__name__)

router = blocking_router("sites")

PATIENCE = 8.0
"""Seconds for which another process's question for a list is waited for: the next look comes soon."""


class Leader(BaseModel):
    """The lease of the controller that asks: its epoch, and the secret that was made when it was taken."""

    epoch: int = Field(ge=0)
    secret: str = Field(max_length=200)


def require_leader(store: SiteStore, leader: Leader, name: str = NAME) -> None:
    """Refuse (403) all but the controller that holds the lease of this name (rule 55)."""
    if not store.leases.holds(name, leader.epoch, leader.secret):
        raise ApiError(403, "only the controller that leads may ask for this")


class Look(Leader):
    """The lease of the controller that asks, and how far it has seen the nodes."""

    cursor: str | None = Field(
        default=None,
        max_length=1_000_000,
        examples=[None],
        description="Of the last answer; without it, the whole list is read.",
    )
    since: AwareDatetime | None = Field(
        default=None,
        examples=[None],
        description="A list serves that anybody has asked for after this time of the database; without it, after now.",
    )


class Observed(BaseModel):
    """That the list is as the provisioner says now, and kept."""

    nodes: int = Field(examples=[32], description="How many nodes the list has.")
    whole: bool = Field(examples=[True], description="Whether all of them were read, and not only what has changed.")
    cursor: str | None = Field(examples=[None], description="For the next look.")
    read_at: Moment


@router.post(
    "/sites/{site}/observe",
    dependencies=[access.may_control],
    summary="Read the list of nodes, or what has changed in it; for the controller that leads the site alone",
    responses=answers(Observed),
)
def post_observe(site: SitePath, body: Look, store: Store) -> JSONResponse:
    """Ask the site's provisioner for its list of nodes, or for what has changed in it, now, and keep the list."""
    require_leader(store, body, lease_of(site))
    seen = observe_list(store, site, body.cursor, body.since)
    return JSONResponse(
        {"nodes": seen.nodes, "whole": seen.is_whole, "cursor": seen.cursor, "read_at": store.now().isoformat()}
    )


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
