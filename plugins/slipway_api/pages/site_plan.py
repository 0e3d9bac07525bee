"""The page of what an update of a site would do now, for everybody who reads: it has no button, and starts nothing."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from site_engine.groups.releases import erased_first
from site_engine.plans.next_steps import next_step
from site_engine.plans.site_plans import plan_site
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.node_changes import shown_changes
from slipway_api.pages.rendering import page
from slipway_api.pages.sites import require_known
from slipway_api.sites.site_plans import shown_plan
from strategy_lib.goals.update import Change

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/sites/{site}/plan", dependencies=[access.may_read])
def site_plan(request: Request, site: str, store: Store) -> Response:
    """Show what an update of a site would do, by the list of the provisioner that was read last (rule 36)."""
    found = plan_site(store, site)
    require_known(site, known=found.is_known)
    plan = shown_plan(found, with_unchanged=False)
    step = next_step(found)
    is_done = found.counts[Change.NONE] == sum(found.counts.values())
    values = {
        "site": site,
        "plan": plan,
        "erased": erased_first(found.released) if found.released else "",
        "command": step.command(site) if step is not None and not is_done else "",
        "changes": shown_changes(plan),
    }
    return page(request, "site_plan.html", values)
