"""What the controller that leads has done: the API server knows the connections of provisioners and webhooks.

Provisioners are asked, repairs started, notifications sent: only what stands in the outbox, to a target that the site's
own document names.

The controller proves that it leads by the secret of its lease; owner and epoch of a lease are public. The routes ask
for the right to act on the site besides.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, Field, StringConstraints

from api_client.webhook import Webhook as WebhookAddress
from provisioner_client.connection import ConnectionValues
from provisioner_client.protocol import Provisioner
from site_engine.controller.controller import NAME
from site_engine.controller.follow import compare_site, follow_site
from site_engine.controller.notifications import message_of
from site_engine.controller.repairs import REPAIR_KIND
from site_engine.errors import NotDelivered
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.process import STOP
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import shared_by
from site_store import ActionRecord, SiteStore
from site_store.status.leases import lease_of
from slipway_api.actions.control import give_command
from slipway_api.actions.creation import create
from slipway_api.actions.request import ActionRequest
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, CallerDep
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import SitePath, Store, blocking_router, provisioners
from slipway_api.sites.site_statuses import client_of, observe_list
from slipway_api.sites.site_view import require_committed
from strategy_lib.node_states.repair import RepairMode
from strategy_lib.node_states.user_state import left_out
from strategy_lib.parsing.notifications import Webhook

log = logging.getLogger(__name__)

router = blocking_router("controller")

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


class Unfinished(Leader):
    """Who asks, and for what."""

    compare: bool = Field(False, description="Look only whether the provisioner knows more than the store (rule 61).")


@router.post(
    "/sites/{site}/unfinished",
    dependencies=[access.may_control],
    summary="Look at provisioner tasks that nobody waits for; for the controller alone",
    responses=answers(Followed),
)
def post_unfinished(site: SitePath, body: Unfinished, store: Store) -> JSONResponse:
    """Look once at each provisioner task of an action that is over, and record what came of its nodes (rule 14)."""
    require_leader(store, body)
    shared = shared_by(store, patience=PATIENCE)
    if body.compare:
        differs = compare_site(store, site, lambda: client_of(store, site, provisioners().for_site(site), shared))
        return JSONResponse({"looked": 0, "over": 0, "problem": differs})

    def connect(action: ActionRecord) -> Provisioner:
        connection = provisioners().for_action(store, action).hurried
        observer = ProvisionerObserver(store, connection)
        return connection.connect(redact_for_action(store, action), observer=observer, shared=shared)

    found = follow_site(store, site, connect, log)
    return JSONResponse({"looked": found.looked, "over": found.over, "problem": found.problem})


CONNECTION_TYPE = "http"


class Delivery(Leader):
    """Which target is to get the notification, and the lease of the controller that asks."""

    target: str = Field(max_length=64, examples=["chat"])


class Delivered(BaseModel):
    """What came of it; `problem` is null where the receiver has taken it."""

    problem: str | None = Field(examples=[None])


@router.post(
    "/notifications/{event_id}/deliveries",
    dependencies=[access.may_control],
    summary="Send a notification to a webhook; for the controller alone",
    responses=answers(Delivered),
)
def deliver(
    event_id: Annotated[str, Path(max_length=26, description="The notification's id.")], body: Delivery, store: Store
) -> JSONResponse:
    """Send a notification once. That the receiver does not take it is an answer: the controller tries again."""
    require_leader(store, body)
    event = store.outbox.get(event_id)
    target = store.outbox.targets(event.site).get(body.target)
    if target is None or not isinstance(target.way, Webhook):
        raise ApiError(404, f"site {event.site} has no webhook {body.target!r} (any more)")
    return JSONResponse({"problem": _send(message_of(event, target.objects), target.way)})


def _send(message: Mapping[str, Any], hook: Webhook) -> str | None:
    values = provisioners().find(hook.connection)
    if values is None or values.type != CONNECTION_TYPE:
        there = "there is none" if values is None else f"that is of the type {values.type}"
        return f"it needs an Airflow connection {hook.connection!r} of the type {CONNECTION_TYPE}, and {there}"
    try:
        address = WebhookAddress(url_of(values), values.password)
    except ValueError as error:
        return f"the Airflow connection {hook.connection!r} {error}"
    try:
        address.send(message["id"], message, int(time.time()))
    except NotDelivered as error:
        return str(error)
    return None


def url_of(values: ConnectionValues) -> str:
    """Return a webhook's URL: host, schema and port of the connection, and `endpoint` of its extra behind them."""
    endpoint = values.extra.get("endpoint")
    path = f"/{endpoint.lstrip('/')}" if isinstance(endpoint, str) and endpoint else ""
    return values.url + path


