"""From a connection to a client that redacts: which backend speaks for it, and what it takes from its fields."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote

import pytest
import requests
import responses

from provisioner_client.connection import ConnectionValues
from provisioner_client.drydock.connection import connect_drydock, tokens_of
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.factory import FACTORY, ProvisionerFactory
from provisioner_client.protocol import (
    ListedNode,
    Provisioner,
    ProvisionerTask,
    TaskMessage,
    TaskRef,
    TaskResult,
    TaskState,
    TaskTree,
)
from provisioner_client.redacting import Redact, RedactingProvisioner, nothing_is_secret
from provisioner_client.tokens import KeystoneToken, NoToken, StaticToken
from strategy_lib.node_condition import NodeCondition

KEYSTONE = {"auth_url": "http://keystone.test/v3"}


def drydock(host: str = "http://h", login: str = "slipway", **extra: Any) -> ConnectionValues:
    """Return a connection with these fields."""
    return ConnectionValues("drydock", "site", host, login=login, password="canary", extra=extra)


def connect_maas(connection: ConnectionValues, redact: Redact, context_marker: str | None) -> Provisioner:
    """Build a client of another backend."""
    return cast(Provisioner, (connection.url, redact, context_marker))


@pytest.mark.parametrize(
    ("connection", "kind"),
    [
        (drydock(), NoToken),
        (drydock(auth_token=""), NoToken),
        (drydock(auth_token="canary"), StaticToken),
        (drydock(**KEYSTONE), KeystoneToken),
    ],
)
def test_the_token_source_that_was_asked_for(connection: ConnectionValues, kind: type) -> None:
    with closing(tokens_of(connection)) as tokens:
        assert isinstance(tokens, kind)
    assert "canary" not in repr(connection)


@pytest.mark.parametrize(
    ("connection", "match"),
    [
        (drydock(auth_token="canary", **KEYSTONE), "not both"),
        (drydock(login="u" * 17, **KEYSTONE), "longer than 16"),
        (drydock("ftp://h:9000"), "http://host:9000"),
        (drydock(" "), "no Drydock URL"),
        (drydock(read_timeout=0), "above 0"),
        (drydock(auth_url="http://u:canary@k"), "user or a"),
        (drydock(auth_token=["canary"]), "auth_token must be a text"),
    ],
)
def test_a_connection_that_cannot_be_used_says_so_without_secrets(connection: ConnectionValues, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        FACTORY.connect(connection, nothing_is_secret)
    assert "canary" not in str(caught.value)


def test_the_fields_reach_the_wire(http: responses.RequestsMock) -> None:
    connection = drydock("h", "Ann", auth_token="canary", connect_timeout=2, read_timeout="3", ca_bundle="/etc/ca.pem")
    http.get("http://h/api/v1.0/nodes", json=[])
    with closing(FACTORY.connect(connection, nothing_is_secret, "action-17")) as made:
        made.nodes()
        assert isinstance(made.provisioner, DrydockProvisioner)
        request = http.calls[0].request
        assert request.headers["X-Context-Marker"] == made.provisioner.context_marker
    assert request.headers["X-Auth-Token"] == "canary"
    assert request.headers["X-End-User"] == "Ann"
    assert request.req_kwargs["timeout"] == (2.0, 3.0)  # type: ignore[attr-defined]
    assert request.req_kwargs["verify"] == "/etc/ca.pem"  # type: ignore[attr-defined]


KEY = "consumer-part:token-part:secret-part"
PASSWORD = "hunter2/&ünter2"


def echoing(texts: list[str], tokens: tuple[str, ...] = ()) -> ProvisionerFactory:
    """Return a factory with a backend that repeats these texts wherever a provisioner says something."""
    messages = tuple(TaskMessage(text, error=False, context=None, at=text) for text in texts)
    done = TaskState.COMPLETE
    task = ProvisionerTask("t", texts[0], done, TaskResult.SUCCESS, frozenset(), frozenset(), messages, None)
    tree = TaskTree(task, frozenset(), created=texts[0], updated=texts[0])
    addresses = {"boot_ip": texts[0]}

    def backend(connection: ConnectionValues, redact: Redact, marker: str | None) -> Provisioner:
        said = SimpleNamespace(
            task=lambda _, **__: task,
            task_tree=lambda *_, **__: tree,
            nodes=lambda _: {"n": ListedNode("n", NodeCondition.OTHER, texts[0], texts[0], addresses)},
            secrets=lambda: tokens,
        )
        return cast(Provisioner, said)

    return ProvisionerFactory({"drydock": ("Drydock", backend), "maas": ("MAAS", backend)})


@pytest.mark.parametrize(
    ("connection", "secret"),
    [
        (drydock(auth_token="canary-token"), "canary-token"),
        (drydock(auth_token="canary+/token="), "canary%2B%2Ftoken%3D"),
        (drydock("http://ann:hunter2pw@h"), "hunter2pw"),
        (drydock("http://ann:hunter2%2Fpw@h"), "hunter2/pw"),
        (drydock(proxy="http://ann:hunter2pw@proxy"), "hunter2pw"),
        (drydock(proxy="http://ann:hunter2pw@proxy"), b64encode(b"ann:hunter2pw").decode()),
        (ConnectionValues("drydock", "c", "h", login="ann", password=PASSWORD), PASSWORD),
        (ConnectionValues("drydock", "c", "h", login="ann", password=PASSWORD), quote(PASSWORD)),
        (ConnectionValues("drydock", "c", "h", login="ann", password=PASSWORD), quote(PASSWORD, safe="")),
        (
            ConnectionValues("drydock", "c", "h", login="ann", password=PASSWORD),
            b64encode(f"ann:{PASSWORD}".encode()).decode(),
        ),
        (ConnectionValues("maas", "c", "h", password=f"{KEY}\n"), KEY),
        *((ConnectionValues("maas", "c", "h", password=KEY), part) for part in KEY.split(":")),
    ],
)
def test_no_answer_shows_a_secret_of_the_connection_or_a_part_of_one(connection: ConnectionValues, secret: str) -> None:
    made = echoing([f"it says {secret}", "nothing"]).connect(connection, nothing_is_secret)
    (first, second), node = made.task(TaskRef("t")).messages, made.nodes()["n"]
    assert (first.text, second.text) == ("it says ***", "nothing")
    assert secret not in repr((made.task(TaskRef("t")).messages, made.task_tree(TaskRef("t")), node))


def test_no_answer_shows_a_token_that_was_fetched_meanwhile() -> None:
    made = echoing(["it says fetched-token", "four"], ("fetched-token", "four")).connect(drydock(), nothing_is_secret)
    assert [message.text for message in made.task(TaskRef("t")).messages] == ["it says ***", "four"]


def test_drydock_echoes_the_token_in_the_messages_of_a_good_answer(
    http: responses.RequestsMock, task_json: Callable[..., dict[str, Any]]
) -> None:
    said = [("called with X-Auth-Token: canary-token", False, "n1", "2026-01-01")]
    http.get("http://h/api/v1.0/tasks/t-1", json=task_json(messages=said))
    with closing(FACTORY.connect(drydock(auth_token="canary-token"), nothing_is_secret)) as made:
        assert "canary" not in repr(made.task(TaskRef("t-1")))


def test_a_new_backend_is_one_row() -> None:
    factory = ProvisionerFactory({"drydock": ("Drydock", connect_drydock), "maas": ("MAAS", connect_maas)})
    made = factory.connect(ConnectionValues("maas", "north", "maas.test", port=5240), nothing_is_secret, "action-17")
    assert isinstance(made, RedactingProvisioner)
    assert cast(object, made.provisioner) == ("http://maas.test:5240", nothing_is_secret, "action-17")


def test_a_type_without_a_backend_is_refused_and_the_others_are_named() -> None:
    factory = ProvisionerFactory({"drydock": ("Drydock", connect_drydock), "maas": ("MAAS", connect_maas)})
    with pytest.raises(ValueError, match="of the type 'http': choose drydock, maas"):
        factory.connect(ConnectionValues("http", "c", "h"), nothing_is_secret)


def test_what_people_call_a_backend() -> None:
    factory = ProvisionerFactory({"maas": ("MAAS", connect_maas), "drydock": ("Drydock", connect_drydock)})
    assert (factory.names, factory.types) == (("MAAS", "Drydock"), ("drydock", "maas"))
    assert [factory.name(kind) for kind in ("drydock", "maas", "ssh")] == ["Drydock", "MAAS", "MAAS"]
    assert [factory.used_type(kind) for kind in ("drydock", "ssh", "")] == ["drydock", "maas", "maas"]
    assert FACTORY.names == ("Drydock", "MAAS", "Ironic")


@pytest.mark.parametrize(
    ("extra", "silent"), [({}, "http://h/versions"), (KEYSTONE, "http://keystone.test/v3/auth/tokens")]
)
def test_a_hurried_client_asks_once_and_not_for_long(
    http: responses.RequestsMock, extra: dict[str, Any], silent: str
) -> None:
    http.add(responses.POST if extra else responses.GET, silent, body=requests.ReadTimeout("silent"))
    connection = replace(drydock(**extra), hurried=True)
    with closing(FACTORY.connect(connection, nothing_is_secret)) as made, pytest.raises(ProvisionerUnavailable):
        made.check()
    (call,) = http.calls
    assert call.request.req_kwargs["timeout"] == (3.0, 8.0)  # type: ignore[attr-defined]


def test_a_hurried_client_keeps_time_outs_that_are_shorter(http: responses.RequestsMock) -> None:
    http.get("http://h/versions", body=requests.ReadTimeout("silent"))
    connection = replace(drydock(connect_timeout=1, read_timeout=2), hurried=True)
    with closing(FACTORY.connect(connection, nothing_is_secret)) as made, pytest.raises(ProvisionerUnavailable):
        made.check()
    assert http.calls[0].request.req_kwargs["timeout"] == (1.0, 2.0)  # type: ignore[attr-defined]
