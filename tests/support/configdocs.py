"""Requests about configdocs, as clients send them."""

from __future__ import annotations

from typing import Any

import httpx

API = "/api/v1.0"
YAML = {"Content-Type": "application/x-yaml"}


def put(
    client: httpx.Client, text: str | bytes, collection: str = "site", *, tag: str = "", **query: str
) -> httpx.Response:
    """Put a collection into the buffer."""
    headers = YAML | ({"If-Match": tag} if tag else {})
    content = text.encode() if isinstance(text, str) else text
    names = {name.replace("_", "-"): value for name, value in query.items()}
    return client.post(f"{API}/configdocs/{collection}", content=content, params=names, headers=headers)


def commit(client: httpx.Client, *, tag: str = "", **query: str) -> httpx.Response:
    """Commit the buffer, with an empty body."""
    return client.post(f"{API}/commitconfigdocs", params=query, headers={"If-Match": tag} if tag else {})


def committed(client: httpx.Client, text: str, collection: str = "site", **query: str) -> int:
    """Put a collection into an empty buffer and commit it; return the revision's number."""
    answer = put(client, text, collection, **query)
    assert answer.status_code == 201, answer.text
    answer = commit(client, **query)
    assert answer.status_code == 200, answer.text
    number: int = answer.json()["revision"]
    return number


def said(answer: httpx.Response, level: str = "Error") -> list[str]:
    """Return the messages of a level in an answer."""
    found: list[dict[str, Any]] = answer.json()["details"]["messageList"]
    return [message["message"] for message in found if message["level"] == level]


def assert_failure(answer: httpx.Response, code: int) -> None:
    """Check that an answer is an error of this status, in Shipyard's shape."""
    assert answer.status_code == code, answer.text
    body = answer.json()
    assert body["status"] == "Failure"
    assert body["code"].startswith(f"{code} ")
    assert body["message"]
    assert body["retry"] in (True, False)
    messages = body["details"]["messageList"]
    assert messages
    assert body["details"]["errorCount"] == sum(message["error"] for message in messages) > 0
