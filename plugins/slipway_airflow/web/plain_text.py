"""Answers that are text for people, such as logs."""

from __future__ import annotations

from typing import Any

from fastapi.responses import PlainTextResponse


class PlainText(PlainTextResponse):
    """Text that Airship's client prints as it is.

    With `--output-format=format` that client reads as YAML whatever does not have "json" in its type, and a log ends it
    with a traceback. Shipyard itself calls a log JSON: the client fails to read that, and prints it.
    """

    media_type = "text/plain; charset=utf-8; profile=not-json"


def text_shown(example: str) -> dict[int | str, dict[str, Any]]:
    """Return a route's ``responses``, when it answers text."""
    return {200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": example}}}}
