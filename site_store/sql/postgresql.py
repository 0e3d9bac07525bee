"""What PostgreSQL has for statements of any size, and column types: names as one array, rows as one JSON text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    DateTime,
    Select,
    Subquery,
    Table,
    Text,
    bindparam,
    column,
    func,
    literal,
    select,
    text,
)
from sqlalchemy import cast as cast_to
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert
from sqlalchemy.types import TypeEngine

__all__ = ["insert"]

_TEXTS: TypeEngine[Any] = ARRAY(Text())
_CLOCK: ContextVar[Callable[[], datetime] | None] = ContextVar("_CLOCK", default=None)


def one_at_a_time(tx: Connection, what: str) -> None:
    """Wait until nobody else is at the same thing, and keep it so until the transaction ends.

    It is a lock on a number made from the words, for what may not have a row yet.
    """
    tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"slipway: {what}", 0))))


def is_pooled(connection: Any) -> bool:
    """Whether a pooler stands before the server of a driver's connection: it gives its clients numbers of its own."""
    (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    return bool(connection.info.backend_pid != pid)


def database_time(tx: Connection) -> datetime:
    """Return the time of the database's machine: what several machines compare is measured by this clock alone."""
    found: datetime = tx.execute(select(clock())).scalar_one()
    return found.astimezone(UTC)


def clock() -> ColumnElement[Any]:
    """Return a column with the time of the database's machine, for a statement that reads more than that.

    While a clock of tests is set (`given_clock`), it is that clock's, whenever the statement was made.
    """
    return func.coalesce(_GIVEN, func.clock_timestamp())


@contextmanager
def given_clock(now: Callable[[], datetime] | None) -> Iterator[None]:
    """Have this clock in place of the database's, in this thread; None: the database's."""
    before = _CLOCK.set(now)
    try:
        yield
    finally:
        _CLOCK.reset(before)


def _given_now() -> datetime | None:
    now = _CLOCK.get()
    return None if now is None else now()


_GIVEN = bindparam("given_now", callable_=_given_now, type_=DateTime(timezone=True))


def known_rows(tx: Connection, tables: Sequence[Table]) -> int:
    """Return how many rows the database believes to be in the least known of these tables."""
    sizes = text("SELECT min(reltuples) FROM pg_class WHERE oid = ANY(CAST(:tables AS regclass[]))")
    return int(tx.scalar(sizes, {"tables": [f'"{table.name}"' for table in tables]}) or 0)


def analyse(tx: Connection, tables: Iterable[Table]) -> None:
    """Have the database look at tables: how much there is in them, and how it is spread."""
    for table in tables:
        tx.execute(text(f'ANALYZE "{table.name}"'))


@contextmanager
def whole_joins(tx: Connection) -> Iterator[None]:
    """Have tables joined as wholes, and not row by row.

    PostgreSQL knows nothing yet of the rows that a large action has just brought, expects one, and would then go
    through all of them for each: half a minute for 9,000 where a tenth of a second will do.
    """
    tx.execute(text("SET LOCAL enable_nestloop = off"))
    yield
    # After an error there is no transaction left to set anything in.
    tx.execute(text("SET LOCAL enable_nestloop = on"))


def json_rows(query: Select[Any]) -> ColumnElement[str]:
    """Return a column with the rows of a correlated query as one JSON list of lists, in no order; NULL for no row."""
    made = func.json_agg(func.json_build_array(*query.selected_columns)).cast(Text)
    return query.with_only_columns(made).scalar_subquery()


def nested_rows(query: Select[Any]) -> ColumnElement[Any]:
    """Return the same as a column within the rows of `json_rows`: a list, and not a text to be read once more."""
    made = func.json_agg(func.json_build_array(*query.selected_columns))
    return query.with_only_columns(made).scalar_subquery()


def json_columns(query: Select[Any]) -> ColumnElement[Any]:
    """Return the rows of a correlated query as one JSON list with a list for each column, all in one order.

    Of many rows that is made, and read, several times as fast as `json_rows`: there is no list for each. A column of
    no row is NULL. Within the rows of another list it is a list too, and not a text to be read once more.
    """
    listed = func.json_build_array(*(func.json_agg(column) for column in query.selected_columns))
    return query.with_only_columns(listed).scalar_subquery()


def names(values: Iterable[str]) -> Select[str]:
    """Return a SELECT of these names, for `INSERT … SELECT`; as a condition see `among`.

    They travel as one parameter, an array: 100,000 of them are one statement, below every limit on parameters, and the
    planner sees how long it is.
    """
    return _rows(literal(list(values), _TEXTS))


def names_parameter(key: str) -> Select[str]:
    """Return the same SELECT for a list of names that is given later under `key`."""
    return _rows(bindparam(key, type_=_TEXTS))


def names_table(key: str) -> Subquery:
    """Return a table with the column `value` of the names in a list that is given later under `key`."""
    return names_parameter(key).subquery()


def by_code_point(column: ColumnElement[str]) -> ColumnElement[str]:
    """Return a column that is compared and sorted as Python does, whatever the language of the database."""
    return column.collate("C")


def among(column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a column is one of these names, by a lookup for each name whatever their number."""
    return column == func.any(literal(list(values), _TEXTS))


def among_parameter(column: ColumnElement[str], key: str) -> ColumnElement[bool]:
    """Return the same condition for a list of names that is given later under `key`."""
    return column == func.any(bindparam(key, type_=_TEXTS))


def pairs(values: Mapping[str, str | None]) -> Any:
    """Return a FROM element with the text columns `key` and `value`, one row for each pair."""
    return text_rows(("key", "value"), list(values.items()))


def pairs_parameters(key: str) -> Any:
    """Return a FROM element as `pairs` does, for pairs given later under `key`, as `pairs_values` makes them."""
    both = (bindparam(f"{key}_{part}", type_=_TEXTS) for part in ("keys", "values"))
    return func.unnest(*both).table_valued("key", "value").render_derived()


def pairs_values(key: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of `pairs_parameters`."""
    return {f"{key}_keys": list(values.keys()), f"{key}_values": list(values.values())}


def pairs_of(values: Mapping[str, tuple[str, str | None]]) -> Any:
    """Return a FROM element with the text columns `key`, `first` and `second`, one row for each key."""
    return text_rows(("key", "first", "second"), [(key, *both) for key, both in values.items()])


def text_rows(columns: Sequence[str], rows: Collection[Sequence[str | None]]) -> Any:
    """Return a FROM element with these text columns: many rows are inserted by one statement.

    Each row of a statement with many parameter sets would be a round of its own.
    """
    arrays = [literal([row[place] for row in rows], _TEXTS) for place in range(len(columns))]
    return func.unnest(*arrays).table_valued(*columns).render_derived()


def insert_rows(table: Table, columns: Iterable[str]) -> Insert:
    """Return an INSERT of the rows that are given later as `rows`: one statement, and one parameter, JSON.

    A value that stands in the statement itself is kept as long as SQLAlchemy keeps the statement. What a column of JSON
    is to have is given as text: PostgreSQL reads all texts of the parameter, and would refuse a NUL in one.
    """
    wanted = [table.c[name] for name in columns]
    given = func.json_to_recordset(bindparam("rows", type_=JSON)).table_valued(
        *(column(one.name, Text() if isinstance(one.type, JSON) else one.type) for one in wanted)
    )
    found = given.render_derived(with_types=True).c
    return insert(table).from_select(wanted, select(*(cast_to(found[one.name], one.type) for one in wanted)))


def moments_parameters(key: str) -> tuple[Any, ColumnElement[Any]]:
    """Return such a FROM element whose values are moments, and the moment as it is stored.

    They are given later, as `moments_values` makes them.
    """
    given = pairs_parameters(key)
    return given, func.timezone("UTC", cast_to(given.c.value, DateTime()))


def moments_values(key: str, values: Mapping[str, datetime]) -> dict[str, Any]:
    """Return the parameters of `moments_parameters`."""
    said = {name: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}" for name, moment in values.items()}
    return pairs_values(key, said)


def _rows(array: ColumnElement[Any]) -> Select[str]:
    return select(func.unnest(array).table_valued("value").render_derived().c.value)
