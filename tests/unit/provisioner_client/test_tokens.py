"""Tokens: where they come from, when they are renewed, and that they are never shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import responses

from provisioner_client.errors import AuthenticationFailed, ProvisionerProtocolError, ProvisionerUnavailable
from provisioner_client.http_settings import HttpSettings
from provisioner_client.tokens import KeystoneAccount, KeystoneToken, NoToken, StaticToken

KEYSTONE = "http://keystone.test/v3"
ACCOUNT = KeystoneAccount(KEYSTONE, "slipway", "canary-password", "service", "UserDomain", "ProjectDomain")


@pytest.fixture
def keystone(waits: list[float]) -> Iterator[KeystoneToken]:
    source = KeystoneToken(ACCOUNT, HttpSettings(sleep=waits.append))
    yield source
    source.close()


@pytest.fixture
def grant(http: responses.RequestsMock) -> Callable[..., None]:
    def add(token: str, ends: Any = timedelta(hours=1)) -> None:
        if isinstance(ends, timedelta):
            ends = (datetime.now(UTC) + ends).isoformat()
        body = {"token": {"expires_at": ends}}
        http.post(f"{KEYSTONE}/auth/tokens", status=201, headers={"X-Subject-Token": token}, json=body)

    return add


def test_password_method_with_project_and_domains(
    http: responses.RequestsMock, keystone: KeystoneToken, grant: Callable[..., None]
) -> None:
    grant("t-1")
    assert keystone.token() == "t-1"
    assert json.loads(http.calls[0].request.body or b"") == {
        "auth": {
            "identity": {
                "methods": ["password"],
                "password": {
                    "user": {"name": "slipway", "domain": {"name": "UserDomain"}, "password": "canary-password"}
                },
            },
            "scope": {"project": {"name": "service", "domain": {"name": "ProjectDomain"}}},
        }
    }


def test_a_token_is_kept_until_shortly_before_it_ends(
    http: responses.RequestsMock, keystone: KeystoneToken, grant: Callable[..., None]
) -> None:
    grant("t-1", timedelta(seconds=30))
    grant("t-2")
    assert [keystone.token() for _ in range(3)] == ["t-1", "t-2", "t-2"]
    assert len(http.calls) == 2


def test_the_address_of_keystone_may_lack_its_version(http: responses.RequestsMock, grant: Callable[..., None]) -> None:
    grant("t-1")
    with closing(KeystoneToken(replace(ACCOUNT, auth_url="http://keystone.test/"))) as source:
        assert source.token() == "t-1"


@pytest.mark.parametrize("ends", [None, "soon", 17], ids=["absent", "unreadable", "a number"])
def test_a_token_without_an_end_is_used_until_refused(
    http: responses.RequestsMock, keystone: KeystoneToken, grant: Callable[..., None], ends: Any
) -> None:
    grant("t-1", ends)
    grant("t-2", ends)
    assert [keystone.token() for _ in range(2)] == ["t-1", "t-1"]
    assert keystone.renew("t-1")
    assert keystone.token() == "t-2"


def test_a_refusal_of_an_older_token_does_not_cost_the_new_one(
    http: responses.RequestsMock, keystone: KeystoneToken, grant: Callable[..., None]
) -> None:
    grant("t-2")
    assert keystone.token() == "t-2"
    assert keystone.renew("t-1")
    assert keystone.token() == "t-2"
    assert len(http.calls) == 1


def test_keystone_in_trouble_is_asked_again(
    http: responses.RequestsMock, keystone: KeystoneToken, grant: Callable[..., None], waits: list[float]
) -> None:
    http.post(f"{KEYSTONE}/auth/tokens", status=503)
    grant("t-1")
    assert keystone.token() == "t-1"
    assert len(waits) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthenticationFailed), (404, AuthenticationFailed), (500, ProvisionerUnavailable)],
)
def test_keystone_says_no(
    http: responses.RequestsMock, keystone: KeystoneToken, status: int, error: type[Exception]
) -> None:
    http.post(
        f"{KEYSTONE}/auth/tokens",
        status=status,
        json={"error": {"code": status, "message": "no: canary-password", "title": "No"}},
    )
    with pytest.raises(error) as caught:
        keystone.token()
    assert "canary" not in f"{caught.value}{caught.value!r}"


def test_an_answer_without_token_is_not_keystones(http: responses.RequestsMock, keystone: KeystoneToken) -> None:
    http.post(f"{KEYSTONE}/auth/tokens", status=201, json={})
    with pytest.raises(ProvisionerProtocolError, match="/v3"):
        keystone.token()


def test_secrets_are_known_and_never_shown(
    keystone: KeystoneToken, grant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    grant("canary-token")
    keystone.token()
    assert keystone.secrets() == ("canary-password", "canary-token")
    assert StaticToken(" canary\n").secrets() == ("canary",)
    for text in (repr(keystone), repr(ACCOUNT), str(ACCOUNT), repr(StaticToken("canary")), caplog.text):
        assert "canary" not in text


@pytest.mark.parametrize("token", ["", "  ", "two canaries", "canary\nX-Evil: 1", "canarü"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(ValueError, match="token") as caught:
        StaticToken(token)
    assert "canar" not in str(caught.value)


def test_no_token() -> None:
    source = NoToken()
    assert (source.token(), source.renew(None), source.secrets()) == (None, False, ())
