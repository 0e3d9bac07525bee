"""Rows and values: what a column can hold, a dataclass filled from columns of its fields' names, JSON in a column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from datetime import UTC, date, datetime, time
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from site_store.sql.errors import ValueRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Table

T = TypeVar("T")


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


# Several times as fast as the standard library's: a view has thousands of values.
_decode = msgspec.json.Decoder().decode


def moment(value: Any) -> datetime:
    """Return a time as the database writes it into JSON, or gives it."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found.astimezone(UTC)


def moment_or_none(value: Any) -> datetime | None:
    """Return such a time, None where there is none."""
    return None if value is None else moment(value)


def json_value(value: Any) -> Any:
    """Return JSON that may still be text."""
    return _decode(value) if isinstance(value, str) else value


def json_list(value: Any) -> list[Any]:
    """Return the rows of a column of `json_rows`."""
    return json_value(value) or []


def json_zip(value: Any) -> Iterable[Sequence[Any]]:
    """Return the rows of a column of `json_columns`."""
    columns = json_value(value)
    return zip(*columns, strict=True) if columns and columns[0] else ()


def filled(kind: Callable[..., T], row: Any, **others: Any) -> T:
    """Return a row as a value of this dataclass: each of its fields is the column of its name.

    Parameters
    ----------
    others : fields that no column of the row is like.
    """
    names, values = _columns(kind, tuple(others))
    return kind(**dict(zip(names, values(row), strict=True)), **others)


def columns_of(
    kind: Any, table: Table, renamed: Mapping[str, str] | None = None, *, after: int = 0
) -> list[ColumnElement[Any]]:
    """Return the columns of a table that the fields of a dataclass are, in their order, for `listed`.

    Parameters
    ----------
    renamed : the columns of fields of other names.
    after : so many of the first fields are left out.
    """
    names = [field.name for field in fields(kind)][after:]
    return [table.c[(renamed or {}).get(name, name)] for name in names]


def listed(kind: Callable[..., T], item: Sequence[Any], *before: Any) -> T:
    """Return a row that came as a list in JSON as a value of this dataclass; times and lists are read as its fields'.

    Parameters
    ----------
    before : the first fields, which are not in the list. Fields behind its end have their defaults.
    """
    read = _readers(kind)[len(before) :]
    return kind(*before, *(value if how is None else how(value) for how, value in zip(read, item, strict=False)))


@cache
def _readers(kind: Any) -> list[Callable[[Any], Any] | None]:
    known: dict[str, Callable[[Any], Any]] = {"datetime": moment, "datetime | None": moment_or_none, "float": float}
    return [_tuple_of if str(one.type).startswith("tuple") else known.get(str(one.type)) for one in fields(kind)]


def _tuple_of(value: Any) -> tuple[Any, ...]:
    return tuple(json_value(value) or ())


@cache
def _columns(kind: Any, others: tuple[str, ...]) -> tuple[list[str], Callable[[Any], tuple[Any, ...]]]:
    names = [field.name for field in fields(kind) if field.name not in others]
    return names, attrgetter(*names)
