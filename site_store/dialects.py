"""The few things that SQLite and PostgreSQL spell differently."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from sqlalchemy import JSON, BindParameter, Connection, Select, Table, Text, bindparam, func, literal, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects import postgresql, sqlite


def insert(tx: Connection, table: Table) -> postgresql.Insert:
    """Return the dialect's own INSERT, which knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if tx.dialect.name == "sqlite":
        return cast(postgresql.Insert, sqlite.insert(table))  # the same methods, under another name
    return postgresql.insert(table)


def names(tx: Connection, values: Iterable[str]) -> Select[tuple[str]]:
    """Return a SELECT of these names, for `IN (…)` or `INSERT … SELECT`.

    They travel as one JSON parameter, so that 100,000 of them are one statement, below every limit on parameters.
    """
    return _array(tx, literal(json.dumps(list(values)), Text()))


def names_parameter(tx: Connection, key: str) -> Select[tuple[str]]:
    """Return the same SELECT for a parameter that holds a JSON array, given later under `key`."""
    return _array(tx, bindparam(key, type_=Text()))


def pairs(tx: Connection, values: Mapping[str, str]) -> Any:
    """Return a FROM element with the text columns `key` and `value`, one row for each pair."""
    parameter = literal(json.dumps(dict(values)), Text())
    if tx.dialect.name == "sqlite":
        return func.json_each(parameter).table_valued("key", "value")
    return func.json_each_text(sql_cast(parameter, JSON())).table_valued("key", "value")


def _array(tx: Connection, parameter: BindParameter[str]) -> Select[tuple[str]]:
    if tx.dialect.name == "sqlite":
        return select(func.json_each(parameter).table_valued("value").c.value)
    return select(func.json_array_elements_text(sql_cast(parameter, JSON())).table_valued("value").c.value)
