"""The page of a plan: what an action would do now. That of an update is for everybody who reads, and has no button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from site_engine.plans.next_steps import next_step
from site_engine.plans.site_plans import plan_site
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.rendering import page
from slipway_api.pages.sites import require_known
from slipway_api.sites.site_plans import shown_plan
from strategy_lib.goals.change_words import Deed, fold_nodes, waits

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/sites/{site}/plan", dependencies=[access.may_read])
def site_plan(request: Request, site: str, store: Store) -> Response:
    """Show what an update of a site would do, by the list of the provisioner that was read last (rule 36)."""
    found = plan_site(store, site)
    require_known(site, known=found.is_known)
    step = next_step(found)
    is_done = found.counts[Deed.LEAVE] == sum(found.counts.values())
    command = step.command(site) if step is not None and not is_done else ""
    values = plan_values(shown_plan(found, with_unchanged=False, step=step))
    return page(request, "plan.html", {**values, "site": site, "command": command})


def plan_values(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `plan.html` shows of a plan, as `ShownPlan` describes it."""
    shown = {"plan": plan, "rows": fold_nodes(plan["nodes"]), "waiting": waits(plan["edges"])}
    return {**shown, "kind": None, "command": "", "outlook": ""}
