"""The nodes of a site with their three states as a table: filtered, sorted and in pages, made for 100,000 of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, case, false, func, literal, null, or_, select

from site_store.node_table.node_query import first_of, in_order, is_in_group, place_behind, place_in
from site_store.node_table.state_query import (
    UNSEEN,
    NodeStateRow,
    StateQuery,
    StateTotals,
    is_there,
    read_totals,
    require_sound,
    state_columns,
    user_now,
    value_of,
    with_states,
)
from site_store.sql.database import Repository
from site_store.sql.postgresql import among
from site_store.sql.rows import listed
from site_store.tables import node, node_view, user_state
from strategy_lib.node_states.generated import NodeAvailability

_A = NodeAvailability
MOST_COUNTED: Final = 1000
"""A total of filtered nodes is counted up to this, and no further."""
_MOST_ROWS: Final = 500
_NEVER: Final = -1.0
"""Stands for the beginning of the state of a node that nobody has seen."""


@dataclass(frozen=True, slots=True)
class StatePage:
    """A page of nodes.

    `total`: how many the query finds in all, at most `MOST_COUNTED` and one. `after`: None: no more. `counts`: how many
    nodes of the whole site are published in which state.
    """

    nodes: Sequence[NodeStateRow]
    total: int
    after: str | None
    counts: Mapping[str, int]


class StateTable(Repository):
    """Nodes of sites with their states, as people look for them."""

    def page(self, site: str, query: StateQuery) -> StatePage:
        """Return a page of a site's nodes, in two statements.

        Raises `ValueRefused`: there is no such column, no column can have such a value, or `after` is not from a page
        of this query.
        """
        require_sound(query)
        place = None if query.after is None else place_in(query.after, partial(value_of, query.sort))
        limit = max(1, min(query.limit, _MOST_ROWS))

        def work(tx: Connection) -> StatePage:
            totals = read_totals(tx, site, query.taken_down, are_seen=query.sort in ("state", "reported", "since"))
            table = _Table(site, query, totals)
            rows = tx.execute(table.page(place, limit + 1)).all()
            total = totals.nodes if table.is_whole else rows[0].total if rows else 0
            last = rows[limit - 1] if len(rows) > limit else None
            after = None if last is None else place_behind(last.sorted_by, last.name)
            found = [listed(NodeStateRow, row[:-2]).taken_down(query.taken_down) for row in rows[:limit]]
            return StatePage(found, total, after, totals.counts)

        return self._database.read(work)


class _Table:
    """The nodes of one site joined with what is known, set and judged of them."""

    def __init__(self, site: str, query: StateQuery, totals: StateTotals) -> None:
        self._site, self._query = site, query
        self._all_seen = totals.all_seen
        self._state: ColumnElement[Any] = node_view.c.state
        if query.taken_down:
            is_down = among(node.c.name, query.taken_down)
            self._state = case((is_down, literal(str(_A.DOWN))), else_=node_view.c.state)
        columns: Mapping[str, ColumnElement[Any]] = {
            "node": literal(""),
            "state": _rank(self._state),
            "reported": _rank(node_view.c.reported),
            "user": _rank(user_now),
            "rack": func.coalesce(node.c.rack, ""),
            "crashes": func.coalesce(node_view.c.crashes, 0),
            "since": func.coalesce(node_view.c.since, _NEVER),
        }
        self._sorted_by = columns[query.sort]

    @property
    def _has_index(self) -> bool:
        """Whether an index leads to the order: what else is asked for would have to be looked at again."""
        asked = self._query
        if asked.sort == "state":
            return not (asked.taken_down or asked.text or asked.group or asked.columns.keys() - {"state"})
        return self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether no node is left out."""
        return not (self._query.text or self._query.group or self._query.columns)

    def page(self, place: tuple[Any, str] | None, limit: int) -> Select[Any]:
        """Select so many nodes behind this place in their order, and in the last column how many the query means."""
        parts = self._ranges(place) or [self._rows().where(false())]
        keys = first_of(parts, limit).cte("keys")
        joined = with_states(keys.join(node, and_(node.c.site == self._site, node.c.name == keys.c.name)))
        counted = self._rows().with_only_columns(node.c.name).limit(MOST_COUNTED + 1).subquery()
        total = null() if self.is_whole else select(func.count()).select_from(counted).scalar_subquery()
        found = select(*state_columns(), keys.c.sorted_by, total.label("total")).select_from(joined)
        return self._in_order(found, keys.c.sorted_by, keys.c.name)

    def _rows(self) -> Select[Any]:
        """Select the names of the nodes that the query means, in no order."""
        found = select(node.c.name, self._sorted_by.label("sorted_by")).select_from(with_states(node))
        return found.where(node.c.site == self._site, is_there, *self._conditions())

    def _ranges(self, place: tuple[Any, str] | None) -> list[Select[Any]]:
        """Return what selects the rows behind this place in their order: ranges one after the other.

        Each is a range of an index, so that not all nodes need be sorted. Where more is asked for, all are.
        """
        rows, sort = self._rows(), self._query.sort
        if sort == "node":
            return [self._in_order(rows, node.c.name, behind=None if place is None else place[1:])]
        if not self._has_index:
            return [self._in_order(rows, self._sorted_by, node.c.name, behind=place)]
        least, parts = self._parts()
        found = []
        for value, condition, *columns in reversed(parts) if self._query.descending else parts:
            part = rows.where(condition)
            if value is None:
                # Sorted by a column, all of it behind `least`.
                behind = place if place is not None and place[0] != least else None
                if behind is not None:
                    found += self._behind(rows, part, behind, *columns)
                elif place is None or not self._query.descending:
                    found.append(self._in_order(part, *columns))
            elif place is None or (value < place[0] if self._query.descending else value > place[0]):
                found.append(self._in_order(part, *columns))
            elif value == place[0]:
                found.append(self._in_order(part, *columns, behind=place[1:]))
        return found

    def _parts(self) -> tuple[Any, list[tuple[Any, ColumnElement[bool], *tuple[ColumnElement[Any], ...]]]]:
        """Return the least value that the order knows, and the parts of the table from there on.

        Of each: the value of all its rows, or None where they are sorted by a column; its condition; and the columns
        that it is in the order of, by an index.
        """
        sort, name = self._query.sort, node.c.name
        if sort == "user":
            words = [(rank, word) for rank, word in _RANKS if word is not None]
            return words[0][0], [
                (rank, user_now == word, name)
                if word == _A.UP
                else (rank, user_state.c.state == word, user_state.c.node)
                for rank, word in words
            ]
        if sort in ("state", "reported"):
            column: ColumnElement[Any] = node_view.c[sort]
            return 0, [
                (rank, column.is_(None), name) if word is None else (rank, column == word, node_view.c.node)
                for rank, word in _RANKS
                if word is not None or not self._all_seen
            ]
        if sort == "rack":
            rack = node.c.rack
            return "", [("", or_(rack.is_(None), rack == ""), name), (None, rack > "", rack, name)]
        column = node_view.c[sort]
        if sort == "since":
            never = [] if self._all_seen else [(_NEVER, column.is_(None), name)]
            return _NEVER, [*never, (None, column >= 0, column, node_view.c.node)]
        none: ColumnElement[bool] = func.coalesce(column, 0) <= 0
        return 0, [(0, none, name), (None, column > 0, column, node_view.c.node)]

    def _behind(
        self, rows: Select[Any], part: Select[Any], place: tuple[Any, str], column: ColumnElement[Any], *name: Any
    ) -> list[Select[Any]]:
        """Return what selects those of a part that are behind a place: of the same value, and then of other ones."""
        other = column < place[0] if self._query.descending else column > place[0]
        same = self._in_order(rows.where(column == place[0]), *name, behind=place[1:])
        return [same, self._in_order(part.where(other), column, *name)]

    def _in_order(
        self, rows: Select[Any], *columns: ColumnElement[Any], behind: tuple[Any, ...] | None = None
    ) -> Select[Any]:
        return in_order(rows, columns, descending=self._query.descending, behind=behind)

    def _conditions(self) -> list[ColumnElement[bool]]:
        query = self._query
        found: list[ColumnElement[bool]] = []
        if query.text:
            found.append(_contains(node.c.name, query.text))
        if query.group is not None:
            found.append(is_in_group(self._site, query.group))
        for name, value in query.columns.items():
            if name in ("state", "reported", "user"):
                is_set = user_state.c.state if value != _A.UP else user_now
                column = {"state": self._state, "reported": node_view.c.reported, "user": is_set}[name]
                found.append(column.is_(None) if value == UNSEEN else column == value)
            elif name == "rack":
                found.append(node.c.rack == value)
            elif name == "crashes":
                found.append(node_view.c.crashes >= int(value))
            elif name == "set_by":
                found.append(_contains(user_state.c.set_by, value))
            else:
                by_group = [one for one, why in query.taken_down.items() if value.lower() in why.lower()]
                said = (_contains(column, value) for column in (node_view.c.reason, user_state.c.reason))
                found.append(or_(*said, among(node.c.name, by_group)))
        return found


_RANKS: Final[tuple[tuple[int, str | None], ...]] = (
    (0, None),
    *((place, str(state)) for place, state in enumerate(_A, start=1)),
)


def _contains(column: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Whether a text has this part, in upper or lower case."""
    return func.lower(column).contains(part.lower(), autoescape=True)


def _rank(state: ColumnElement[Any]) -> ColumnElement[int]:
    return case(*((state == word, rank) for rank, word in _RANKS if word is not None), else_=0)
