"""Rows as values: a dataclass filled from the columns of its fields' names, and the JSON that stands in one column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Table

T = TypeVar("T")

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
