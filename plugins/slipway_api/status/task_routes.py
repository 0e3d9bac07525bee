"""The provisioner's own tasks of an operation. The one status that is not the store's: the provisioner is asked."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from site_engine.operations.provisioner_tasks import asked_tasks, provisioner_tasks
from site_store import ActionRecord, SiteStore
from slipway_api.actions.lookup import ActionId, find_action
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import answer_within
from slipway_api.http.dependencies import Store, blocking_router, provisioners

router = blocking_router("status")

PATIENCE = 15.0
"""Seconds after which a provisioner that is asked for its tasks counts as one that does not answer."""
_LONGEST_NAME = 1000


class ProvisionerTasks(BaseModel):
    """What the provisioner says of an operation, now."""

    action: str = Field(examples=[EXAMPLE_ID])
    op: int = Field(examples=[17])
    phase: str = Field(examples=["deploy"])
    group: str | None = Field(examples=["control"])
    attempt: int = Field(examples=[1])
    node: str | None = Field(examples=["node-1"], description="Only what is about this node; null: all of it.")
    nodes: int = Field(examples=[3], description="How many nodes were sent.")
    connection: str | None = Field(examples=["slipway_provisioner"])
    provisioner_task: str | None = Field(examples=["2fabf855-5a0e-4b47-9a3b-3c8c6f7f1f0a"])
    read_at: Moment
    reason: str = Field(examples=[""], description="Why there is no tree; empty where there is one.")
    root: dict[str, Any] | None = Field(
        examples=[{"type": "task", "kind": "provisioner_task", "name": "deploy_nodes", "status": "success"}],
        description="The provisioner's task with those below it, as in `schemas/status_tree.json`; null: see `reason`.",
    )


@router.get(
    "/actions/{action_id}/operations/{op}/tasks",
    dependencies=[access.may_read],
    summary="The provisioner's own tasks of an operation",
    responses=answers(ProvisionerTasks),
)
def get_tasks(
    action_id: ActionId,
    op: Annotated[int, Path(description="The number of an operation, as trees and histories have it.", examples=[17])],
    store: Store,
    caller: access.CallerDep,
    node: Annotated[
        str | None, Query(max_length=_LONGEST_NAME, description="Leave out what is only about other nodes.")
    ] = None,
) -> Response:
    """Ask the provisioner what it made of an operation. Nothing of it is kept.

    A provisioner that does not answer is no error: `root` is null then, and `reason` says why.
    """
    action = find_action(store, caller, action_id)
    return Response(msgspec.json.encode(tasks_of(store, action, op, node)), media_type="application/json")


def tasks_of(store: SiteStore, action: ActionRecord, op: int, node: str | None) -> dict[str, Any]:
    """Return the provisioner's tasks of an operation as `ProvisionerTasks` describes them.

    Raises `ApiError` 404: the action has no such operation, or the operation no such node.
    """
    operation = next((one for one in store.operations.of_action(action.id) if one.op == op), None)
    if operation is None:
        raise ApiError(404, f"action {action.id} has no operation {op}", "Operation not found")
    if node is not None and node not in operation.nodes:
        raise ApiError(404, f"operation {op} is not about a node {node[:64]!r}", "Node not found")
    try:
        return answer_within(
            PATIENCE, "provisioner-tasks", lambda: provisioner_tasks(store, provisioners(), action, operation, node)
        )
    except TimeoutError:
        said = f"The provisioner has not answered for {PATIENCE:g} s (connection {action.connection!r})."
        return asked_tasks(action, operation, node, None, said)
