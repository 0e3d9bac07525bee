"""What a session sends to say who it is, and what it never repeats."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import responses

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
)
from provisioner_client.http_session import HttpSession
from provisioner_client.tokens import StaticToken

URL = "http://drydock.test:9000"


class CountedToken:
    """Tokens `token-1`, `token-2`, … a new one after each refusal."""

    def __init__(self) -> None:
        self.number = 1
        self.refused: list[str | None] = []

    def token(self) -> str | None:
        return f"token-{self.number}"

    def renew(self, refused: str | None) -> bool:
        self.refused.append(refused)
        self.number += 1
        return True

    def secrets(self) -> tuple[str, ...]:
        return (f"token-{self.number}",)

    def close(self) -> None:
        pass


def header(call: responses.Call, name: str) -> object:
    return call.request.headers.get(name)


def test_a_refused_token_is_renewed_once(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    tokens = CountedToken()
    http.post(f"{URL}/x", status=401)
    http.post(f"{URL}/x", json={"done": True})
    assert make_session(tokens=tokens).post("/x", {}).data == {"done": True}
    assert [header(call, "X-Auth-Token") for call in http.calls] == ["token-1", "token-2"]
    assert tokens.refused == ["token-1"]


def test_a_token_that_is_refused_twice_is_an_error(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    http.get(f"{URL}/x", status=401, json={"title": "401 Unauthorized"})
    with pytest.raises(AuthenticationFailed) as caught:
        make_session(tokens=CountedToken()).get("/x")
    assert (caught.value.status, len(http.calls)) == (401, 2)


def test_a_fixed_token_is_not_tried_twice(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    http.get(f"{URL}/x", status=401)
    with pytest.raises(AuthenticationFailed):
        make_session(tokens=StaticToken("canary")).get("/x")
    assert len(http.calls) == 1


def test_lacking_a_role_is_not_cured_by_a_new_token(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    tokens = CountedToken()
    http.get(f"{URL}/x", status=403, json={"title": "403 Forbidden"})
    with pytest.raises(AuthenticationFailed, match="403 Forbidden"):
        make_session(tokens=tokens).get("/x")
    assert tokens.refused == []


def test_credentials_of_netrc_are_not_sent(
    http: responses.RequestsMock, session: HttpSession, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine drydock.test login me password canary\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    http.get(f"{URL}/x", json={})
    session.get("/x")
    assert header(http.calls[0], "Authorization") is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(400, '{"type": "error", "message": "bad token s3cret-canary"}', id="in a message"),
        pytest.param(500, "x" * 495 + " s3cret-canary", id="where the text is cut"),
        pytest.param(200, "<html><title>s3cret-canary</title></html>", id="in a page"),
    ],
)
def test_no_secret_is_repeated_when_the_server_does(
    http: responses.RequestsMock,
    make_session: Callable[..., HttpSession],
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    session = make_session(tokens=StaticToken("s3cret-canary"))
    http.get(f"{URL}/x", status=status, body=body)
    with pytest.raises(ProvisionerError) as caught:
        session.get("/x")
    for text in (str(caught.value), repr(caught.value), caplog.text, repr(session)):
        assert "s3cret" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
