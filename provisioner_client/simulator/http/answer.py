"""One HTTP answer before any fault distorts it, whichever API gives it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from http import HTTPStatus

JSON = "application/json"
TEXT = "text/plain"
HTML = "text/html"


@dataclass(frozen=True, slots=True)
class Answer:
    """`delay` is in real seconds, `effect` is for the journal."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    effect: str = "read"
    reference: str | None = None
    delay: float = 0.0

    def with_headers(self, *headers: tuple[str, str]) -> Answer:
        return replace(self, headers=self.headers + headers)


def json_answer(payload: object, status: int = 200, *, effect: str = "read", reference: str | None = None) -> Answer:
    return Answer(status, json.dumps(payload).encode(), JSON, effect=effect, reference=reference)


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
