"""The tab on a DAG run: the page of the run's action. It stands on the runs of every DAG, also of foreign ones."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from site_engine.actions.kinds import KINDS
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.rendering import page
from slipway_api.pages.wording import segment

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/run", dependencies=[access.may_read])
def run_tab(request: Request, store: Store, caller: access.CallerDep, dag_id: str = "", run_id: str = "") -> Response:
    """Lead to the page of a run's action."""
    if dag_id not in KINDS:
        return page(request, "no_action.html", {"why": "This DAG is not one of Slipway's."})
    caller.require_read(dag_id)
    action = store.actions.of_run(dag_id, run_id)
    if action is None:
        return page(request, "no_action.html", {"why": "Its action begins with its first task."})
    root = request.scope.get("root_path", "")
    return RedirectResponse(f"{root}/ui/actions/{segment(action.id)}", 303)
