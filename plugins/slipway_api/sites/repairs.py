"""Repair of a site's nodes: the switch that stops it, and the start of a repair for the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from site_engine.node_states.repairs import REPAIR_KIND
from site_engine.process import STOP
from slipway_api import airflow_access as access
from slipway_api.actions.control import give_command
from slipway_api.actions.creation import create
from slipway_api.actions.request import ActionRequest
from slipway_api.airflow_client import Airflow
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import SitePath, Store
from slipway_api.http.etags import IfMatch, etag_headers, require_match
from slipway_api.http.leader import Leader, require_leader
from slipway_api.sites.site_view import require_committed
from strategy_lib.node_states.repair import RepairMode

if TYPE_CHECKING:
    from site_store import SiteStore

router = APIRouter(tags=["node states"], route_class=BlockingRoute)

_LONGEST_REASON = 1000
_MOST_NODES = 10_000


class Switch(BaseModel):
    """Whether repair is stopped, and why."""

    stopped: bool = Field(examples=[True])
    reason: str = Field(default="", max_length=_LONGEST_REASON, examples=["the power is worked on"])


class RepairState(BaseModel):
    """How a site is repaired, and whether somebody has stopped that."""

    site: str = Field(examples=["default"])
    repair: str = Field(description="What the settings say: off, observe, on or redeploy.", examples=["observe"])
    max_repairs_per_hour: int = Field(examples=[10])
    stopped_at: Moment | None = Field(description="Since when it is stopped; null: it is not.")
    stopped_by: str | None = Field(examples=["ann"])
    reason: str | None = Field(examples=["the power is worked on"])
    drifts: int = Field(description="How many nodes are not as they were left.", examples=[1])
    action: str | None = Field(description="The repair that is at work.", examples=[EXAMPLE_ID])


class WantedRepair(Leader):
    """The nodes that the controller repairs in one action, whose run has this id."""

    run_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,200}$")]
    nodes: list[str] = Field(min_length=1, max_length=_MOST_NODES, examples=[["n1"]])
    redeploy: bool = Field(description="Deployed nodes may be destroyed and deployed anew.", examples=[False])


class StartedRepair(BaseModel):
    """The action that repairs."""

    action: str = Field(examples=[EXAMPLE_ID])


@router.get(
    "/sites/{site}/repair",
    dependencies=[access.may_read],
    summary="How a site is repaired",
    responses=answers(RepairState),
)
def get_repair(site: SitePath, store: Store) -> JSONResponse:
    """Return what the settings of a site say about repair, and whether somebody has stopped it.

    The `ETag` is the version of the switch.
    """
    require_committed(store, site)
    return _answer(store, site)


@router.put(
    "/sites/{site}/repair",
    dependencies=[access.may_control],
    summary="Stop all repair of a site, or let it go on",
    responses=answers(RepairState),
)
def put_repair(
    site: SitePath, body: Switch, store: Store, airflow: Airflow, user: access.UserName, if_match: IfMatch = None
) -> JSONResponse:
    """Stop all repair at once: none begins any more, and the one at work is stopped; or let repair go on.

    What was submitted goes on at the provisioner. Who did it stands in the site's audit.
    """
    require_committed(store, site)
    reason, seen = body.reason.strip(), None
    if if_match is not None:
        seen = require_match(if_match, store.repairs.switch_version(site), f"the repair of site {site}")
    if body.stopped:
        store.repairs.stop(site, user, reason, seen)
        action_id = _at_work(store, site)
        if action_id is not None:
            give_command(store, airflow, store.actions.get(action_id), STOP, user)
    else:
        store.repairs.resume(site, user, reason, seen)
    return _answer(store, site)


@router.post(
    "/sites/{site}/repair",
    dependencies=[access.may_read],
    summary="Start the repair of nodes; for the controller alone",
    responses=answers(StartedRepair),
)
def post_repair(
    site: SitePath, body: WantedRepair, store: Store, airflow: Airflow, caller: access.CallerDep
) -> JSONResponse:
    """Start an action for exactly these nodes. A run of this id that is there already is this repair, and is answered.

    The settings of the site are looked at once more (rule 57).
    """
    require_leader(store, body)
    known = store.actions.of_run(REPAIR_KIND, body.run_id)
    if known is None:
        _require_allowed(store, site, redeploy=body.redeploy)
        parameters: dict[str, Any] = {"target_nodes": body.nodes}
        if body.redeploy:
            parameters["allow_redeploy"] = True
        request = ActionRequest(REPAIR_KIND, parameters, site, allow_intermediate=False, context_marker="")
        known = create(request, store, airflow, caller, run_id=body.run_id).action
    return JSONResponse({"action": known.id})


def _answer(store: SiteStore, site: str) -> JSONResponse:
    # The version first: a use of the switch in between makes it an old one, which is refused.
    headers = etag_headers(store.repairs.switch_version(site))
    return JSONResponse(repair_state(store, site), headers=headers)


def repair_state(store: SiteStore, site: str) -> dict[str, Any]:
    """Return how a site is repaired, as `RepairState` describes it."""
    settings, switch = store.revisions.settings(site), store.repairs.switch(site)
    return {
        "site": site,
        "repair": str(settings.repair),
        "max_repairs_per_hour": settings.max_repairs_per_hour,
        "stopped_at": None if switch is None else switch.at.isoformat(),
        "stopped_by": None if switch is None else switch.by,
        "reason": None if switch is None else switch.reason or None,
        "drifts": store.drifts.counts().get(site, (0, 0))[0],
        "action": _at_work(store, site),
    }


def _at_work(store: SiteStore, site: str) -> str | None:
    """Return the repair that is at work on a site."""
    ids = [one.action_id for one in store.repairs.under_way(site) if one.action_id is not None]
    return next((action_id for action_id in ids if not store.actions.get(action_id).state.is_end), None)


def _require_allowed(store: SiteStore, site: str, *, redeploy: bool) -> None:
    require_committed(store, site)
    if store.repairs.switch(site) is not None:
        raise ApiError(409, f"repair of site {site} is stopped: `slipway start repair` lets it go on", "Repair")
    mode = store.revisions.settings(site).repair
    if mode not in (RepairMode.ON, RepairMode.REDEPLOY) or (redeploy and mode is not RepairMode.REDEPLOY):
        what = "destroy deployed nodes" if redeploy else "repair nodes"
        raise ApiError(409, f"the settings of site {site} say `repair: {mode}`, which does not {what}", "Repair")
