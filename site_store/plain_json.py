"""Makes what YAML can hold into what JSON can hold, so that every document can be stored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import date, datetime, time
from typing import Any


def plain(value: Any) -> Any:
    """Return `value` with dates as ISO text, sets as sorted lists, keys as text, and NaN and infinity as text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    return str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    made = plain(key)
    return "null" if made is None else str(made).lower() if isinstance(made, bool) else str(made)
