"""Which nodes of a site the table of states is asked for, what is refused, and rows of them as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, FromClause, Select, and_, func, literal, null, or_, select

from site_store.sql.errors import ValueRefused
from site_store.sql.postgresql import among, clock, json_rows
from site_store.sql.rows import json_list, moment, require_text
from site_store.status.counting import nodes_of
from site_store.status.events import EventKind
from site_store.status.status_records import SitePart
from site_store.tables import event, node, node_view, status_count, user_state
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.words import Status

STATE_COLUMNS: Final = ("node", "state", "reported", "user", "rack", "crashes", "since")
"""The columns that the table can be sorted by; `since`: when the published state began."""
FILTERED_BY: Final = ("rack", "state", "reported", "user", "reason", "set_by", "crashes")
"""Those that it can be filtered by: `reason` and `set_by` contain a text; `crashes`: so many at least."""
UNSEEN: Final = "unknown"
"""The word for a state of a node that no controller has seen yet."""
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class StateQuery:
    """Which nodes of a site are asked for, in which order.

    Attributes
    ----------
    text : only those whose name contains it, whatever its case.
    group : only those of this group of the committed design.
    columns : only those where the column of this name (see `FILTERED_BY`) is so.
    sort : one of `STATE_COLUMNS`; states by availability, the least first. `descending` from its end.
    limit : how many at most.
    after : what `StatePage.after` said; None: the first page.
    taken_down : nodes that their group has taken down in the newest version, with the reason. It is known of no single
        node.
    """

    text: str = ""
    group: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sort: str = "state"
    descending: bool = False
    limit: int = 50
    after: str | None = None
    taken_down: Mapping[str, str] = field(default_factory=dict)


def require_sound(query: StateQuery) -> None:
    if query.sort not in STATE_COLUMNS:
        raise ValueRefused(f"states cannot be sorted by {query.sort!r}: name one of {', '.join(STATE_COLUMNS)}")
    for what, value in (("q", query.text), ("group", query.group or ""), *query.columns.items()):
        require_text(what, value)
    states = (*map(str, NodeAvailability), UNSEEN)
    for name, value in query.columns.items():
        if name not in FILTERED_BY:
            raise ValueRefused(f"states cannot be filtered by {name!r}: name one of {', '.join(FILTERED_BY)}")
        if name in ("state", "reported", "user") and value not in states:
            raise ValueRefused(f"{name} cannot be {value[:40]!r}: name one of {', '.join(states)}")
        if name == "crashes" and not (value.isascii() and value.isdigit() and len(value) <= 6):
            raise ValueRefused(f"crashes must be a number, such as 3, and not {value[:40]!r}")


def value_of(sort: str, value: Any) -> Any:
    """Return a value of a place in this order. Raises `TypeError` or `ValueError`: there is no such value."""
    wanted = str if sort in ("node", "rack") else (int, float) if sort == "since" else int
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError("no node has such a place")
    if isinstance(value, int | float) and not abs(value) <= _LARGEST:
        raise ValueError("no number of a node is as large")
    return value


_A = NodeAvailability


@dataclass(frozen=True, slots=True)
class StateTotals:
    """Numbers of the nodes of a site by their published state; what was never seen is `UNSEEN`.

    `all_seen`: whether a controller has seen each node, so that none need be looked for of which nothing is known. It
    is false where that is not known or was not asked.
    """

    counts: Mapping[str, int]
    all_seen: bool

    @property
    def nodes(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


def read_totals(tx: Connection, site: str, taken_down: Mapping[str, str], *, are_seen: bool) -> StateTotals:
    """Return the totals of a site in the caller's transaction, by one statement.

    Parameters
    ----------
    taken_down : nodes that count as down, whatever is published of them.
    are_seen : find out whether all were seen. To look for one that was not takes longer than all else of a page, as
        there hardly ever is one; it is counted instead.
    """
    row = tx.execute(_totals(site, taken_down, are_seen)).one()
    cells = json_list(row.cells)
    there = sum(number for _, status, number in cells if status != Status.DELETED)
    found = {state: int(number) for state, number in json_list(row.states)}
    for state, number in json_list(row.down):
        found[state] -= int(number)
        found[str(_A.DOWN)] = found.get(str(_A.DOWN), 0) + int(number)
    known = sum(found.values())
    if there > known:
        found[UNSEEN] = there - known
    order = [UNSEEN, *map(str, _A)]
    counts = {state: found[state] for state in sorted(found, key=order.index) if found[state]}
    # Some of these are nodes of the site no more.
    leaving = any(
        phase == SitePart.TO_BE_REMOVED and status in (Status.PROCESSING, Status.UNDEFINED) and number
        for phase, status, number in cells
    )
    all_seen = are_seen and not leaving and not json_list(row.silent) and there == known - row.gone
    return StateTotals(counts, all_seen)


def _totals(site: str, taken_down: Mapping[str, str], are_seen: bool) -> Select[Any]:
    records = func.sum(status_count.c.records).cast(BigInteger).label("records")
    cells = select(status_count.c.phase, status_count.c.status, records).where(*nodes_of(site))
    by_state = select(node_view.c.state, func.count().label("nodes")).where(node_view.c.site == site)
    by_state = by_state.group_by(node_view.c.state)
    down = by_state.where(among(node_view.c.node, taken_down)) if taken_down else None
    silent = select(node_view.c.node).where(node_view.c.site == site, node_view.c.reported.is_(None)).limit(1)
    both = node.join(node_view, and_(node_view.c.site == node.c.site, node_view.c.node == node.c.name))
    deleted = (node.c.site == site, node.c.standing == Status.DELETED)
    gone = select(func.count()).select_from(both).where(*deleted).scalar_subquery()

    def rows(query: Select[Any]) -> Any:
        return json_rows(select(*query.subquery().c))

    return select(
        rows(cells.group_by(status_count.c.phase, status_count.c.status)).label("cells"),
        rows(by_state).label("states"),
        (null() if down is None else rows(down)).label("down"),
        (rows(silent) if are_seen else null()).label("silent"),
        (gone if are_seen else null()).label("gone"),
    )


_DOWN: Final = str(NodeAvailability.DOWN)


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

    def taken_down(self, by: Mapping[str, str]) -> NodeStateRow:
        """Return the same where groups have taken nodes down: these, each with the reason."""
        why = by.get(self.node)
        return self if why is None else replace(self, state=_DOWN, reason=why)


@dataclass(frozen=True, slots=True)
class StateNote:
    """What was noted of the states of a node: a published change, or what an administrator set."""

    at: datetime
    was_set: bool
    message: str


_NOTED: Final = (EventKind.NODE_STATE, EventKind.USER_STATE)

user_now: Final[ColumnElement[str]] = func.coalesce(user_state.c.state, literal(str(NodeAvailability.UP)))
"""What an administrator has set for a node, in rows that are joined by `with_states`."""
is_there: Final = or_(node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None))
"""Whether a site is about a node: it is wanted, or done and not removed yet."""


def with_states(nodes: FromClause) -> FromClause:
    """Join nodes with what is known and published of them, and with what is set for them and in force now."""
    in_force = or_(user_state.c.until.is_(None), user_state.c.until > clock())
    seen = and_(node_view.c.site == node.c.site, node_view.c.node == node.c.name)
    is_set = and_(user_state.c.site == node.c.site, user_state.c.node == node.c.name, in_force)
    return nodes.outerjoin(node_view, seen).outerjoin(user_state, is_set)


def state_columns() -> tuple[ColumnElement[Any], ...]:
    """Return the columns of rows that are joined by `with_states`, as the fields of `NodeStateRow`, for `listed`."""
    seen, said = node_view.c, user_state.c
    crashes, why = func.coalesce(seen.crashes, 0), func.coalesce(said.reason, "")
    return (
        *(node.c.name, node.c.rack, seen.reported, seen.word, seen.power, seen.reported_since, crashes),
        *(user_now, why, said.set_by, said.set_at, said.until),
        *(seen.state, func.coalesce(seen.reason, ""), func.nullif(seen.since, 0)),
    )


def state_notes(site: Any, name: Any, limit: Any) -> Select[Any]:
    """Select what was noted of the states of a node, the newest first, as `state_note` takes it."""
    noted = (event.c.site == site, event.c.node == name, event.c.kind.in_(_NOTED))
    facts = (event.c.id, event.c.at, event.c.kind, event.c.message)
    return select(*facts).where(*noted).order_by(event.c.id.desc()).limit(limit)


def state_note(item: Sequence[Any]) -> StateNote:
    """Return a row of `state_notes`."""
    _, at, kind, message = item
    return StateNote(moment(at), kind == EventKind.USER_STATE, message)
