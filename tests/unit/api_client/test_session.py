"""The token of a session, its messages, and what becomes of odd answers."""

import base64
import json

import pytest
import requests
import responses

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiSession, ApiUnreachable
from tests.unit.api_client.conftest import RUN, URL


def test_an_expired_token_is_fetched_anew_once(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, json={"detail": "expired"}, status=401)
    wire.post(f"{URL}/auth/token", json={"access_token": "second"}, status=201)
    wire.get(RUN, json={"state": "running"})
    assert AirflowClient(session).run_state("deploy_site", "r/1") == "running"
    assert [call.request.headers.get("Authorization") for call in wire.calls] == [
        None,
        "Bearer first",
        None,
        "Bearer second",
    ]


def test_a_token_is_renewed_before_it_ends(wire: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": 1_000_100}).encode()).decode().rstrip("=")
    wire.post(f"{URL}/auth/token", json={"access_token": f"head.{payload}.signature"}, status=201)
    wire.post(f"{URL}/auth/token", json={"access_token": "second"}, status=201)
    session, now = ApiSession(URL, "slipway", "secret"), [1_000_000.0]
    monkeypatch.setattr("api_client.session.time.time", lambda: now[0])
    first = session.token()
    now[0] += 89
    assert session.token() == first
    now[0] += 1
    assert session.token() == "second"


def test_a_token_that_is_never_good_is_an_error_not_a_loop(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, json={"detail": "no"}, status=401)
    with pytest.raises(ApiRefused, match="HTTP 401: no"):
        AirflowClient(session).run("deploy_site", "r/1")
    assert len(wire.calls) == 4


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"detail": "no such run"}, "no such run"),
        ({"detail": {"reason": "not found"}}, "not found"),
        ({"detail": [{"msg": "conf is wrong"}, {"msg": "so is note"}]}, "conf is wrong; so is note"),
        ({"message": "Slipway's own"}, "Slipway's own"),
        ("<html>", "<html>"),
    ],
)
def test_the_answers_own_words_are_in_the_message(
    wire: responses.RequestsMock, session: ApiSession, answer: object, sentence: str
) -> None:
    wire.get(RUN, body=answer if isinstance(answer, str) else json.dumps(answer), status=404)
    with pytest.raises(ApiRefused) as caught:
        AirflowClient(session).run("deploy_site", "r/1")
    assert str(caught.value) == f"reading run r/1: HTTP 404: {sentence}"


def test_no_answer_is_unreachable_and_names_no_password(wire: responses.RequestsMock) -> None:
    wire.post(f"{URL}/auth/token", body=requests.ConnectionError("refused"))
    with pytest.raises(ApiUnreachable, match=f"{URL} does not answer") as caught:
        AirflowClient(ApiSession(URL, "admin", "secret")).import_errors()
    assert "secret" not in str(caught.value)


def test_a_redirection_is_not_followed(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, status=301, headers={"Location": "https://elsewhere/"})
    with pytest.raises(ApiError, match="points to https://elsewhere/; use the URL of that place"):
        AirflowClient(session).run("deploy_site", "r/1")


def test_what_is_no_airflow_is_told(wire: responses.RequestsMock) -> None:
    wire.post(f"{URL}/auth/token", body="<html>", content_type="text/html")
    with pytest.raises(ApiError, match=r"is not Slipway: it sent text/html instead of JSON\. Check the URL"):
        ApiSession(URL, "admin", "secret").token()


def test_a_given_token_is_not_fetched_anew() -> None:
    with responses.RequestsMock() as mock:
        mock.get(RUN, json={"message": "expired"}, status=401)
        with pytest.raises(ApiRefused, match="HTTP 401: expired"):
            AirflowClient(ApiSession.with_token(URL, "admin", "kept")).run("deploy_site", "r/1")
        assert [call.request.headers["Authorization"] for call in mock.calls] == ["Bearer kept"]


def test_requests_can_be_traced_without_their_secrets(wire: responses.RequestsMock, session: ApiSession) -> None:
    told: list[str] = []
    session.trace = told.append
    wire.get(RUN, json={"state": "running"}, headers={"X-Shipyard-Req": "r-1"})
    AirflowClient(session).run_state("deploy_site", "r/1")
    assert [line.partition(" in ")[0] for line in told] == [f"POST {URL}/auth/token: 201", f"GET {RUN}: 200"]
    assert told[1].endswith("request r-1")
    assert not any("first" in line or "secret" in line for line in told)
