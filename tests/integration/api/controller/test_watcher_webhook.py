"""A commit reaches a webhook that watches objects: by the controller, Airflow's API server and a real receiver."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import httpx
import pytest

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from api_client.webhook import SIGNATURE, TIMESTAMP, is_signed
from site_engine.controller.controller import Controller
from site_engine.controller.notifications import TELL_EVERY, tell_watchers
from site_store import SiteStore
from slipway_cli.controller import courier
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.controller.test_deliveries import KEY, Receiver, connect
from tests.support.configdocs import committed
from tests.support.sites import document, group, node, site

pytestmark = pytest.mark.usefixtures("connected")

TARGETS = [
    {
        "name": "inventory",
        "events": ["objects_changed"],
        "objects": ["node", "strategy"],
        "webhook": {"connection": "chat_hook"},
    },
    {"name": "chat", "webhook": {"connection": "chat_hook"}},
]
NOTIFICATIONS = document("slipway/Notifications/v1", "notifications", {"targets": TARGETS})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


def design(rack: str) -> str:
    nodes = [node("n1", rack), node("n2"), NOTIFICATIONS]
    text = site(nodes, [group("all", ["n1"])])
    return text.replace("  groups:", "  default_group: all\n  groups:")


def look(origin: str, store: SiteStore, times: int = 1) -> None:
    """Have a controller look, with the least of its rights."""
    clock = iter(range(0, 1000, int(TELL_EVERY)))
    with contextlib.closing(ApiSession(origin, "user", PASSWORD)) as session:

        def at_once(work: object) -> object:
            assert callable(work)
            work()
            return lambda: False

        send = courier(AirflowClient(session), SlipwayClient(session))
        job = tell_watchers({}, send, begin=at_once)  # type: ignore[arg-type]
        controller = Controller(store, "this controller", [job], lambda: float(next(clock)))
        for _ in range(times):
            controller.look()
        controller.give_up()


def test_the_webhook_gets_the_objects_that_it_watches_signed_and_once(
    origin: str, user: httpx.Client, store: SiteStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, receiver)
    committed(user, design("r1"))
    committed(user, design("r2"), buffermode="replace")
    look(origin, store, 3)
    bodies = [json.loads(body) for _, _, body in receiver.got]
    assert [(told["event"], told["data"]["revision"]) for told in bodies] == [
        ("objects_changed", 1),
        ("objects_changed", 2),
    ]
    assert {(one["kind"], one["name"], one["change"]) for one in bodies[0]["data"]["changes"]} == {
        ("node", "n1", "added"),
        ("node", "n2", "added"),
        ("strategy", "deployment-strategy", "added"),
    }
    assert bodies[1]["data"]["changes"] == [{"kind": "node", "name": "n1", "change": "changed", "version": 2}]
    assert bodies[1]["text"] == "Site default: 1 object changed in revision 2: node/n1 (changed)"
    _, headers, body = receiver.got[0]
    assert is_signed(KEY, int(headers[TIMESTAMP]), body, headers[SIGNATURE])


def test_a_receiver_that_refuses_is_counted_and_not_asked_again(
    origin: str, user: httpx.Client, store: SiteStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, receiver)
    receiver.status = 503
    committed(user, design("r1"))
    look(origin, store, 3)
    assert len(receiver.got) == 1
    (count,) = store.object_changes.counts()
    assert (count.watcher, count.waiting, count.told, count.failed) == ("webhook", 0, 0, 1)
    assert [check.problem for check in store.checks.newest()] == [None]
