"""The few things that SQLite and PostgreSQL spell differently, and column types that mean the same on both."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Integer,
    LargeBinary,
    Select,
    Subquery,
    Table,
    Text,
    bindparam,
    func,
    literal,
    select,
    text,
)
from sqlalchemy import cast as cast_to
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator, TypeEngine

_TEXTS: TypeEngine[Any] = postgresql.ARRAY(Text())


def insert(tx: Connection, table: Table) -> postgresql.Insert:
    """Return the dialect's own INSERT, which knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return insert_into(tx.dialect.name, table)


def insert_into(dialect: str, table: Table) -> postgresql.Insert:
    """Return the same for the dialect of this name, for a statement that is kept."""
    if dialect == "sqlite":
        return cast(postgresql.Insert, sqlite.insert(table))  # the same methods, under another name
    return postgresql.insert(table)


def one_at_a_time(tx: Connection, what: str) -> None:
    """Wait until nobody else is at the same thing, and keep it so until the transaction ends.

    SQLite has one writer at a time in any case. In PostgreSQL it is a lock on a number made from the words, for what
    may not have a row yet.
    """
    if tx.dialect.name != "sqlite":
        tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"slipway: {what}", 0))))


def database_time(tx: Connection) -> datetime:
    """Return the time of the database's machine: what several machines compare is measured by this clock alone."""
    if tx.dialect.name == "sqlite":
        text_of_now = tx.scalar(select(func.strftime("%Y-%m-%d %H:%M:%f", "now")))
        return datetime.fromisoformat(str(text_of_now)).replace(tzinfo=UTC)
    found: datetime = tx.execute(select(func.clock_timestamp())).scalar_one()
    return found.astimezone(UTC)


def clock(dialect: str) -> ColumnElement[Any]:
    """Return a column with the time of the database's machine, for a statement that reads more than that."""
    if dialect == "sqlite":
        return func.strftime("%Y-%m-%d %H:%M:%f000", "now")
    return func.clock_timestamp()


def known_rows(tx: Connection, tables: Sequence[Table]) -> int:
    """Return how many rows the database believes to be in the least known of these tables."""
    if tx.dialect.name != "sqlite":
        sizes = text("SELECT min(reltuples) FROM pg_class WHERE oid = ANY(CAST(:tables AS regclass[]))")
        return int(tx.scalar(sizes, {"tables": [f'"{table.name}"' for table in tables]}) or 0)
    if not tx.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")):
        return 0
    # It begins with the number of rows.
    known = text("SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = :table")
    return min(tx.scalar(known, {"table": table.name}) or 0 for table in tables)


def analyse(tx: Connection, tables: Iterable[Table]) -> None:
    """Have the database look at tables: how much there is in them, and how it is spread."""
    if tx.dialect.name == "sqlite":
        # So many rows of each index are enough.
        tx.execute(text("PRAGMA analysis_limit = 1000"))
    for table in tables:
        tx.execute(text(f'ANALYZE "{table.name}"'))


@contextmanager
def whole_joins(tx: Connection) -> Iterator[None]:
    """Have tables joined as wholes, and not row by row.

    PostgreSQL knows nothing yet of the rows that a large action has just brought, expects one, and would then go
    through all of them for each: half a minute for 9,000 where a tenth of a second will do.
    """
    if tx.dialect.name != "postgresql":
        yield
        return
    tx.execute(text("SET LOCAL enable_nestloop = off"))
    yield
    # After an error there is no transaction left to set anything in.
    tx.execute(text("SET LOCAL enable_nestloop = on"))


def json_rows(dialect: str, query: Select[Any]) -> ColumnElement[str]:
    """Return a column with the rows of a correlated query as one JSON list of lists, in no order; NULL for no row."""
    columns = query.selected_columns
    made: ColumnElement[str] = func.json_group_array(func.json_array(*columns))
    if dialect != "sqlite":
        made = func.json_agg(func.json_build_array(*columns)).cast(Text)
    return query.with_only_columns(made).scalar_subquery()


def nested_rows(dialect: str, query: Select[Any]) -> ColumnElement[Any]:
    """Return the same as a column within the rows of `json_rows`: a list, and not a text to be read once more."""
    columns = query.selected_columns
    if dialect == "sqlite":
        rows = func.json_group_array(func.json_array(*columns))
        return func.json(query.with_only_columns(rows).scalar_subquery())
    return query.with_only_columns(func.json_agg(func.json_build_array(*columns))).scalar_subquery()


