"""Send a notification to a webhook, for the controller: the API server knows the connection, and keeps its key.

Only what stands in the outbox is sent, to a target that the site's own document names, and only for the controller
that leads: it proves that by its lease, which no answer of the API ever shows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api_client.webhook import Webhook as WebhookAddress
from api_client.webhook import WebhookFailed
from provisioner_client.connection import ConnectionValues
from site_engine.controller.notifications import message_of
from slipway_api.controller.leader import Leader, require_leader
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store, blocking_router, provisioners
from strategy_lib.parsing.notifications import Webhook

router = blocking_router("notifications")

CONNECTION_TYPE = "http"


class Delivery(Leader):
    """Which target is to get the notification, and the lease of the controller that asks."""

    target: str = Field(max_length=64, examples=["chat"])


class Delivered(BaseModel):
    """What came of it; `problem` is null where the receiver has taken it."""

    problem: str | None = Field(examples=[None])


@router.post(
    "/notifications/{event_id}/deliveries",
    dependencies=[access.may_control],
    summary="Send a notification to a webhook; for the controller alone",
    responses=answers(Delivered),
)
def deliver(
    event_id: Annotated[str, Path(max_length=26, description="The notification's id.")], body: Delivery, store: Store
) -> JSONResponse:
    """Send a notification once. That the receiver does not take it is an answer: the controller tries again."""
    require_leader(store, body)
    event = store.outbox.get(event_id)
    target = store.outbox.targets(event.site).get(body.target)
    if target is None or not isinstance(target.way, Webhook):
        raise ApiError(404, f"site {event.site} has no webhook {body.target!r} (any more)")
    return JSONResponse({"problem": _send(message_of(event, target.objects), target.way)})


def _send(message: Mapping[str, Any], hook: Webhook) -> str | None:
    values = provisioners().find(hook.connection)
    if values is None or values.type != CONNECTION_TYPE:
        there = "there is none" if values is None else f"that is of the type {values.type}"
        return f"it needs an Airflow connection {hook.connection!r} of the type {CONNECTION_TYPE}, and {there}"
    try:
        address = WebhookAddress(url_of(values), values.password)
    except ValueError as error:
        return f"the Airflow connection {hook.connection!r} {error}"
    try:
        address.send(message["id"], message, int(time.time()))
    except WebhookFailed as error:
        return str(error)
    return None


def url_of(values: ConnectionValues) -> str:
    """Return a webhook's URL: host, schema and port of the connection, and `endpoint` of its extra behind them."""
    endpoint = values.extra.get("endpoint")
    path = f"/{endpoint.lstrip('/')}" if isinstance(endpoint, str) and endpoint else ""
    return values.url + path
