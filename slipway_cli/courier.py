"""How the controller sends a notification: webhooks through Slipway's API, notifiers by a run of the DAG `notify`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from api_client.session import RequestRefused
from site_engine.controller.notifications import NotDelivered, Send
from strategy_lib.parsing.notifications import Webhook

if TYPE_CHECKING:
    from api_client.airflow import AirflowClient
    from api_client.slipway import SlipwayClient
    from site_store import Lease, OutboxRecord
    from strategy_lib.parsing.notifications import Target

NOTIFY_DAG: Final = "notify"
_CONFLICT: Final = 409


def run_id_of(event: OutboxRecord, target: str) -> str:
    """Return the id of the run that sends a notification to a target: one run, however often it is asked for."""
    return f"{event.site}__{event.event_id}__{hashlib.sha256(target.encode()).hexdigest()[:12]}"


def courier(airflow: AirflowClient, slipway: SlipwayClient) -> Send:
    """Return what sends one notification to one target, as the controller's account in Airflow."""

    def send(event: OutboxRecord, target: Target, held: Lease) -> None:
        try:
            if isinstance(target.way, Webhook):
                problem = slipway.deliver(event.event_id, target.name, held.epoch, held.secret)
                if problem is not None:
                    raise NotDelivered(problem)
                return
            conf = {"event_id": event.event_id, "target": target.name}
            airflow.trigger(NOTIFY_DAG, conf, run_id_of(event, target.name))
        except RequestRefused as error:
            # A run of this id is the one that was asked for before, and its answer was lost.
            if error.status != _CONFLICT or isinstance(target.way, Webhook):
                raise NotDelivered(str(error)) from error

    return send
