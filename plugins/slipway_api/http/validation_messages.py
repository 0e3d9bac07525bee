"""What the patterns of parameters allow, in words: a refusal that shows a regular expression helps nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slipway_api.http.site_name import LONGEST_NAME, NAME_PATTERN

_WORDS = {
    NAME_PATTERN: f"a name: up to {LONGEST_NAME} letters, digits, _ . and -, beginning with a letter or digit",
    "^[0-9A-Za-z]{26}$": "the id of an action: 26 letters and digits",
}


def words_of(pattern: str) -> str | None:
    """Return what a pattern allows, None where nobody has put it into words."""
    return _WORDS.get(pattern)


def in_words(item: Mapping[str, Any]) -> str:
    """Return what is wrong, of one of pydantic's errors."""
    pattern = (item.get("ctx") or {}).get("pattern")
    words = words_of(pattern) if isinstance(pattern, str) else None
    return f"must be {words}" if words else str(item["msg"])
