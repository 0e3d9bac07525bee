"""Which nodes of a site a query means, in which order they come, where a page begins, and what is refused.

In order they are ranges of indexes, one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    String,
    and_,
    cast,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    tuple_,
    union_all,
)

from site_store.node_table.node_facts import NodeQuery
from site_store.sql.errors import ValueRefused
from site_store.sql.rows import require_text
from site_store.status.counting import node_is_counted, nodes_of
from site_store.status.owner_queries import default_owner, gone_owners, is_site_stopped
from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, node, site_group_node, status_count
from site_store.tables.metadata import UtcDateTime
from strategy_lib.parsing.bounded_json import read_json
from strategy_lib.status.words import Status

NODE_COLUMNS = {
    "node": node.c.name,
    "rack": node.c.rack,
    "standing": node.c.standing,
    "serves": node.c.serves,
    "wanted_revision": node.c.wanted_revision,
    "done_revision": node.c.done_revision,
    "provisioner_status": node.c.provisioner_status,
    "power": node.c.power,
    "error": node.c.error,
    "last_updated": node.c.last_updated,
}
"""The columns of the table."""
FILTERED_BY = (
    *("node", "rack", "standing", "serves", "wanted_revision", "done_revision", "provisioner_status", "power"),
    "error",
)
"""Those that it can be filtered by."""
_EQUAL = ("rack", "serves", "provisioner_status", "power")
_NUMBERS = ("wanted_revision", "done_revision")
LARGEST_NUMBER = 2**31 - 1
# Statuses that are shown as unresponsive where the owner is gone: in all others it owes nothing.
_OWING = (Status.PENDING.value, Status.PROCESSING.value)


def _contains(column: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Whether a text has this part, in upper or lower case: as in the language "C", since others take long."""
    if part.lower() == part.upper():
        return column.contains(part, autoescape=True)
    escaped = part.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return column.collate("C").ilike(f"%{escaped}%", escape="/")


def _with_capitals(site: str, part: str) -> Select[str]:
    """Select names with capitals that have this part: they are few, and have an index of their own.

    PostgreSQL expects capitals in nearly all names. It takes that index all the same if they are wanted in order.
    """
    other = node.alias("with_capitals")
    all_of_site = select(other.c.name).where(other.c.site == site, other.c.name != func.lower(other.c.name))
    found = all_of_site.order_by(other.c.name).offset(0).subquery()
    return select(found.c.name).where(_contains(found.c.name, part))


def _name_contains(site: str, part: str) -> ColumnElement[bool]:
    """Whether a node's name has this part."""
    if part.lower() == part.upper():
        return _contains(node.c.name, part)
    # An array of names is found once, and expected to be short. With a subquery half of all names are expected to fit,
    # and all would be gone through in their order: 23 times as many pages of the database.
    other = func.array(_with_capitals(site, part).scalar_subquery())
    return or_(node.c.name.contains(part.lower(), autoescape=True), node.c.name == func.any(other))


def require_sound(query: NodeQuery) -> None:
    """Refuse (`ValueRefused`) what no column can have."""
    for what, value in (("group", query.group), ("rack", query.rack), ("standing", query.standing), ("q", query.text)):
        require_text(what, value or "")
    for name, value in query.columns.items():
        if name not in FILTERED_BY:
            raise ValueRefused(f"nodes cannot be filtered by {name!r}: name one of {', '.join(FILTERED_BY)}")
        require_text(name, value)
        digits = value.isascii() and value.isdigit()
        if name in _NUMBERS and not (digits and len(value) <= 10 and int(value) <= LARGEST_NUMBER):
            raise ValueRefused(f"{name} must be the number of a revision, such as 3, and not {value[:40]!r}")


def _stands(site: str, status: str, *, narrowed: bool) -> ColumnElement[bool]:
    """Whether this status is shown of a node, as `site_engine.trees.site.judge_node` shows it.

    Parameters
    ----------
    narrowed : another index leads to fewer nodes than that of how they stand.
    """
    standing = func.coalesce(node.c.standing, "") if narrowed else node.c.standing
    if status not in (*_OWING, Status.UNRESPONSIVE):
        return standing == status
    owner = func.coalesce(node.c.owner, default_owner(literal(site)).scalar_subquery(), "")
    gone = and_(owner.in_(gone_owners()), ~is_site_stopped(literal(site)))
    return and_(standing.in_(_OWING), gone) if status == Status.UNRESPONSIVE else and_(standing == status, ~gone)


def is_in_group(site: str, group: str) -> ColumnElement[bool]:
    """Whether a node is in this group of the committed strategy."""
    members = site_group_node.c
    return node.c.name.in_(select(members.node).where(members.site == site, members.group_name == group))


