"""What the tables can hold: which names, and YAML's values made into JSON's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime, time
from typing import Any

from site_store.sql.errors import ValueRefused

#: Bytes (UTF-8) of the longest name of a collection, a group or a node. They are indexed, two of them together at
#: most, and PostgreSQL indexes 2,700 bytes in all. No other text has a bound.
LONGEST_NAME = 1000


def require_text(what: str, text: str) -> None:
    """Make sure that every database can hold a text. Raises `ValueRefused`: it has a character that is none."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise ValueRefused(f"{what} {text!r} cannot be stored: it holds NUL, or half a character; change it")


def require_names(what: str, names: Iterable[str]) -> None:
    """Make sure that these names can be stored and indexed. Raises `ValueRefused`: one of them cannot."""
    for name in names:
        require_text(what, name)
        size = len(name.encode())
        if size > LONGEST_NAME:
            raise ValueRefused(
                f"{what} {name[:40]!r}… has a name of {size} bytes, more than the {LONGEST_NAME} that can be stored: "
                "give it a shorter one"
            )


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
