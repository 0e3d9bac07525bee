"""The Keystone face, asked by the library that Airship's clients use, and by requests that are wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from keystoneauth1 import exceptions
from keystoneauth1.identity import Password, v3
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.session import Session

from slipway_api.keystone import wrong_passwords
from slipway_api.keystone.wrong_passwords import FREE, LARGEST_LOGIN, WrongPasswords, proof_of
from tests.integration.api.conftest import PASSWORD

TOKENS = "/v3/auth/tokens"


def password_request(user: Any = "user", password: Any = PASSWORD) -> dict[str, Any]:
    """Return Keystone's request for a token by a password, as Airship's documentation has it."""
    return {
        "auth": {
            "identity": {
                "methods": ["password"],
                "password": {"user": {"name": user, "domain": {"name": "default"}, "password": password}},
            }
        }
    }


def airship_login(url: str, password: str = PASSWORD) -> v3.Password:
    """Return how Shipyard's client logs in."""
    return v3.Password(
        auth_url=url,
        username="user",
        password=password,
        project_name="service",
        project_domain_name="default",
        user_domain_name="default",
    )


@contextmanager
def logged_in(login: BaseIdentityPlugin) -> Iterator[Session]:
    """Use Keystone's library with one way to log in."""
    session = Session(auth=login)
    try:
        yield session
    finally:
        session.session.close()


@pytest.mark.parametrize("path", ["/slipway", "/slipway/", "/slipway/v3", "/slipway/v3/"])
def test_password(origin: str, path: str) -> None:
    with logged_in(airship_login(f"{origin}{path}")) as session:
        endpoint, token = session.get_endpoint(service_type="shipyard", interface="public"), session.get_token()
    assert endpoint == f"{origin}/slipway/api/v1.0"
    assert token
    answer = httpx.get(f"{endpoint}/workflows", headers={"X-Auth-Token": token})
    assert answer.status_code == 200


def test_the_token_is_the_users(origin: str) -> None:
    login = airship_login(f"{origin}/slipway")
    with logged_in(login) as session:
        access = login.get_access(session)
    assert (access.username, access.project_name) == ("user", "service")
    assert access.expires is not None
    lifetime = access.expires - datetime.now(UTC)
    assert timedelta(hours=23) < lifetime <= timedelta(hours=24)
    assert not access.will_expire_soon()


def test_a_token_that_one_has(origin: str, tokens: dict[str, str]) -> None:
    login = v3.Token(auth_url=f"{origin}/slipway", token=tokens["viewer"], project_name="service")
    with logged_in(login) as session:
        assert session.get_token() == tokens["viewer"]
        assert session.get_endpoint(service_type="shipyard", interface="internal") == f"{origin}/slipway/api/v1.0"
        assert login.get_access(session).username == "viewer"


def test_a_client_that_looks_before_it_logs_in(origin: str) -> None:
    login = Password(
        auth_url=f"{origin}/slipway/v3",
        username="user",
        password=PASSWORD,
        project_name="service",
        project_domain_name="default",
        user_domain_name="default",
    )
    with logged_in(login) as session:
        assert session.get_token()


def test_wrong_password(origin: str) -> None:
    said = pytest.raises(exceptions.Unauthorized, match="does not accept this user and password")
    with logged_in(airship_login(f"{origin}/slipway", "wrong")) as session, said:
        session.get_token()


