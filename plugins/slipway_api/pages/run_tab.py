"""The tab on a DAG run: the page of the run's action. It stands on the runs of every DAG, also of foreign ones."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from site_engine.kinds import KINDS
from slipway_api import airflow_access as access
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.rendering import page
from slipway_api.pages.wording import segment

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/run", dependencies=[access.may_read])
def run_tab(
    request: Request,
    store: Store,
    caller: access.CallerDep,
    dag_id: str = "",
    run_id: str = "",
    task_id: str = "",
    map_index: str = "",
) -> Response:
    """Lead to the page of a run's action; from one of its tasks, to the page of its group or to its step there."""
    if dag_id not in KINDS:
        return page(request, "no_action.html", {"why": "This DAG is not one of Slipway's."})
    caller.require_read(dag_id)
    action = store.actions.of_run(dag_id, run_id)
    if action is None:
        return page(request, "no_action.html", {"why": "Its action begins with its first task."})
    root = request.scope.get("root_path", "")
    address = f"{root}/ui/actions/{segment(action.id)}"
    if map_index:
        groups = store.groups.of_action(action.id)
        group = next((one.name for one in groups if str(one.map_index) == map_index), None)
        if group is not None:
            return RedirectResponse(f"{address}/group?name={segment(group)}", 303)
    return RedirectResponse(f"{address}#step-{segment(task_id)}" if task_id else address, 303)
