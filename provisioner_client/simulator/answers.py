"""HTTP answers as Drydock words them, its four shapes of an error among them. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from http import HTTPStatus

JSON = "application/json"
TEXT = "text/plain"
HTML = "text/html"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer before any fault distorts it; `delay` is in real seconds, `effect` is for the journal."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    effect: str = "read"
    reference: str | None = None
    delay: float = 0.0

    def with_headers(self, *headers: tuple[str, str]) -> Answer:
        """Return the same answer with more headers."""
        return replace(self, headers=self.headers + headers)


def json_answer(payload: object, status: int = 200, *, effect: str = "read", reference: str | None = None) -> Answer:
    """Return an answer in JSON."""
    return Answer(status, json.dumps(payload).encode(), JSON, effect=effect, reference=reference)


def api_error(status: int, message: str, effect: str = "refused") -> Answer:
    """Shape a: Drydock's own error."""
    return json_answer({"type": "error", "message": message, "retry": False}, status, effect=effect)


def framework_error(status: int, effect: str = "refused") -> Answer:
    """Shape b: falcon's error."""
    return json_answer({"title": f"{status} {phrase(status)}"}, status, effect=effect)


def keystone_error() -> Answer:
    """Return the 401 of Keystone's middleware, which stands before Drydock."""
    told = {"message": "The request you have made requires authentication.", "code": 401, "title": "Unauthorized"}
    answer = json_answer({"error": told}, 401, effect="refused")
    return answer.with_headers(("WWW-Authenticate", 'Keystone uri="http://keystone.invalid"'))


def text_error(status: int, text: str = "Unexpected error.", effect: str = "refused") -> Answer:
    """Shape c: plain text, or nothing at all."""
    return Answer(status, text.encode(), TEXT if text else None, effect=effect)


def status_error(status: int, message: str, effect: str = "refused") -> Answer:
    """Shape d: a Status object with a code, as from validatedesign."""
    return json_answer(status_object("Failure", status, message, [simple_message(message)]), status, effect=effect)


def status_object(
    status: str, code: int, message: str, messages: list[dict[str, object]], reason: str = "Validation"
) -> dict[str, object]:
    """Return Drydock's Status object; errors among the messages are counted."""
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": status,
        "message": message,
        "reason": reason,
        "details": {"errorCount": sum(bool(one["error"]) for one in messages), "messageList": messages},
        "code": code,
    }


def simple_message(message: str) -> dict[str, object]:
    """Return a message of a Status object that tells of an error."""
    return {"message": message, "error": True, "kind": "SimpleMessage"}


def phrase(status: int) -> str:
    """Return the usual words for an HTTP status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
