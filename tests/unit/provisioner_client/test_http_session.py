"""Timeouts, repeats, tokens and answers at the level of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import BadStatusLine, RemoteDisconnected
from typing import Any

import pytest
import requests
import responses

from provisioner_client import http_session
from provisioner_client.errors import (
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import Timeouts
from provisioner_client.tokens import StaticToken

URL = "http://drydock.test:9000"


def header(call: responses.Call, name: str) -> object:
    return call.request.headers.get(name)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_get_is_repeated_on(
    http: responses.RequestsMock, session: HttpSession, waits: list[float], status: int
) -> None:
    http.get(f"{URL}/x", status=status, body="busy")
    http.get(f"{URL}/x", json={"a": 1})
    assert session.get("/x").data == {"a": 1}
    assert waits == [0.5]


def test_a_get_is_given_up_after_four_attempts_with_growing_waits(
    http: responses.RequestsMock, session: HttpSession, waits: list[float]
) -> None:
    http.get(f"{URL}/x", status=503)
    with pytest.raises(ProvisionerUnavailable) as caught:
        session.get("/x")
    assert (caught.value.status, len(http.calls), waits) == (503, 4, [0.5, 1.0, 2.0])


@pytest.mark.parametrize("status", [400, 404, 405, 409, 413])
def test_a_refusal_is_not_repeated(http: responses.RequestsMock, session: HttpSession, status: int) -> None:
    http.get(f"{URL}/x", status=status, json={"type": "error", "message": "no", "retry": True})
    with pytest.raises(ProvisionerRefused, match=f"{status}: no") as caught:
        session.get("/x")
    assert (caught.value.status, len(http.calls)) == (status, 1)


def test_a_post_is_sent_once_unless_told_otherwise(http: responses.RequestsMock, session: HttpSession) -> None:
    http.post(f"{URL}/x", status=503)
    with pytest.raises(ProvisionerUnavailable):
        session.post("/x", {})
    assert len(http.calls) == 1


def test_a_post_that_may_be_repeated_is(http: responses.RequestsMock, session: HttpSession) -> None:
    http.post(f"{URL}/x", body=requests.ConnectionError("gone"))
    http.post(f"{URL}/x", json=[])
    assert session.post("/x", {}, attempts=4).data == []


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_is_kept(
    http: responses.RequestsMock, session: HttpSession, waits: list[float], status: int
) -> None:
    http.get(f"{URL}/x", status=status, headers={"Retry-After": "7"})
    http.get(f"{URL}/x", json={})
    session.get("/x")
    assert waits == [7.5]


def test_retry_after_as_a_date_is_kept(http: responses.RequestsMock, session: HttpSession, waits: list[float]) -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    http.get(f"{URL}/x", status=429, headers={"Retry-After": format_datetime(at, usegmt=True)})
    http.get(f"{URL}/x", json={})
    session.get("/x")
    assert len(waits) == 1
    assert 25 < waits[0] <= 31


def test_retry_after_is_capped(http: responses.RequestsMock, session: HttpSession, waits: list[float]) -> None:
    http.get(f"{URL}/x", status=429, headers={"Retry-After": "99999"})
    http.get(f"{URL}/x", json={})
    session.get("/x")
    assert waits == [60.5]


def test_content_type_is_exactly_json(http: responses.RequestsMock, session: HttpSession) -> None:
    http.post(f"{URL}/x", json={})
    session.post("/x", {"a": "ü"})
    assert header(http.calls[0], "Content-Type") == "application/json"
    assert http.calls[0].request.body == b'{"a":"\\u00fc"}'


def test_every_call_has_time_outs(http: responses.RequestsMock, make_session: Callable[..., HttpSession]) -> None:
    http.get(f"{URL}/x", json={})
    make_session(timeouts=Timeouts(2.0, 3.0)).get("/x")
    assert http.calls[0].request.req_kwargs["timeout"] == (2.0, 3.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("verify", [False, "/etc/ca.pem"])
def test_verify_is_handed_on_whatever_the_environment_says(
    http: responses.RequestsMock,
    make_session: Callable[..., HttpSession],
    monkeypatch: pytest.MonkeyPatch,
    verify: bool | str,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/other.pem")
    http.get(f"{URL}/x", json={})
    make_session(verify=verify).get("/x")
    assert http.calls[0].request.req_kwargs["verify"] == verify  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "times", [(0, 1, 1), (1, 0, 1), (1, 1, -1), (90_000, 1, 1), (1, 1e300, 1), (1, float("nan"), 1)]
)
def test_there_is_no_waiting_for_ever(times: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Timeouts(*times)


@pytest.mark.parametrize(
    ("failure", "reached", "timed_out", "text"),
    [
        pytest.param(requests.ConnectTimeout("x"), False, False, "no connection", id="connect timeout"),
        pytest.param(
            requests.ConnectionError(ConnectionRefusedError(111, "Connection refused")),
            False,
            False,
            "no connection (Connection refused)",
            id="refused",
        ),
        pytest.param(requests.ReadTimeout("x"), True, True, "no answer in time", id="read timeout"),
        pytest.param(
            requests.ConnectionError(ConnectionResetError(104, "Connection reset by peer")),
            True,
            False,
            "the connection was lost (Connection reset by peer)",
            id="reset",
        ),
        pytest.param(
            requests.ConnectionError(BadStatusLine("\x15\x03\x01\x00")),
            True,
            False,
            "what listens there does not answer in HTTP: is it https:// and not http://",
            id="TLS",
        ),
        pytest.param(
            requests.ConnectionError(RemoteDisconnected("Remote end closed connection without response")),
            True,
            False,
            "the connection was lost (RemoteDisconnected)",
            id="no answer",
        ),
        pytest.param(
            requests.exceptions.ChunkedEncodingError("IncompleteRead"), True, False, "broke off", id="truncated"
        ),
    ],
)
def test_trouble_on_the_way(
    http: responses.RequestsMock,
    session: HttpSession,
    failure: Exception,
    reached: bool,
    timed_out: bool,
    text: str,
) -> None:
    http.post(f"{URL}/x", body=failure)
    with pytest.raises(ProvisionerUnavailable) as caught:
        session.post("/x", {})
    assert (caught.value.reached, caught.value.timed_out) == (reached, timed_out)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "server"),
    [
        pytest.param({"body": requests.ConnectTimeout("x")}, True, id="not reached"),
        pytest.param({"body": requests.ReadTimeout("x")}, True, id="too slow"),
        pytest.param({"status": 502, "body": "<html><title>Bad Gateway</title></html>"}, True, id="a proxy's error"),
        pytest.param({"status": 401, "json": {"message": "no", "code": 401}}, True, id="credentials refused"),
        pytest.param({"status": 302, "headers": {"Location": "http://other"}}, True, id="a redirect"),
        pytest.param({"body": "<html>"}, True, id="no JSON"),
        pytest.param(
            {"status": 400, "json": {"kind": "status", "message": "no", "code": "400"}}, False, id="Drydock's own no"
        ),
    ],
)
def test_where_it_may_be_the_wrong_server_that_is_named_and_what_it_is_named_by(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession], answer: dict[str, Any], server: bool
) -> None:
    http.post(f"{URL}/x", **answer)
    with pytest.raises(ProvisionerError) as caught:
        make_session(named_by="connection 'lab'").post("/x", {})
    where = " at drydock.test:9000 (connection 'lab')" if server else ""
    assert caught.value.detail.startswith(f"POST /x{where}: ")


def test_an_answer_cut_to_valid_length_but_not_json_is_asked_for_again(
    http: responses.RequestsMock, session: HttpSession
) -> None:
    http.get(f"{URL}/x", body='[{"task_id": "')
    http.get(f"{URL}/x", json=[])
    assert session.get("/x").data == []


def test_a_page_instead_of_json_is_named(http: responses.RequestsMock, session: HttpSession) -> None:
    http.get(f"{URL}/x", body="<html><title>Log in</title></html>")
    with pytest.raises(ProvisionerProtocolError, match="an HTML page: Log in"):
        session.get("/x")


def test_an_endless_answer_is_cut(
    http: responses.RequestsMock, session: HttpSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_session, "LONGEST_ANSWER", 1000)
    http.post(f"{URL}/x", body=b"[" + b"0," * 1000 + b"0]")
    with pytest.raises(ProvisionerProtocolError, match="longer than 1000 bytes"):
        session.post("/x", {})


def test_an_answer_that_trickles_is_given_up(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("provisioner_client.http_session.time.monotonic", lambda: float(next(clock)))
    http.post(f"{URL}/x", body=b"[" + b"0," * 200_000 + b"0]")
    with pytest.raises(ProvisionerUnavailable, match="takes longer than 300 s") as caught:
        make_session(timeouts=Timeouts(total=300)).post("/x", {})
    assert caught.value.timed_out


@pytest.mark.parametrize(("status", "timed_out"), [(408, True), (504, True), (500, False), (503, False), (429, False)])
def test_which_answers_mean_that_the_request_may_still_be_at_work(
    http: responses.RequestsMock, session: HttpSession, status: int, timed_out: bool
) -> None:
    http.post(f"{URL}/x", status=status)
    with pytest.raises(ProvisionerUnavailable) as caught:
        session.post("/x", {})
    assert caught.value.timed_out is timed_out


def test_the_original_exception_which_holds_the_headers_is_not_kept(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession]
) -> None:
    http.post(f"{URL}/x", body=requests.ConnectionError("lost"))
    with pytest.raises(ProvisionerUnavailable) as caught:
        make_session(tokens=StaticToken("canary")).post("/x", {})
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_endless_request_is_not_sent(session: HttpSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_session, "LONGEST_REQUEST", 100)
    with pytest.raises(ProvisionerRefused, match="would be"):
        session.post("/x", ["n" * 200])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(("method", "sent"), [("GET", 4), ("POST", 1)])
def test_a_redirect_is_tried_again_later_and_never_followed_with_the_token(
    http: responses.RequestsMock, make_session: Callable[..., HttpSession], method: str, sent: int, status: int
) -> None:
    http.add(method, f"{URL}/x", status=status, headers={"Location": "http://evil.test/"})
    session = make_session(tokens=StaticToken("canary"))
    with pytest.raises(ProvisionerUnavailable, match=f"{status}: a redirect") as caught:
        session.get("/x") if method == "GET" else session.post("/x", {})
    assert (caught.value.status, caught.value.reached) == (status, True)
    assert [call.request.url for call in http.calls] == [f"{URL}/x"] * sent


def test_a_redirect_that_goes_away_is_survived(http: responses.RequestsMock, session: HttpSession) -> None:
    http.get(f"{URL}/x", status=302, headers={"Location": "http://login.test/"})
    http.get(f"{URL}/x", json=[])
    assert session.get("/x").data == []


def test_the_request_id_of_drydock_is_in_the_error(http: responses.RequestsMock, session: HttpSession) -> None:
    http.get(f"{URL}/x", status=400, headers={"X-Drydock-Req": "2fabf855-1"}, body="Unexpected error.")
    with pytest.raises(ProvisionerRefused, match=r"400: Unexpected error\. \(X-Drydock-Req 2fabf855-1\)"):
        session.get("/x")
