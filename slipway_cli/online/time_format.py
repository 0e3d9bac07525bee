"""Moments as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str | None) -> str:
    """An ISO 8601 time to the second, in UTC: `2026-03-01 12:00:00`; what is none is left as it is."""
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return text or ""
    return f"{at.astimezone(UTC) if at.tzinfo else at:%Y-%m-%d %H:%M:%S}"


def span(begin: str | None, end: str | None) -> str:
    """How long something took: `4.7 s`, `3 min 20 s`, `2 h 5 min`; nothing where that is not known."""
    try:
        seconds = (datetime.fromisoformat(end or "") - datetime.fromisoformat(begin or "")).total_seconds()
    except (ValueError, TypeError):
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
