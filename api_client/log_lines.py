"""Airflow's structured log messages as text: a line each, and below it its exception. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_EXCEPTIONS = 20
_MOST_FRAMES = 50


def log_line(raw: bytes) -> str:
    """Return a log message as text; an exception follows on lines of their own, each with two blanks at its beginning.

    What is not one of Airflow's messages is returned as it is.
    """
    text = raw.decode("utf-8", "replace")
    try:
        message = json.loads(text)
    except ValueError:
        return text
    if not isinstance(message, dict):
        return str(message)
    at, level = message.get("timestamp"), message.get("level")
    words = [f"[{at}]" if at else "", str(level).upper() if level else "", str(message.get("event", ""))]
    return "\n".join([" ".join(word for word in words if word), *_exceptions(message.get("error_detail"))])


def _exceptions(detail: Any) -> Iterator[str]:
    """Yield an exception with its frames, then what it came from, as `structlog` writes them."""
    exceptions = [one for one in detail if isinstance(one, Mapping)] if isinstance(detail, list) else []
    for place, exception in enumerate(exceptions[:_MOST_EXCEPTIONS]):
        before = "" if place == 0 else "caused by " if exception.get("is_cause") else "while handling "
        value = str(exception.get("exc_value") or "").replace("\n", "\n    ")
        name = str(exception.get("exc_type") or "exception")
        yield f"  {before}{name}: {value}" if value else f"  {before}{name}"
        frames = exception.get("frames")
        for frame in frames[-_MOST_FRAMES:] if isinstance(frames, list) else ():
            if isinstance(frame, Mapping):
                yield f"    {frame.get('filename')}:{frame.get('lineno')} in {frame.get('name')}"
