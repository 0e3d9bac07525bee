"""The nodes of a site with their three states as a table: filtered, sorted and in pages, made for 100,000 of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, literal, or_, select, tuple_

from site_store.database import Repository
from site_store.dialects import among
from site_store.events import EventKind
from site_store.state_query import UNSEEN, StateQuery, place_of, require_sound
from site_store.status_records import TOUCH, SitePart
from site_store.tables import event, lease, node, node_view, site_group_node, site_view, status_count, user_state
from site_store.tree_queries import changes
from site_store.user_states import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.words import Status

_A = NodeAvailability
MOST_COUNTED: Final = 1000
"""A total of filtered nodes is counted up to this, and no further."""
_MOST_ROWS: Final = 500
_NEVER: Final = -1.0
"""Stands for the beginning of the state of a node that nobody has seen."""
_NOTED: Final = (EventKind.NODE_STATE, EventKind.USER_STATE)


@dataclass(frozen=True, slots=True)
class NodeStateRow:
    """A node with its three states. Times of what is reported and published are in seconds, of the database's clock.

    Attributes
    ----------
    reported, state : None: no controller has seen it yet.
    word, power : what the provisioner's list said.
    user : what is in force; `set_by`, `set_at` and `until` are None where nobody has set anything.
    """

    node: str
    rack: str | None
    reported: str | None
    word: str | None
    power: str | None
    reported_since: float | None
    crashes: int
    user: str
    user_reason: str
    set_by: str | None
    set_at: datetime | None
    until: datetime | None
    state: str | None
    reason: str
    since: float | None


@dataclass(frozen=True, slots=True)
class StateNote:
    """What was noted of the states of a node: a published change, or what an administrator set."""

    at: datetime
    was_set: bool
    message: str


@dataclass(frozen=True, slots=True)
class StatePage:
    """A page of nodes.

    `total`: how many the query finds in all, at most `MOST_COUNTED` and one. `after`: None: no more. `counts`: how many
    nodes of the whole site are published in which state.
    """

    read_at: datetime
    nodes: Sequence[NodeStateRow]
    total: int
    after: str | None
    counts: Mapping[str, int]


class StateTable(Repository):
    """Nodes of sites with their states, as people look for them."""

    def token(self, site: str) -> str:
        """Return what changes whenever anything of the table may have: judged states, set states, version, leader."""
        view = select(site_view.c.epoch, site_view.c.number).where(site_view.c.site == site)
        held = select(lease.c.owner, lease.c.epoch, lease.c.expires_at).where(lease.c.name == lease_of(site))

        def work(tx: Connection) -> str:
            now = self._shared_now(tx)
            touched = tx.scalar(select(changes("", literal(site))))
            version = tx.execute(view).one_or_none()
            leader = tx.execute(held).one_or_none()
            leads = "" if leader is None or leader.expires_at <= now else f"{leader.epoch} {leader.owner}"
            return f"{touched}|{'' if version is None else f'{version.epoch}.{version.number}'}|{leads}"

        return self._database.read(work)

    def page(self, site: str, query: StateQuery) -> StatePage:
        """Return a page of a site's nodes.

        Raises `ValueRefused`: there is no such column, no column can have such a value, or `after` is not from a page
        of this query.
        """
        require_sound(query)
        place = place_of(query)
        limit = max(1, min(query.limit, _MOST_ROWS))

        def work(tx: Connection) -> StatePage:
            now = self._shared_now(tx)
            counts = _counts(tx, site, query.taken_down)
            table = _Table(tx, now, site, query)
            if query.sort in ("state", "reported", "since"):
                known = sum(number for state, number in counts.items() if state != UNSEEN)
                table.all_seen = _are_seen(tx, site, known)
            rows: list[Row[*tuple[Any, ...]]] = []
            for part in table.ranges(place):
                if len(rows) <= limit:
                    rows += tx.execute(part.limit(limit + 1 - len(rows))).all()
            total = sum(counts.values()) if table.is_whole else table.count()
            last = rows[limit - 1] if len(rows) > limit else None
            after = None if last is None else json.dumps([last.sorted_by, last.name])
            return StatePage(now, [_row(row, query.taken_down) for row in rows[:limit]], total, after, counts)

        return self._database.read(work)

    def of_node(self, site: str, name: str, taken_down: Mapping[str, str] | None = None) -> NodeStateRow | None:
        """Return one node; None: the site has none of this name."""
        query = StateQuery(sort="node", taken_down=taken_down or {})

        def work(tx: Connection) -> NodeStateRow | None:
            table = _Table(tx, self._shared_now(tx), site, query)
            row = tx.execute(table.rows().where(node.c.name == name)).one_or_none()
            return None if row is None else _row(row, query.taken_down)

        return self._database.read(work)

    def history_of(self, site: str, name: str, limit: int = 30) -> list[StateNote]:
        """Return what was noted of the states of a node, the newest first."""
        noted = (event.c.site == site, event.c.node == name, event.c.kind.in_(_NOTED))
        query = select(event.c.at, event.c.kind, event.c.message).where(*noted).order_by(event.c.id.desc()).limit(limit)

        def work(tx: Connection) -> list[StateNote]:
            return [StateNote(row.at, row.kind == EventKind.USER_STATE, row.message) for row in tx.execute(query)]

        return self._database.read(work)


class _Table:
    """The nodes of one site joined with what is known, set and judged of them."""

    def __init__(self, tx: Connection, now: datetime, site: str, query: StateQuery) -> None:
        self._tx, self._site, self._query = tx, site, query
        in_force = or_(user_state.c.until.is_(None), user_state.c.until > now)
        seen = and_(node_view.c.site == node.c.site, node_view.c.node == node.c.name)
        is_set = and_(user_state.c.site == node.c.site, user_state.c.node == node.c.name, in_force)
        self._joined = node.outerjoin(node_view, seen).outerjoin(user_state, is_set)
        self._user = func.coalesce(user_state.c.state, literal(str(_A.UP)))
        self._state: ColumnElement[Any] = node_view.c.state
        if query.taken_down:
            is_down = among(tx, node.c.name, query.taken_down)
            self._state = case((is_down, literal(str(_A.DOWN))), else_=node_view.c.state)
        columns: Mapping[str, ColumnElement[Any]] = {
            "node": literal(""),
            "state": _rank(self._state),
            "reported": _rank(node_view.c.reported),
            "user": _rank(self._user),
            "rack": func.coalesce(node.c.rack, ""),
            "crashes": func.coalesce(node_view.c.crashes, 0),
            "since": func.coalesce(node_view.c.since, _NEVER),
        }
        self._sorted_by = columns[query.sort]
        self.all_seen = False
        """Whether a controller has seen each node, so that none need be looked for of which nothing is known."""

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

    def rows(self) -> Select[Any]:
        """Select the nodes that the query means, in no order."""
        columns = (
            *(node.c.name, node.c.rack, node_view.c.reported, node_view.c.word, node_view.c.power),
            *(node_view.c.reported_since, func.coalesce(node_view.c.crashes, 0).label("crashes")),
            *(self._user.label("user"), user_state.c.reason.label("user_reason"), user_state.c.set_by),
            *(user_state.c.set_at, user_state.c.until, node_view.c.state, node_view.c.reason, node_view.c.since),
        )
        there = or_(node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None))
        found = select(*columns, self._sorted_by.label("sorted_by")).select_from(self._joined)
        return found.where(node.c.site == self._site, there, *self._conditions())

    def ranges(self, place: tuple[Any, str] | None) -> list[Select[Any]]:
        """Return what selects the rows behind this place in their order: ranges one after the other.

        Each is a range of an index, so that not all nodes need be sorted. Where more is asked for, all are.
        """
        rows, sort = self.rows(), self._query.sort
        if sort == "node":
            return [self._in_order(rows, None if place is None else place[1:], node.c.name)]
        if not self._has_index:
            return [self._in_order(rows, place, self._sorted_by, node.c.name)]
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
                    found.append(self._in_order(part, None, *columns))
            elif place is None or (value < place[0] if self._query.descending else value > place[0]):
                found.append(self._in_order(part, None, *columns))
            elif value == place[0]:
                found.append(self._in_order(part, place[1:], *columns))
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
                (rank, self._user == word, name)
                if word == _A.UP
                else (rank, user_state.c.state == word, user_state.c.node)
                for rank, word in words
            ]
        if sort in ("state", "reported"):
            column: ColumnElement[Any] = node_view.c[sort]
            return 0, [
                (rank, column.is_(None), name) if word is None else (rank, column == word, node_view.c.node)
                for rank, word in _RANKS
                if word is not None or not self.all_seen
            ]
        if sort == "rack":
            rack = node.c.rack
            return "", [("", or_(rack.is_(None), rack == ""), name), (None, rack > "", rack, name)]
        column = node_view.c[sort]
        if sort == "since":
            never = [] if self.all_seen else [(_NEVER, column.is_(None), name)]
            return _NEVER, [*never, (None, column >= 0, column, node_view.c.node)]
        none: ColumnElement[bool] = func.coalesce(column, 0) <= 0
        return 0, [(0, none, name), (None, column > 0, column, node_view.c.node)]

    def _behind(
        self, rows: Select[Any], part: Select[Any], place: tuple[Any, str], column: ColumnElement[Any], *name: Any
    ) -> list[Select[Any]]:
        """Return what selects those of a part that are behind a place: of the same value, and then of other ones.

        SQLite would not look one condition on both up in an index.
        """
        other = column < place[0] if self._query.descending else column > place[0]
        same = self._in_order(rows.where(column == place[0]), place[1:], *name)
        return [same, self._in_order(part.where(other), None, column, *name)]

    def _in_order(self, rows: Select[Any], place: tuple[Any, ...] | None, *columns: ColumnElement[Any]) -> Select[Any]:
        """Return a selection in the order of these columns, behind a place in it."""
        descending = self._query.descending
        if place is not None:
            this, that = tuple_(*columns), tuple_(*(literal(value) for value in place))
            rows = rows.where(this < that if descending else this > that)
        return rows.order_by(*(column.desc() if descending else column.asc() for column in columns))

    def count(self) -> int:
        """Return how many nodes the query means, at most one more than `MOST_COUNTED`."""
        counted = self.rows().with_only_columns(node.c.name).limit(MOST_COUNTED + 1).subquery()
        return self._tx.scalar(select(func.count()).select_from(counted)) or 0

    def _conditions(self) -> list[ColumnElement[bool]]:
        query = self._query
        found: list[ColumnElement[bool]] = []
        if query.text:
            found.append(_contains(node.c.name, query.text))
        if query.group is not None:
            members = select(site_group_node.c.node).where(
                site_group_node.c.site == self._site, site_group_node.c.group_name == query.group
            )
            found.append(node.c.name.in_(members))
        for name, value in query.columns.items():
            if name in ("state", "reported", "user"):
                is_set = user_state.c.state if value != _A.UP else self._user
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
                found.append(or_(*said, among(self._tx, node.c.name, by_group)))
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


def _counts(tx: Connection, site: str, taken_down: Mapping[str, str]) -> dict[str, int]:
    """Count the nodes of a site by their published state; what was never seen is `UNSEEN`."""
    there = (status_count.c.phase != TOUCH, status_count.c.status != str(Status.DELETED))
    whole = (status_count.c.action_id == "", status_count.c.site == site, status_count.c.group_name == "")
    nodes = int(tx.scalar(select(func.sum(status_count.c.records)).where(*whole, *there)) or 0)
    query = select(node_view.c.state, func.count().label("nodes")).where(node_view.c.site == site)
    found = {row.state: int(row.nodes) for row in tx.execute(query.group_by(node_view.c.state))}
    if taken_down:
        mine = query.where(among(tx, node_view.c.node, taken_down)).group_by(node_view.c.state)
        for row in tx.execute(mine):
            found[row.state] -= int(row.nodes)
            found[str(_A.DOWN)] = found.get(str(_A.DOWN), 0) + int(row.nodes)
    unseen = nodes - sum(found.values())
    if unseen > 0:
        found[UNSEEN] = unseen
    order = [UNSEEN, *map(str, _A)]
    return {state: found[state] for state in sorted(found, key=order.index) if found[state]}


def _are_seen(tx: Connection, site: str, known: int) -> bool:
    """Whether a controller has seen each node of a site, as it hardly ever has not; false where that is not known.

    To look for one that was not takes longer than all else of a page. It is counted instead.

    Parameters
    ----------
    known : of so many nodes something is known, also of some that the site has no more.
    """
    silent = select(node_view.c.node).where(node_view.c.site == site, node_view.c.reported.is_(None)).limit(1)
    if tx.execute(silent).first() is not None:
        return False
    whole = (status_count.c.action_id == "", status_count.c.site == site, status_count.c.group_name == "")
    counted = select(status_count.c.phase, status_count.c.status, func.sum(status_count.c.records).label("records"))
    counted = counted.where(*whole, status_count.c.phase != TOUCH)
    nodes = 0
    for row in tx.execute(counted.group_by(status_count.c.phase, status_count.c.status)):
        if row.phase == SitePart.TO_BE_REMOVED and row.status in (Status.PROCESSING, Status.UNDEFINED) and row.records:
            # Some of these are nodes of the site no more.
            return False
        nodes += 0 if row.status == Status.DELETED else int(row.records)
    both = node.join(node_view, and_(node_view.c.site == node.c.site, node_view.c.node == node.c.name))
    # As a range: SQLite would go through all nodes for one value.
    gone = (node.c.site == site, node.c.standing.between(Status.DELETED, Status.DELETED))
    return nodes == known - (tx.scalar(select(func.count()).select_from(both).where(*gone)) or 0)


def _row(row: Row[*tuple[Any, ...]], taken_down: Mapping[str, str]) -> NodeStateRow:
    why = taken_down.get(row.name)
    return NodeStateRow(
        node=row.name,
        rack=row.rack,
        reported=row.reported,
        word=row.word,
        power=row.power,
        reported_since=row.reported_since,
        crashes=row.crashes,
        user=row.user,
        user_reason=row.user_reason or "",
        set_by=row.set_by,
        set_at=row.set_at,
        until=row.until,
        state=row.state if why is None else str(_A.DOWN),
        reason=(row.reason or "") if why is None else why,
        since=row.since or None,
    )
