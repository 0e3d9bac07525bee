"""What is told on its way to a webhook: by the controller's courier, Airflow's API server and a real receiver."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from api_client.webhook import EVENT, SIGNATURE, TIMESTAMP, is_signed
from site_engine.controller.controller import NAME, Controller
from site_engine.controller.notifications import TELL_EVERY, tell_watchers
from site_engine.errors import NotDelivered
from site_store import ActionState, Lease, NewAction, NewRevision, OutboxRecord, SiteStore
from slipway_cli.controller import courier
from strategy_lib.parsing.notifications import Target
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.http.test_service import assert_failure
from tests.support.configdocs import committed
from tests.support.sites import document, group, node, site

SITE, KEY = "default", "the key of the chat"
TARGETS = {"targets": [{"name": "chat", "webhook": {"connection": "chat_hook"}}]}

WATCHING = [
    {
        "name": "inventory",
        "events": ["objects_changed"],
        "objects": ["node", "strategy"],
        "webhook": {"connection": "chat_hook"},
    },
    {"name": "chat", "webhook": {"connection": "chat_hook"}},
]
NOTIFICATIONS = document("slipway/Notifications/v1", "notifications", {"targets": WATCHING})


class Receiver:
    """Takes webhooks on a free port; answers with `status`."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def event(store: SiteStore) -> OutboxRecord:
    """A verdict that the site's target is to be told of."""
    store.revisions.commit(NewRevision(SITE, {"a": "a: 1\n"}, [], "a: 1\n", "ann", notifications=TARGETS))
    action = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", SITE, 1, {}, "ann"))
    store.actions.close(action.id, ActionState.FAILED, "critical groups failed: control")
    return store.outbox.newest(SITE)[0]


@pytest.fixture
def held(store: SiteStore) -> Lease:
    lease = store.leases.take(NAME, "this controller", 60)
    assert lease is not None
    return lease


def connect(monkeypatch: pytest.MonkeyPatch, receiver: Receiver, **more: object) -> None:
    """Give the server the connection of the receiver."""
    connection = {
        "conn_type": "http",
        "host": f"http://127.0.0.1:{receiver.server.server_port}",
        "password": KEY,
        "extra": {"endpoint": "hooks/slipway"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_CHAT_HOOK", json.dumps(connection | more))


def send(origin: str, event: OutboxRecord, target: Target | None, held: Lease) -> None:
    """Send as the controller does, with the least of its rights."""
    assert target is not None
    with contextlib.closing(ApiSession(origin, "user", PASSWORD)) as session:
        courier(AirflowClient(session), SlipwayClient(session))(event, target, held)


def test_the_receiver_gets_what_it_can_prove_and_the_same_id_again(
    origin: str, store: SiteStore, event: OutboxRecord, held: Lease, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, receiver)
    chat = store.outbox.targets(SITE).get("chat")
    for _ in range(2):
        send(origin, event, chat, held)
    (path, headers, body), (_, again, _) = receiver.got
    assert path == "/hooks/slipway"
    assert headers[EVENT] == again[EVENT] == event.event_id
    assert is_signed(KEY, int(headers[TIMESTAMP]), body, headers[SIGNATURE])
    told = json.loads(body)
    assert (told["event"], told["site"], told["action"]) == ("verdict", SITE, event.action_id)
    assert told["data"]["verdict"] == "critical groups failed: control"
    assert KEY not in body.decode()
    assert KEY not in str(headers)


@pytest.mark.parametrize(
    ("status", "connection", "words"),
    [
        (503, {}, "the receiver answers 503"),
        (307, {}, "answers 307, a redirection, which is not followed"),
        (200, {"password": ""}, "has no password: it is the key"),
        (200, {"conn_type": "postgres"}, "of the type postgres"),
        (200, {"host": ""}, "has no URL that can be used"),
    ],
)
def test_what_cannot_be_delivered_says_why_and_repeats_no_key(
    status: int,
    connection: dict[str, object],
    words: str,
    origin: str,
    store: SiteStore,
    event: OutboxRecord,
    held: Lease,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect(monkeypatch, receiver, **connection)
    receiver.status = status
    with pytest.raises(NotDelivered, match=words) as caught:
        send(origin, event, store.outbox.targets(SITE).get("chat"), held)
    assert KEY not in str(caught.value)
    assert len(receiver.got) == (1 if status != 200 else 0)


def test_without_its_connection_it_is_not_delivered(
    origin: str, store: SiteStore, event: OutboxRecord, held: Lease
) -> None:
    with pytest.raises(NotDelivered, match="'chat_hook' of the type http, and there is none"):
        send(origin, event, store.outbox.targets(SITE).get("chat"), held)


def test_a_target_and_a_notification_that_are_not_there(user: httpx.Client, event: OutboxRecord, held: Lease) -> None:
    path = f"/api/v1.0/notifications/{event.event_id}/deliveries"
    own = {"secret": held.secret, "epoch": held.epoch}
    assert_failure(user.post(path, json={"target": "mail", **own}), 404, "no webhook 'mail'")
    unknown = user.post("/api/v1.0/notifications/01NONE/deliveries", json={"target": "chat", **own})
    assert_failure(unknown, 404, "no notification '01NONE'")


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


@pytest.mark.usefixtures("connected")
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
