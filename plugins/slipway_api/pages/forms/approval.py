"""The answer to a group that asks a person for approval: what follows from each answer, and the form for it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from site_engine.groups.approvals import answer_gate
from slipway_api.actions.again import LONGEST_COMMENT, asked_of
from slipway_api.actions.lookup import find_action
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_client import Airflow
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import RawBody
from slipway_api.http.dependencies import Store
from slipway_api.pages.forms.doing import form_fields
from slipway_api.pages.rendering import page, page_router, to_page

pass


router = page_router()


@router.get("/actions/{action_id}/approval", dependencies=[access.may_read])
def ask(
    request: Request, action_id: str, store: Store, caller: access.CallerDep, group: Annotated[str, Query()]
) -> Response:
    """Say what a group waits for, and ask for the answer."""
    action = find_action(store, caller, action_id)
    asked = asked_of(store, caller, action, group)
    nodes = store.groups.get(action.id, group).nodes
    return page(request, "approval.html", {"action": action, "asked": asked, "nodes": sorted(nodes)})


@router.post("/actions/{action_id}/approval", dependencies=[access.may_read])
def answer(
    request: Request,
    action_id: str,
    body: RawBody,
    store: Store,
    airflow: Airflow,
    caller: access.CallerDep,
    group: Annotated[str, Query()],
) -> Response:
    """Answer a group that waits."""
    action = find_action(store, caller, action_id)
    asked_of(store, caller, action, group)
    fields = form_fields(body)
    said = fields.get("answer", [""])[0]
    if said not in ("approve", "refuse"):
        raise ApiError(400, "say whether it is approved or refused")
    comment = fields.get("comment", [""])[0].strip()[:LONGEST_COMMENT]
    approved = said == "approve"
    answer_gate(store, airflow, action.id, group, caller.name, approved=approved, comment=comment or None)
    return to_page(request, "actions", action.id)
