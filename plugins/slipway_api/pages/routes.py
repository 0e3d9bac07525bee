"""All pages, below ``/ui``. None is part of the API's description."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_api.pages import actions, node_states, nodes, owners, run_tab, site_plan, sites, static_files, tasks
from slipway_api.pages.forms import approval, doing, repair, set_states, touch

router = APIRouter(prefix="/ui", include_in_schema=False)
for module in (
    *(sites, site_plan, nodes, node_states, set_states, touch, repair),
    *(actions, tasks, approval, doing, owners, run_tab, static_files),
):
    router.include_router(module.router)
