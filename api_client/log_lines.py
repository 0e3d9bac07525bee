"""Airflow's structured log messages as text: a line each, and below it its exception. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_EXCEPTIONS = 20
_MOST_FRAMES = 50
_DEEPEST = 5
"""Levels of groups of exceptions."""
_PLACE = frozenset(
    {"timestamp", "level", "event", "error_detail", "logger", "loc", "filename", "lineno", "func_name"}
    | {"dag_id", "run_id", "task_id", "map_index", "try_number", "ti_id"}
)
"""Fields that say where a message is from, or that are shown in another way."""
_TROUBLE = frozenset({"warning", "error", "critical"})


def log_line(raw: bytes) -> str:
    """Return a log message as text; an exception follows on lines of their own, each with two blanks at its beginning.

    Warnings and errors have their other fields behind them. What is not one of Airflow's messages is returned as it is.
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
    if level in _TROUBLE:
        words += _fields(message)
    return "\n".join([" ".join(word for word in words if word), *_exceptions(message.get("error_detail"))])


def _fields(message: Mapping[str, Any]) -> Iterator[str]:
    for name, value in message.items():
        if name not in _PLACE and value not in (None, "", [], {}):
            yield f"{name}={value if isinstance(value, str | int | float) else json.dumps(value, default=str)}"


def _exceptions(detail: Any, indent: str = "  ", depth: int = 0) -> Iterator[str]:
    """Yield an exception with its frames, then what it came from, as `structlog` writes them."""
    exceptions = [one for one in detail if isinstance(one, Mapping)] if isinstance(detail, list) else []
    for place, exception in enumerate(exceptions[:_MOST_EXCEPTIONS]):
        before = "" if place == 0 else "caused by " if exception.get("is_cause") else "while handling "
        value = str(exception.get("exc_value") or "").replace("\n", f"\n{indent}  ")
        name = str(exception.get("exc_type") or "exception")
        yield f"{indent}{before}{name}: {value}" if value else f"{indent}{before}{name}"
        notes = exception.get("exc_notes")
        for note in notes if isinstance(notes, list) else ():
            yield f"{indent}  {str(note).replace(chr(10), f'{chr(10)}{indent}  ')}"
        frames = exception.get("frames")
        for frame in frames[-_MOST_FRAMES:] if isinstance(frames, list) else ():
            if isinstance(frame, Mapping):
                yield f"{indent}  {frame.get('filename')}:{frame.get('lineno')} in {frame.get('name')}"
        group = exception.get("exceptions")
        for stacks in group[:_MOST_EXCEPTIONS] if isinstance(group, list) and depth < _DEEPEST else ():
            yield from _exceptions(stacks, f"{indent}  ", depth + 1)