_MOST_NODES = 10_000


class WantedRepair(Leader):
    """The nodes that the controller repairs in one action, whose run has this id."""

    run_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,200}$")]
    nodes: list[str] = Field(min_length=1, max_length=_MOST_NODES, examples=[["n1"]])
    revision: int | None = Field(
        None, ge=1, le=2**31 - 1, description="The one that they are brought back to; null: the newest.", examples=[3]
    )
    redeploy: bool = Field(False, description="Deployed nodes may be destroyed and deployed anew.", examples=[False])
    power_on: bool = Field(
        False, description="Deployed nodes that are off are only powered on: no action is started.", examples=[False]
    )


class StartedRepair(BaseModel):
    """The action that repairs, null where nodes are only powered on; and why some of these were not."""

    action: str | None = Field(examples=[EXAMPLE_ID])
    refused: dict[str, str] = Field(default_factory=dict, examples=[{}])


@router.post(
    "/sites/{site}/repair",
    dependencies=[access.may_control],
    summary="Start the repair of nodes; for the controller alone",
    responses=answers(StartedRepair),
)
def post_repair(site: SitePath, body: WantedRepair, store: Store, airflow: Airflow, caller: CallerDep) -> JSONResponse:
    """Start an action for exactly these nodes. A run of this id that is there already is this repair, and is answered.

    The settings of the site are looked at once more (rule 57). One that was stopped in this very moment is stopped.
    """
    require_leader(store, body)
    if body.power_on:
        _require_allowed(store, site, redeploy=False)
        return JSONResponse({"action": None, "refused": _power_on(store, site, body.nodes)})
    known = store.actions.of_run(REPAIR_KIND, body.run_id)
    if known is None:
        _require_allowed(store, site, redeploy=body.redeploy)
        parameters: dict[str, Any] = {"target_nodes": body.nodes}
        if body.redeploy:
            parameters["allow_redeploy"] = True
        if body.revision is not None:
            parameters["revision"] = body.revision
        request = ActionRequest(REPAIR_KIND, parameters, site, allow_intermediate=False, context_marker="")
        known, _ = create(request, store, airflow, caller, run_id=body.run_id)
        # Who stops repair writes that first, and looks for what is at work then: one of the two sees the other.
        switch = store.repair_switches.of_site(site)
        if switch is not None:
            give_command(store, airflow, known, STOP, switch.by)
    return JSONResponse({"action": known.id, "refused": {}})


def _power_on(store: SiteStore, site: str, nodes: list[str]) -> dict[str, str]:
    """Power nodes on; those that an administrator has taken out of use since stay as they are (rule 51).

    Raises `ApiError` 409: an action is on the site. `ProvisionerError`, `SettingsError` or `ConnectionLookupFailed`:
    the provisioner cannot be asked.
    """
    owner = store.locks.owner(site)
    if owner is not None:
        raise ApiError(409, f"action {owner.action_id} is on site {site}: nothing is powered on meanwhile", "Repair")
    users = store.user_states.in_force(site)
    refused = {name: why for name in nodes if (why := left_out(REPAIR_KIND, users.get(name))) is not None}
    with closing(client_of(store, site, provisioners().for_site(site))) as provisioner:
        # The store notes nothing of it here: so it is asked whether this version may still act (rule 60).
        store.home.require_own(site)
        return refused | provisioner.power_on([name for name in nodes if name not in refused])


def _require_allowed(store: SiteStore, site: str, *, redeploy: bool) -> None:
    require_committed(store, site)
    held = store.home.held(site)
    if held is not None:
        raise ApiError(409, held, "Repair")
    switch = store.repair_switches.of_site(site)
    if switch is not None:
        where = "all sites is stopped: `slipway start repair --all-sites`"
        where = where if switch.all_sites else f"site {site} is stopped: `slipway start repair --site {site}`"
        raise ApiError(409, f"repair of {where} lets it go on", "Repair")
    mode = store.revisions.settings(site).repair
    if mode not in (RepairMode.ON, RepairMode.REDEPLOY) or (redeploy and mode is not RepairMode.REDEPLOY):
        what = "destroy deployed nodes" if redeploy else "repair nodes"
        raise ApiError(409, f"the settings of site {site} say `repair: {mode}`, which does not {what}", "Repair")
