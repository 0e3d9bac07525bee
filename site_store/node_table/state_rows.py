"""The columns that the three states of a node are read with, and rows of them as values; and notes on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, and_, func, literal, or_, select

from site_store.sql.postgresql import clock
from site_store.sql.rows import moment, moment_or_none
from site_store.status.events import EventKind
from site_store.tables import event, node, node_view, user_state
from strategy_lib.node_states.generated import NodeAvailability

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
    """Return the columns of rows that are joined by `with_states`, in the order in which `state_row` takes them."""
    return (
        *(node.c.name, node.c.rack, node_view.c.reported, node_view.c.word, node_view.c.power),
        *(node_view.c.reported_since, func.coalesce(node_view.c.crashes, 0), user_now, user_state.c.reason),
        *(user_state.c.set_by, user_state.c.set_at, user_state.c.until),
        *(node_view.c.state, node_view.c.reason, node_view.c.since),
    )


def state_row(item: Sequence[Any]) -> NodeStateRow:
    """Return the columns of `state_columns`, as a database gives them or writes them into JSON."""
    name, rack, reported, word, power, reported_since, crashes, user, user_reason, *more = item
    set_by, set_at, until, state, reason, since = more
    return NodeStateRow(
        node=name,
        rack=rack,
        reported=reported,
        word=word,
        power=power,
        reported_since=reported_since,
        crashes=crashes,
        user=user,
        user_reason=user_reason or "",
        set_by=set_by,
        set_at=moment_or_none(set_at),
        until=moment_or_none(until),
        state=state,
        reason=reason or "",
        since=since or None,
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