def json_columns(dialect: str, query: Select[Any]) -> ColumnElement[Any]:
    """Return the rows of a correlated query as one JSON list with a list for each column, all in one order.

    Of many rows that is made, and read, several times as fast as `json_rows`: there is no list for each. A column of
    no row is NULL, or empty. Within the rows of another list it is a list too, and not a text to be read once more.
    """
    columns = query.selected_columns
    if dialect == "sqlite":
        listed = func.json_array(*(func.json_group_array(column) for column in columns))
        return func.json(query.with_only_columns(listed).scalar_subquery())
    listed = func.json_build_array(*(func.json_agg(column) for column in columns))
    return query.with_only_columns(listed).scalar_subquery()


def nested_json(dialect: str, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column that holds JSON for the same purpose; SQLite keeps it as text."""
    return func.json(column) if dialect == "sqlite" else column


def nested_values(dialect: str, column: ColumnElement[str]) -> ColumnElement[Any]:
    """Return an aggregate, for `nested_json`: the values of a column as one JSON list, in no order."""
    return func.json_group_array(column) if dialect == "sqlite" else func.json_agg(column)


def json_values(dialect: str, column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return an aggregate: the values of a column as one JSON list, in no order."""
    if dialect == "sqlite":
        return func.json_group_array(column)
    return func.json_agg(column).cast(Text)


def names(tx: Connection, values: Iterable[str]) -> Select[str]:
    """Return a SELECT of these names, for `INSERT … SELECT`; as a condition see `among`.

    They travel as one parameter, so that 100,000 of them are one statement, below every limit on parameters:
    an array in PostgreSQL, whose planner sees how long it is, and JSON in SQLite.
    """
    return _rows(tx.dialect.name, literal(names_value(tx, values), _array_type(tx)))


def by_code_point(tx: Connection, column: ColumnElement[str]) -> ColumnElement[str]:
    """Return a column that is compared and sorted as Python and SQLite do, whatever the language of the database."""
    return column if tx.dialect.name == "sqlite" else column.collate("C")


def among(tx: Connection, column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a column is one of these names, by a lookup for each name whatever their number."""
    if tx.dialect.name == "sqlite":
        return column.in_(names(tx, values))
    return column == func.any(literal(list(values), _array_type(tx)))


def among_parameter(dialect: str, column: ColumnElement[str], key: str) -> ColumnElement[bool]:
    """Return the same condition for names that are given later under `key`, as `names_value` makes them."""
    if dialect == "sqlite":
        return column.in_(_rows(dialect, bindparam(key, type_=Text())))
    return column == func.any(bindparam(key, type_=_TEXTS))


def pairs_parameters(dialect: str, key: str) -> Any:
    """Return a FROM element as `pairs` does, for pairs given later under `key`, as `pairs_values` makes them."""
    if dialect == "sqlite":
        return func.json_each(bindparam(key, type_=Text())).table_valued("key", "value")
    both = (bindparam(f"{key}_{part}", type_=_TEXTS) for part in ("keys", "values"))
    return func.unnest(*both).table_valued("key", "value").render_derived()


def pairs_values(dialect: str, key: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of `pairs_parameters`."""
    if dialect == "sqlite":
        return {key: json.dumps(dict(values))}
    return {f"{key}_keys": list(values.keys()), f"{key}_values": list(values.values())}


def names_table(dialect: str, key: str) -> Subquery:
    """Return a table with the column `value` of the names in a parameter `key`, as `names_value` makes it."""
    kind: TypeEngine[Any] = Text() if dialect == "sqlite" else postgresql.ARRAY(Text())
    parameter: BindParameter[Any] = bindparam(key, type_=kind)
    if dialect == "sqlite":
        return select(func.json_each(parameter).table_valued("value").c.value).subquery()
    return select(func.unnest(parameter).table_valued("value").render_derived().c.value).subquery()


def names_parameter(tx: Connection, key: str) -> Select[str]:
    """Return the same SELECT for a parameter given later under `key`, as `names_value` makes it."""
    return _rows(tx.dialect.name, bindparam(key, type_=_array_type(tx)))


def names_value(tx: Connection, values: Iterable[str]) -> Any:
    """Return names in the form in which they travel."""
    return json.dumps(list(values)) if tx.dialect.name == "sqlite" else list(values)


def pairs(tx: Connection, values: Mapping[str, str]) -> Any:
    """Return a FROM element with the text columns `key` and `value`, one row for each pair."""
    if tx.dialect.name == "sqlite":
        return func.json_each(literal(json.dumps(dict(values)), Text())).table_valued("key", "value")
    keys, texts = (literal(list(column), _array_type(tx)) for column in (values.keys(), values.values()))
    return func.unnest(keys, texts).table_valued("key", "value").render_derived()


def pair_rows(tx: Connection, rows: Collection[tuple[str, str]]) -> Any:
    """Return such a FROM element for pairs whose keys may repeat."""
    if tx.dialect.name == "sqlite":
        given = func.json_each(literal(json.dumps(list(rows)), Text())).table_valued("value")
        first, second = (func.json_extract(given.c.value, f"$[{place}]") for place in (0, 1))
        return select(first.label("key"), second.label("value")).subquery()
    keys, texts = (literal([row[place] for row in rows], _array_type(tx)) for place in (0, 1))
    return func.unnest(keys, texts).table_valued("key", "value").render_derived()


def text_rows(columns: Sequence[str], rows: Collection[Sequence[str | None]]) -> Any:
    """Return a FROM element with these text columns, in PostgreSQL alone: many rows are inserted by one statement.

    There each row of a statement with many parameter sets is a round of its own; SQLite is fastest with those.
    """
    arrays = [literal([row[place] for row in rows], postgresql.ARRAY(Text())) for place in range(len(columns))]
    return func.unnest(*arrays).table_valued(*columns).render_derived()


def pairs_of(tx: Connection, values: Mapping[str, tuple[str, str | None]]) -> Any:
    """Return a FROM element with the text columns `key`, `first` and `second`, one row for each key."""
    if tx.dialect.name != "sqlite":
        return text_rows(("key", "first", "second"), [(key, *both) for key, both in values.items()])
    given = func.json_each(literal(json.dumps(dict(values)), Text())).table_valued("key", "value")
    first, second = (func.json_extract(given.c.value, f"$[{place}]") for place in (0, 1))
    return select(given.c.key, first.label("first"), second.label("second")).subquery()


def moments_parameters(dialect: str, key: str) -> tuple[Any, ColumnElement[Any]]:
    """Return such a FROM element whose values are moments, and the moment as both databases store it.

    They are given later, as `moments_values` makes them.
    """
    given = pairs_parameters(dialect, key)
    if dialect == "sqlite":
        return given, given.c.value
    return given, func.timezone("UTC", cast_to(given.c.value, DateTime()))


def moments_values(dialect: str, key: str, values: Mapping[str, datetime]) -> dict[str, Any]:
    """Return the parameters of `moments_parameters`."""
    said = {name: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}" for name, moment in values.items()}
    return pairs_values(dialect, key, said)


def _array_type(tx: Connection) -> TypeEngine[Any]:
    return Text() if tx.dialect.name == "sqlite" else _TEXTS


def _rows(dialect: str, parameter: BindParameter[Any]) -> Select[str]:
    if dialect == "sqlite":
        return select(func.json_each(parameter).table_valued("value").c.value)
    return select(func.unnest(parameter).table_valued("value").render_derived().c.value)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in time: always aware and in UTC on the way out; a naive one is refused on the way in."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn an aware moment into UTC; SQLite keeps no zone, so it is left out there."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored: use an aware datetime")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CompressedText(TypeDecorator[str]):
    """A long text, kept compressed: designs repeat themselves so much that little of them is left."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Compress it, quickly rather than well."""
        return None if value is None else zlib.compress(value.encode(), 1)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Give the text back."""
        return None if value is None else zlib.decompress(value).decode()


#: JSON, where Python's None is SQL's NULL.
Json = JSON(none_as_null=True)

#: A number from a sequence that only grows. SQLite has this for the type INTEGER alone.
Serial: TypeEngine[Any] = BigInteger().with_variant(Integer(), "sqlite")
