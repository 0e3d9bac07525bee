"""From a connection to a client that redacts: which backend speaks for it, and what it takes from its fields."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import pytest
import requests
import responses

from provisioner_client.connection import ConnectionValues
from provisioner_client.drydock.connection import connect_drydock, tokens_of
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.tokens import KeystoneToken, NoToken, StaticToken
from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.factory import FACTORY, ProvisionerFactory
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import Redact, RedactingProvisioner, nothing_is_secret

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


def test_a_new_backend_is_one_row() -> None:
    factory = ProvisionerFactory(("drydock", "Drydock", connect_drydock), ("maas", "MAAS", connect_maas))
    made = factory.connect(ConnectionValues("maas", "north", "maas.test", port=5240), nothing_is_secret, "action-17")
    assert isinstance(made, RedactingProvisioner)
    assert cast(object, made.provisioner) == ("http://maas.test:5240", nothing_is_secret, "action-17")


def test_a_type_without_a_backend_is_refused_and_the_others_are_named() -> None:
    factory = ProvisionerFactory(("drydock", "Drydock", connect_drydock), ("maas", "MAAS", connect_maas))
    with pytest.raises(ValueError, match="of the type 'http': choose drydock, maas"):
        factory.connect(ConnectionValues("http", "c", "h"), nothing_is_secret)


def test_what_people_call_a_backend() -> None:
    factory = ProvisionerFactory(("maas", "MAAS", connect_maas), ("drydock", "Drydock", connect_drydock))
    assert (factory.names, factory.types) == (("MAAS", "Drydock"), ("drydock", "maas"))
    assert [factory.name(kind) for kind in ("drydock", "maas", "ssh")] == ["Drydock", "MAAS", "MAAS"]
    assert [factory.used_type(kind) for kind in ("drydock", "ssh", "")] == ["drydock", "maas", "maas"]
    assert FACTORY.names == ("Drydock", "MAAS")


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
