"""The start of a repair of a site's nodes, for the controller."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from site_engine.controller.repairs import REPAIR_KIND
from site_engine.process import STOP
from site_store import SiteStore
from slipway_api.actions.control import give_command
from slipway_api.actions.creation import create
from slipway_api.actions.request import ActionRequest
from slipway_api.controller.leader import Leader, require_leader
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_client import Airflow
from slipway_api.http.answers import EXAMPLE_ID, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import SitePath, Store, blocking_router, provisioners
from slipway_api.sites.site_statuses import client_of
from slipway_api.sites.site_view import require_committed
from strategy_lib.node_states.repair import RepairMode
from strategy_lib.node_states.user_state import left_out

router = blocking_router("node states")

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
def post_repair(
    site: SitePath, body: WantedRepair, store: Store, airflow: Airflow, caller: access.CallerDep
) -> JSONResponse:
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
        known = create(request, store, airflow, caller, run_id=body.run_id).action
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
        return refused | provisioner.power_on([name for name in nodes if name not in refused])


def _require_allowed(store: SiteStore, site: str, *, redeploy: bool) -> None:
    require_committed(store, site)
    switch = store.repair_switches.of_site(site)
    if switch is not None:
        where = "all sites is stopped: `slipway start repair --all-sites`"
        where = where if switch.all_sites else f"site {site} is stopped: `slipway start repair --site {site}`"
        raise ApiError(409, f"repair of {where} lets it go on", "Repair")
    mode = store.revisions.settings(site).repair
    if mode not in (RepairMode.ON, RepairMode.REDEPLOY) or (redeploy and mode is not RepairMode.REDEPLOY):
        what = "destroy deployed nodes" if redeploy else "repair nodes"
        raise ApiError(409, f"the settings of site {site} say `repair: {mode}`, which does not {what}", "Repair")