def filtered(site: str, query: NodeQuery) -> Select[Any]:
    """Select the nodes that a query means, in no order."""
    found = select(node.c.name).where(node.c.site == site)
    if query.text:
        # Before all else: most rows need not be looked at any further.
        found = found.where(_name_contains(site, query.text))
    if query.standing is None or query.standing == Status.DELETED:
        found = found.where(node_is_counted)
    # What is asked for twice must hold twice.
    asked = (("rack", query.rack), ("standing", query.standing), *query.columns.items())
    wanted = [(name, value) for name, value in asked if value is not None]
    if query.group == SitePart.NO_GROUP:
        found = found.where(node.c.wanted_digest.is_not(None), ~exists().where(MEMBER))
    elif query.group == SitePart.TO_BE_REMOVED:
        found = found.where(node.c.wanted_digest.is_(None))
    elif query.group is not None:
        found = found.where(is_in_group(site, query.group))
    narrowed = query.group is not None
    for name, value in wanted:
        if name == "standing":
            found = found.where(_stands(site, value, narrowed=narrowed))
            narrowed = True
        elif name in _EQUAL:
            found = found.where(NODE_COLUMNS[name] == value)
            narrowed = True
        elif name in _NUMBERS:
            found = found.where(NODE_COLUMNS[name] == int(value))
    for name, part in wanted:
        if part and name in ("node", "error"):
            has_part = _name_contains(site, part) if name == "node" else _contains(NODE_COLUMNS[name], part)
            found = found.where(has_part)
    return found


GROUP = "group"
"""Sorted by this, a node stands at the first of its groups."""
SORTED_BY = (*NODE_COLUMNS, GROUP)
"""What nodes can be sorted by."""


def first_of(parts: Sequence[Select[Any]], most: int) -> Select[Any]:
    """Select the first rows of parts that follow one another, each in its order; so many at most."""
    limited = [part.limit(most) for part in parts]
    if len(limited) == 1:
        return limited[0]
    # A part is looked at only where those before it have too few.
    return select(*union_all(*(select(*part.subquery().c) for part in limited)).subquery().c).limit(most)


def in_order(
    found: Select[Any], columns: Sequence[ColumnElement[Any]], *, descending: bool, behind: Sequence[Any] | None = None
) -> Select[Any]:
    """Return a selection in an order, behind a place in it; rows without a value come last, or first if descending.

    Parameters
    ----------
    columns : what is sorted by, the name at last.
    behind : the value of each of them at the place; None: from the beginning.
    """
    if behind is not None:
        this = tuple_(*columns)
        that = tuple_(*(literal(value, column.type) for value, column in zip(behind, columns, strict=True)))
        found = found.where(this < that if descending else this > that)
    *values, name = columns
    if descending:
        return found.order_by(*(column.desc().nulls_first() for column in values), name.desc())
    return found.order_by(*(column.asc().nulls_last() for column in values), name)


def place_behind(value: Any, name: str) -> str:
    """Return where the page behind this node begins, which has this value in the column that is sorted by."""
    return json.dumps([value.isoformat() if isinstance(value, datetime) else value, name])


def place_in(after: str, read: Callable[[Any], Any]) -> tuple[Any, str]:
    """Return the value and the name that `after` was made of. Raises `ValueRefused`: no page of a table said it.

    Parameters
    ----------
    read : returns the value as its column has it. Raises `TypeError` or `ValueError`: that has no such value.
    """
    try:
        value, name = read_json(after)
        if not isinstance(name, str):
            raise TypeError("no node has such a place")
        for text in (name, value) if isinstance(value, str) else (name,):
            require_text("the place", text)
        return read(value), name
    except (TypeError, ValueError, ValueRefused) as error:
        raise ValueRefused(f"{after!r} is not from a page of this table: leave it out to begin anew") from error


def ranges_of(found: Select[Any], query: NodeQuery) -> list[Select[Any]]:
    """Return what selects `site`, `name` and `sorted_by` of nodes behind the place that the query names, in order.

    Parameters
    ----------
    found : selects the nodes that the query means.

    Raises
    ------
    ValueRefused : `after` of the query is not from a page of it.
    """
    column, name = NODE_COLUMNS.get(query.sort, site_group_node.c.group_name), node.c.name
    place = None if query.after is None else place_in(query.after, partial(_value, column.type))
    ordered = partial(in_order, descending=query.descending)
    if query.sort == "node":
        keys = found.with_only_columns(node.c.site, node.c.name, null().label("sorted_by"))
        return [ordered(keys, (name,), behind=None if place is None else place[1:])]
    if query.sort == GROUP:
        # The index on members leads to them in their order.
        name = site_group_node.c.node
        valued, others = _by_group(found)
    else:
        keys = found.with_only_columns(node.c.site, node.c.name, column.label("sorted_by"))
        if place is None and query.sort != "error":
            return [ordered(keys, (column, name))]
        # Nodes with an error are few, and have an index of their own.
        valued, others = keys.where(column.is_not(None)), keys.where(column.is_(None))
    without = ordered(others, (node.c.name,), behind=place[1:] if place is not None and place[0] is None else None)
    if place is not None and place[0] is None:
        return [without, ordered(valued, (column, name))] if query.descending else [without]
    rest = ordered(valued, (column, name), behind=place)
    if query.descending:
        return [rest] if place is not None else [without, rest]
    return [rest, without]


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


def _value(kind: Any, value: Any) -> Any:
    """Return a value of a place as a column of this type has it."""
    if value is None:
        return None
    wanted = int if isinstance(kind, Integer) else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError("no node has such a place")
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        raise ValueError("no number of a node is as large")
    if isinstance(kind, UtcDateTime):
        value = datetime.fromisoformat(str(value))
        if value.tzinfo is None:
            raise ValueError("a time without its zone")
    return value
