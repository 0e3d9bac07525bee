"""All pages, below ``/ui``. None is part of the API's description."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_api.pages import (
    actions,
    approval,
    doing,
    node_states,
    nodes,
    owners,
    repair,
    run_tab,
    set_states,
    site_plan,
    sites,
    static_files,
    tasks,
    touch,
)

router = APIRouter(prefix="/ui", include_in_schema=False)
for module in (
    *(sites, site_plan, nodes, node_states, set_states, touch, repair),
    *(actions, tasks, approval, doing, owners, run_tab, static_files),
):
    router.include_router(module.router)
