"""What the provisioner itself says of an operation: its tree of tasks, asked when the page is opened or read again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from slipway_api import airflow_access as access
from slipway_api.actions.lookup import find_action
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.pages.rendering import page
from slipway_api.status.task_routes import tasks_of

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/actions/{action_id}/operations/{op}", dependencies=[access.may_read])
def tasks(
    request: Request,
    action_id: str,
    op: int,
    store: Store,
    caller: access.CallerDep,
    node: Annotated[str | None, Query()] = None,
) -> Response:
    """Show the provisioner's tasks of an operation, of one node or of all."""
    action = find_action(store, caller, action_id)
    asked = tasks_of(store, action, op, node or None)
    return page(request, "tasks.html", {"action": action, "asked": asked})
