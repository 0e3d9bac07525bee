"""What a refusal says: Drydock answers errors in four different shapes, and proxies in more. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

LONGEST: Final = 500


class ErrorShape(StrEnum):
    """Who wrote the answer, as far as its shape tells."""

    DRYDOCK = "drydock"  # {"type": "error", "message": …, "retry": false}
    FALCON = "falcon"  # {"title": "500 Internal Server Error", "description"?: …}
    STATUS = "status"  # validatedesign's {"kind": "Status", "status", "message", "details", "code"}
    TEXT = "text"  # plain text, an HTML page, nothing at all


@dataclass(frozen=True, slots=True)
class ErrorText:
    """The message of an error answer, short and on one line, and the code that stands in the body (or None)."""

    shape: ErrorShape
    message: str
    code: int | None = None


def read_error(body: bytes) -> ErrorText:
    """Understand the body of an error answer, whatever its shape.

    Parameters
    ----------
    body : bytes
        As it came. The content type is not consulted: Drydock's is not reliable.
    """
    text = body.decode("utf-8", errors="replace").strip()
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        if data.get("type") == "error" and "message" in data:
            return ErrorText(ErrorShape.DRYDOCK, one_line(data["message"]))
        if isinstance(data.get("details"), dict) or data.get("kind") == "Status":
            return ErrorText(ErrorShape.STATUS, _status_message(data), _code(data.get("code")))
        if "title" in data:
            parts = [str(data[key]) for key in ("title", "description") if data.get(key)]
            return ErrorText(ErrorShape.FALCON, one_line(": ".join(parts)), _code(data.get("code")))
        if "message" in data:
            return ErrorText(ErrorShape.DRYDOCK, one_line(data["message"]), _code(data.get("code")))
        # Keystone (and other OpenStack services): {"error": {"code", "message", "title"}}
        inner = data.get("error")
        if isinstance(inner, dict) and "message" in inner:
            return ErrorText(ErrorShape.TEXT, one_line(inner["message"]), _code(inner.get("code")))
    if re.match(r"<(!doctype|html)", text, flags=re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, flags=re.IGNORECASE | re.DOTALL)
        return ErrorText(ErrorShape.TEXT, f"an HTML page: {one_line(title.group(1))}" if title else "an HTML page")
    return ErrorText(ErrorShape.TEXT, one_line(text) or "no message")


def one_line(value: object) -> str:
    """Text of a stranger made fit for a log line: no control characters, no line breaks, not endless."""
    text = " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _status_message(data: dict[str, Any]) -> str:
    parts = [str(data[key]) for key in ("message", "reason") if data.get(key)]
    details = data.get("details")
    listed = details.get("messageList") if isinstance(details, dict) else None
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict) and item.get("error") and item.get("message"):
            parts.append(str(item["message"]))
    return one_line("; ".join(dict.fromkeys(parts))) or "no message"


def _code(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return None
