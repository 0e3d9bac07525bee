"""What the check of a connection to MAAS says: limits, credentials, rights and clocks."""

from __future__ import annotations

import json

import pytest
import requests
from airflow.sdk import Connection

from provisioner_client.errors import AuthenticationFailed, ProvisionerProtocolError, ProvisionerRefused
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from slipway_airflow.hook import MaasHook
from tests.integration.provisioner_client.maas.conftest import CLERK
from tests.support.maas_clients import URL, Wire, client

pytestmark = pytest.mark.usefixtures("wire")


def test_the_forms_test_says_whether_a_connection_can_be_used() -> None:
    for extra, expected in (
        ({"pool": "default"}, "accepts the credentials of the administrator slipway"),
        ({}, "pool"),
    ):
        hook = MaasHook("north")
        made = Connection(
            conn_id="north", conn_type="maas", host=URL, password=DEFAULT_KEY, extra=json.dumps(extra), port=0
        )
        vars(hook)["connection"] = made
        works, said = hook.test_connection()
        assert (works, expected in said) == (bool(extra), True)


@pytest.mark.parametrize("status", [301, 302, 307, 404])
def test_a_url_without_maas_says_how_it_ends(wire: Wire, status: int) -> None:
    wire.cut = lambda *_: Answer(status, b"", headers=(("Location", "/MAAS/r/"),))
    with pytest.raises(ProvisionerProtocolError, match="its URL ends with /MAAS, as in"):
        client().check()


def test_it_is_said_which_of_the_limits_maas_does_not_have() -> None:
    with pytest.raises(ProvisionerRefused, match="MAAS has no tag lost: correct what limits"):
        client(tag="lost").check()
    with pytest.raises(ProvisionerRefused, match="MAAS has no pool lost: correct what limits"):
        client(pool="lost").check()


def test_a_clock_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    send = wire.send

    def late(request: requests.PreparedRequest) -> requests.Response:
        header = request.headers["Authorization"]
        before, _, rest = header.partition('oauth_timestamp="')
        request.headers["Authorization"] = f'{before}oauth_timestamp="1000000000"{rest[rest.index(chr(34)) + 1 :]}'
        answer = send(request)
        answer.headers["Date"] = "Mon, 23 Nov 2099 09:00:00 GMT"
        return answer

    monkeypatch.setattr(wire, "send", late)
    with pytest.raises(AuthenticationFailed, match=r"s ahead of this machine's.*synchronize the clocks"):
        client().check()


def test_an_account_that_is_no_administrator_is_named() -> None:
    with pytest.raises(AuthenticationFailed, match="the account clerk is no administrator"):
        client(key=CLERK).check()
