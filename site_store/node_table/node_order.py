"""In which order the nodes of a site come, and where a page of them begins: ranges of indexes, one after the other."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    String,
    cast,
    exists,
    func,
    literal,
    null,
    select,
    tuple_,
    union_all,
)

from site_store.node_table.node_facts import NodeQuery
from site_store.node_table.node_filters import LARGEST_NUMBER, NODE_COLUMNS
from site_store.sql.errors import ValueRefused
from site_store.sql.storable import require_text
from site_store.status.counting import nodes_of
from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, node, site_group_node, status_count
from site_store.tables.metadata import UtcDateTime
from strategy_lib.parsing.bounded_json import read_json

GROUP = "group"
"""Sorted by this, a node stands at the first of its groups."""
SORTED_BY = (*NODE_COLUMNS, GROUP)
"""What nodes can be sorted by."""


def first_keys(found: Select[Any], query: NodeQuery, most: int) -> Select[Any]:
    """Select `site`, `name` and `sorted_by` of the first nodes behind the place that the query names, in order.

    Parameters
    ----------
    found : selects the nodes that the query means.
    most : how many.

    Raises
    ------
    ValueRefused : `after` of the query is not from a page of it.
    """
    parts = [part.limit(most) for part in _ranges(found, query)]
    if len(parts) == 1:
        return parts[0]
    # A part is looked at only where those before it have too few.
    return select(*union_all(*(select(*part.subquery().c) for part in parts)).subquery().c).limit(most)


def in_order(found: Select[Any], query: NodeQuery, *columns: ColumnElement[Any]) -> Select[Any]:
    """Return a selection in the order of a query; nodes without a value come last, or first where it is descending.

    Parameters
    ----------
    columns : what is sorted by, the name at last.
    """
    *values, name = columns
    if query.descending:
        return found.order_by(*(column.desc().nulls_first() for column in values), name.desc())
    return found.order_by(*(column.asc().nulls_last() for column in values), name)


def place_behind(last: Row[*tuple[Any, ...]], query: NodeQuery) -> str:
    """Return where the page behind this node begins."""
    value = None if query.sort == "node" else last.sorted_by
    place: str = json.dumps([value.isoformat() if isinstance(value, datetime) else value, last.name])
    return place


def _ranges(found: Select[Any], query: NodeQuery) -> list[Select[Any]]:
    place = None if query.after is None else _place(query)
    if query.sort == "node":
        keys = found.with_only_columns(node.c.site, node.c.name, null().label("sorted_by"))
        if place is not None:
            keys = keys.where(_behind(query, node.c.name, place[1]))
        return [in_order(keys, query, node.c.name)]
    column, name = _column(query), node.c.name
    if query.sort == GROUP:
        # The index on members leads to them in their order.
        column, name = site_group_node.c.group_name, site_group_node.c.node
        valued, others = _by_group(found)
    else:
        keys = found.with_only_columns(node.c.site, node.c.name, column.label("sorted_by"))
        if place is None and query.sort != "error":
            return [in_order(keys, query, column, name)]
        # Nodes with an error are few, and have an index of their own.
        valued, others = keys.where(column.is_not(None)), keys.where(column.is_(None))
    valued, others = in_order(valued, query, column, name), in_order(others, query, node.c.name)
    if place is None:
        return [others, valued] if query.descending else [valued, others]
    value, after = place
    if value is None:
        rest = others.where(_behind(query, node.c.name, after))
        return [rest, valued] if query.descending else [rest]
    this, that = tuple_(column, name), tuple_(literal(value, column.type), literal(after))
    rest = valued.where(_behind(query, this, that))
    return [rest] if query.descending else [rest, others]


def _by_group(found: Select[Any]) -> tuple[Select[Any], Select[Any]]:
    """Select the nodes under the first of their groups, and those that are in none."""
    other = site_group_node.alias("other")
    earlier = exists().where(
        other.c.site == site_group_node.c.site,
        other.c.node == site_group_node.c.node,
        other.c.group_name < site_group_node.c.group_name,
    )
    members: Select[Any] = found.join(site_group_node, MEMBER).where(~earlier)
    valued = members.with_only_columns(node.c.site, node.c.name, site_group_node.c.group_name.label("sorted_by"))
    # Where the roll-up has none of them, all nodes need not be asked.
    outside = (
        select(func.sum(status_count.c.records))
        .where(*nodes_of(node.c.site), status_count.c.phase != SitePart.GROUPED.value)
        .scalar_subquery()
    )
    others = found.where(~exists().where(MEMBER), outside > 0)
    return valued, others.with_only_columns(node.c.site, node.c.name, cast(null(), String).label("sorted_by"))


def _behind(query: NodeQuery, this: Any, that: Any) -> ColumnElement[bool]:
    behind: ColumnElement[bool] = this < that if query.descending else this > that
    return behind


def _column(query: NodeQuery) -> ColumnElement[Any]:
    column: ColumnElement[Any] = NODE_COLUMNS.get(query.sort, site_group_node.c.group_name)
    return column


def _place(query: NodeQuery) -> tuple[Any, str]:
    """Return the value and the name that `after` was made of."""
    try:
        value, name = read_json(query.after or "")
        kind = _column(query).type
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER
        if not isinstance(name, str) or not (
            value is None or (number if isinstance(kind, Integer) else _is_text(value))
        ):
            raise ValueError("no node has such a place")
        require_text("the place", name)
        if isinstance(kind, UtcDateTime) and value is not None:
            value = datetime.fromisoformat(value)
            if value.tzinfo is None:
                raise ValueError("a time without its zone")
    except (TypeError, ValueError, ValueRefused) as error:
        raise ValueRefused(f"{query.after!r} is not from a page of this table: leave it out to begin anew") from error
    return value, name


def _is_text(value: Any) -> bool:
    if isinstance(value, str):
        require_text("the place", value)
    return isinstance(value, str)
