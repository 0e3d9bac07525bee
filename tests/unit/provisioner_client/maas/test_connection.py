"""From the fields of a connection to a client: what cannot be used is said without the key."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from provisioner_client.connection import ConnectionValues
from provisioner_client.factory import FACTORY
from provisioner_client.maas.api_key import ApiKey, PlaintextAuth
from provisioner_client.redacting import nothing_is_secret

KEY = "consumer-canary:token-canary:secret-canary"


def connection(password: str = KEY, host: str = "http://maas.test:5240/MAAS", **extra: Any) -> ConnectionValues:
    return ConnectionValues("maas", "north", host, password=password, extra={"pool": "north", **extra})


def test_a_connection_of_the_type_maas_leads_to_maas() -> None:
    client = FACTORY.connect(connection(), nothing_is_secret)
    assert FACTORY.name("maas") == "MAAS"
    assert client.settle == 120
    assert "canary" not in repr(client)
    assert "canary" not in repr(connection())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (connection(host=""), "no MAAS URL"),
        (connection(password=""), "no API key"),
        (connection(password="canary"), "three parts"),
        (connection(password="canary::x"), "three parts"),
        (connection(pool=""), "a pool or a tag"),
        (connection(erase="canary"), "none, quick, secure, full"),
        (connection(parallel_deploys=0), "parallel_deploys"),
        (connection(parallel_deploys=1.5), "parallel_deploys"),
        (connection(rack_source="canary"), "zone, pool or tag"),
        (connection(label_template="canary"), "{key} and {value}"),
        (connection(host="http://u:canary@maas.test"), "must not contain a user"),
    ],
)
def test_what_cannot_be_used_is_said(values: ConnectionValues, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        FACTORY.connect(values, nothing_is_secret)
    assert said in str(caught.value)
    assert "canary" not in str(caught.value)


def test_each_sending_is_signed_anew() -> None:
    nonces = iter("ab")
    auth = PlaintextAuth(ApiKey.parse("c:t:s&1"), now=lambda: 1234.9, nonce=lambda: next(nonces))
    written = [auth(requests.Request("GET", "http://maas.test/").prepare()).headers["Authorization"] for _ in range(2)]
    assert written[0] == (
        'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_nonce="a", oauth_timestamp="1234", '
        'oauth_consumer_key="c", oauth_token="t", oauth_signature="%26s%25261"'
    )
    assert written[1] == written[0].replace('"a"', '"b"')
