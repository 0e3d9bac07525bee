"""How long something took, as people say it."""

from __future__ import annotations


def duration_words(seconds: float | None) -> str:
    """Return seconds as people say them: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`; "" where they are not known."""
    if seconds is None:
        return ""
    # Rounded before it is compared: 59.6 s are a minute, not 60 s.
    tenths = round(seconds, 1)
    if tenths < 10:
        return f"{tenths:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"
