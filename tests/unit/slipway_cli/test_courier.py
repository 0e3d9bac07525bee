"""How the controller has a notification sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from api_client.airflow import AirflowClient
from api_client.session import ApiRefused, ApiUnreachable, RequestRefused
from api_client.slipway import SlipwayClient
from site_engine.controller.notifications import NotDelivered
from site_store import Lease, OutboxRecord
from slipway_cli.controller import courier, run_id_of
from strategy_lib.parsing.notifications import Notifier, Target, Webhook

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
EVENT = OutboxRecord(1, "01EVENT", "north", "verdict", None, None, MOMENT, {})
HELD = Lease("controller", "me", 7, MOMENT, "secret")
CHAT, MAIL = Target("chat", Webhook("hook")), Target("mail", Notifier("smtp"))


class Api:
    """Both APIs: what was asked of them, and what they answer."""

    def __init__(self, answer: str | Exception | None = None) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, ...]] = []

    def deliver(self, *asked: Any) -> str | None:
        return self._say(asked)

    def trigger(self, dag_id: str, conf: Mapping[str, Any], run_id: str) -> str | None:
        return self._say((dag_id, dict(conf), run_id))

    def _say(self, asked: tuple[Any, ...]) -> str | None:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def send(api: Api, target: Target) -> None:
    courier(cast(AirflowClient, api), cast(SlipwayClient, api))(EVENT, target, HELD)


def test_a_webhook_is_sent_by_slipways_api_under_the_lease() -> None:
    api = Api()
    send(api, CHAT)
    assert api.asked == [("01EVENT", "chat", HELD)]


def test_what_the_receiver_does_not_take_is_not_delivered() -> None:
    with pytest.raises(NotDelivered, match="answers 503"):
        send(Api("the receiver answers 503"), CHAT)


def test_a_notifier_is_one_run_of_the_dag() -> None:
    api = Api()
    send(api, MAIL)
    send(api, MAIL)
    run_id = run_id_of(EVENT, "mail")
    assert api.asked == [("notify", {"event_id": "01EVENT", "target": "mail"}, run_id)] * 2
    assert run_id.startswith("north__01EVENT__")
    assert run_id != run_id_of(EVENT, "mail/..")


def test_a_run_that_is_there_already_is_the_one_that_was_asked_for() -> None:
    send(Api(RequestRefused("triggering notify", 409, "there is one")), MAIL)


@pytest.mark.parametrize(("status", "target"), [(403, MAIL), (404, MAIL), (403, CHAT), (409, CHAT)])
def test_a_refusal_is_no_delivery(status: int, target: Target) -> None:
    with pytest.raises(NotDelivered):
        send(Api(RequestRefused("asking", status, "no")), target)


@pytest.mark.parametrize("error", [ApiUnreachable("away"), ApiRefused("asking", 503, "later")])
def test_of_an_api_that_is_away_nothing_is_known(error: Exception) -> None:
    for target in (CHAT, MAIL):
        with pytest.raises(type(error)):
            send(Api(error), target)
