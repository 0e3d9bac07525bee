"""What a notification looks like on the wire, and that nothing of its key is ever said."""

from __future__ import annotations

import json

import pytest
import requests
import responses

from api_client.webhook import EVENT, SIGNATURE, TIMESTAMP, Webhook, is_signed, signature
from site_engine.errors import NotDelivered

URL = "https://chat.example/hook"
HOOK = Webhook(URL, "a key")
EVENT_DATA = {"event": "verdict", "site": "a"}


def test_the_signature_is_the_hmac_of_time_stamp_and_body() -> None:
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac 'a key'
    made = signature("a key", 1700000000, b"{}")
    assert made == "v1=07dc3e9a31eeb7f4dbb95d041057648999d6f5861fe2adb855c3df36cc5ba727"
    assert is_signed("a key", 1700000000, b"{}", made)
    assert not is_signed("another key", 1700000000, b"{}", made)
    assert not is_signed("a key", 1700000001, b"{}", made)
    assert not is_signed("a key", 1700000000, b"{ }", made)


@responses.activate
def test_a_notification_is_sent_once_with_its_id_time_and_signature() -> None:
    responses.post(URL, status=204)
    HOOK.send("01EVENT", EVENT_DATA, 1700000000)
    (call,) = responses.calls
    assert isinstance(call, responses.Call)
    body = call.request.body
    assert isinstance(body, bytes)
    assert json.loads(body) == EVENT_DATA
    headers = call.request.headers
    assert (headers[EVENT], headers[TIMESTAMP]) == ("01EVENT", "1700000000")
    assert is_signed("a key", int(headers[TIMESTAMP]), body, headers[SIGNATURE])


@responses.activate
def test_a_redirection_is_not_followed() -> None:
    responses.post(URL, status=307, headers={"Location": "https://elsewhere.example/"})
    responses.post("https://elsewhere.example/", status=200)
    with pytest.raises(NotDelivered, match="answers 307, a redirection, which is not followed"):
        HOOK.send("01EVENT", EVENT_DATA, 0)
    assert len(responses.calls) == 1


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
@responses.activate
def test_an_answer_that_is_no_success_is_a_failure(status: int) -> None:
    responses.post(URL, status=status)
    with pytest.raises(NotDelivered, match=f"answers {status}"):
        HOOK.send("01EVENT", EVENT_DATA, 0)


@pytest.mark.parametrize(
    "error",
    [
        requests.ConnectionError("https://chat.example/hook?token=secret refused"),
        requests.Timeout("https://chat.example/hook?token=secret"),
        requests.exceptions.SSLError("https://chat.example/hook?token=secret"),
    ],
)
@responses.activate
def test_a_failure_says_neither_key_nor_url(error: Exception) -> None:
    responses.post(URL, body=error)
    with pytest.raises(NotDelivered) as caught:
        HOOK.send("01EVENT", EVENT_DATA, 0)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "a key" not in repr(HOOK)


@pytest.mark.parametrize(
    "url", ["", "chat.example", "ftp://chat.example", "file:///etc/passwd", "https://u:p@chat.example", "http://[x"]
)
def test_an_address_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValueError, match="has no URL that can be used"):
        Webhook(url, "a key")


def test_a_webhook_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="has no password"):
        Webhook(URL, "")