@pytest.fixture
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember nothing of other tests, and let no time pass."""
    monkeypatch.setattr(wrong_passwords, "REMEMBERED", WrongPasswords(lambda: 5.0))


LOGINS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "/slipway/v3/auth/tokens": lambda user, password: {"json": password_request(user, password)},
    "/auth/token": lambda user, password: {"json": {"username": user, "password": password}},
    "/auth/token/cli": lambda user, password: {"json": {"username": user, "password": password}},
    "/auth/token in a form": lambda user, password: {"data": {"username": user, "password": password}},
}


@pytest.mark.usefixtures("_forgetful")
@pytest.mark.parametrize("login", LOGINS)
def test_wrong_passwords_are_slowed_down_and_others_are_not(origin: str, login: str) -> None:
    def status(user: str, password: str, path: str = login) -> int:
        answer = httpx.post(f"{origin}{path.partition(' ')[0]}", **LOGINS[path](user, password))
        if answer.status_code == 429:
            assert answer.headers["retry-after"] == "1"
            assert "too many wrong passwords" in answer.text
        return answer.status_code

    assert [status("user", "wrong") for _ in range(FREE)] == [401] * FREE
    assert status("user", PASSWORD) == 429
    assert [status("user", PASSWORD, path) for path in LOGINS] == [429] * len(LOGINS), "it counts at all doors"
    assert status("viewer", PASSWORD) == 201
    assert [status("nobody", "wrong") for _ in range(FREE + 1)] == [401] * FREE + [429], "as for a user that exists"


GUESSES: dict[str, Callable[[str, str, str], tuple[str, str, bytes]]] = {
    "JSON that looks like a form of another name": lambda user, password, other: (
        "/auth/token/cli",
        "application/x-www-form-urlencoded+json",
        json.dumps({"username": user, "password": f"{password}&username={other}"}).encode(),
    ),
    "a form that looks like JSON of another name": lambda user, password, other: (
        "/auth/token",
        "application/x-www-form-urlencoded",
        json.dumps({"username": other, "x": f"&username={user}&password={password}&y="}).encode(),
    ),
    "a form with a byte that is not UTF-8": lambda user, password, other: (
        "/auth/token",
        "application/x-www-form-urlencoded",
        f"{other}=".encode() + b"\xff&" + f"username={user}&password={password}".encode(),
    ),
}


@pytest.mark.usefixtures("_forgetful")
@pytest.mark.parametrize("kind", GUESSES)
def test_a_guess_is_counted_in_whatever_body_it_comes(origin: str, kind: str) -> None:
    def status(kind: str, user: str, password: str, other: str) -> int:
        path, content_type, body = GUESSES[kind](user, password, other)
        return httpx.post(f"{origin}{path}", content=body, headers={"Content-Type": content_type}).status_code

    answers = []
    for number in range(FREE + 1):
        answers.append(status(kind, "op", f"wrong-{number}", f"other-{number}"))
        # A good login of the guesser's own clears nothing of another's.
        answers.append(status("a form with a byte that is not UTF-8", "user", PASSWORD, ""))
    assert answers[: 2 * FREE : 2] == [401] * FREE
    assert answers[2 * FREE] == 429
    assert httpx.post(f"{origin}/auth/token", json={"username": "user", "password": PASSWORD}).status_code == 201


@pytest.mark.usefixtures("_forgetful")
def test_a_login_that_is_asked_for_by_slipway_counts_once(origin: str, anonymous: httpx.Client) -> None:
    for number in range(FREE - 1):
        assert anonymous.post(TOKENS, json=password_request("op", f"wrong {number}")).status_code == 401
    forged = {"X-Slipway-Login": proof_of("op", "another password")}
    login = {"username": "op", "password": PASSWORD + "!"}
    assert httpx.post(f"{origin}/auth/token", json=login, headers=forged).status_code == 401
    assert anonymous.post(TOKENS, json=password_request("op")).status_code == 429


@pytest.mark.usefixtures("_forgetful")
def test_a_login_that_is_none_is_airflows_to_judge(origin: str) -> None:
    for _ in range(FREE + 2):
        assert httpx.post(f"{origin}/auth/token", json={"user": "op"}).status_code in (400, 422)
    assert httpx.post(f"{origin}/auth/token", content=b" " * (LARGEST_LOGIN + 1)).status_code == 413


def test_a_token_that_is_none(anonymous: httpx.Client) -> None:
    body = {"auth": {"identity": {"methods": ["token"], "token": {"id": "a.b.c"}}}}
    answer = anonymous.post(TOKENS, json=body)
    assert answer.status_code == 401
    assert answer.json()["error"]["title"] == "Unauthorized"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "auth",
        {"auth": None},
        {"auth": {"identity": {}}},
        {"auth": {"identity": {"methods": 7}}},
        {"auth": {"identity": {"methods": ["totp"]}}},
        {"auth": {"identity": {"methods": ["token"], "token": "x"}}},
        {"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "user"}}}}},
        password_request(user=["user"]),
        password_request(password=None),
        password_request(user=""),
        password_request(user="\ud800"),
        password_request(user="a\nb"),
    ],
)
def test_wrong_requests(anonymous: httpx.Client, body: Any) -> None:
    # In ASCII, as half a character can be written in no other way.
    answer = anonymous.post(TOKENS, content=json.dumps(body).encode())
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["title"]) == (400, "Bad Request")
    assert error["message"]


def test_no_json(anonymous: httpx.Client) -> None:
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"auth": NaN}'):
        assert anonymous.post(TOKENS, content=content).json()["error"]["code"] == 400


def test_the_scope_is_given_back_and_may_be_anything(anonymous: httpx.Client) -> None:
    for scope in ("unscoped", {"project": 5}, {"project": {"name": 5}}, {"domain": {"id": "default"}}, None):
        body = password_request()
        body["auth"]["scope"] = scope
        assert anonymous.post(TOKENS, json=body).json()["token"]["project"]["name"] == "service"


def test_a_scope_with_half_a_character(anonymous: httpx.Client) -> None:
    body = password_request()
    body["auth"]["scope"] = {"project": {"name": "\ud800"}}
    answer = anonymous.post(TOKENS, content=json.dumps(body))
    assert answer.status_code == 201
    assert answer.json()["token"]["project"]["name"] == "\ud800"


def test_no_catalog_on_demand(anonymous: httpx.Client) -> None:
    token: Mapping[str, Any] = anonymous.post(f"{TOKENS}?nocatalog", json=password_request()).json()["token"]
    assert "catalog" not in token


def test_switched_off(anonymous: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_KEYSTONE", "off")
    answer = anonymous.post(TOKENS, json=password_request())
    assert answer.status_code == 404
    assert "switched off" in answer.json()["error"]["message"]
    assert anonymous.get("/v3").status_code == 404
    monkeypatch.setenv("SLIPWAY_KEYSTONE", "of")
    mistyped = anonymous.post(TOKENS, json=password_request())
    said = "SLIPWAY_KEYSTONE: 'of' is not on or off; for example off"
    assert (mistyped.status_code, mistyped.json()["error"]["message"]) == (503, said)
