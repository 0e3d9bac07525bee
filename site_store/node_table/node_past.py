"""Everything that happened to one node, read of one moment and in two statements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import SimpleNamespace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, case, exists, func, literal, or_, select

from site_store.designs.sites import settings_column, settings_in
from site_store.node_table.node_facts import NodePast, NodePastFacts, PastStates, RepairFacts
from site_store.node_table.state_query import (
    NodeStateRow,
    is_there,
    state_columns,
    state_note,
    state_notes,
    with_states,
)
from site_store.nodes.node_errors import ERROR_FACTS, NodeErrorRecord, error_record, errors_of_node
from site_store.nodes.nodes import node_row
from site_store.nodes.repair_switches import ALL_SITES
from site_store.nodes.user_states import in_force
from site_store.records import EventRecord
from site_store.sql.postgresql import clock, json_rows
from site_store.sql.rows import columns_of, filled, json_list, json_value, listed, moment, moment_or_none
from site_store.status.owner_queries import default_owner, owners_now, owners_of_site, watched, watched_from
from site_store.status.status_records import ReportedLeaf
from site_store.tables import (
    action,
    event,
    group_node,
    node,
    operation,
    repair_switch,
    reported,
    revision,
    site_group_node,
    site_view,
    task,
    user_state,
)
from strategy_lib.node_states.publication import Version
from strategy_lib.phase import GROUP_PHASES


def past_columns() -> list[ColumnElement[Any]]:
    """Return columns as `past_states` reads them, beside those of `repair_columns`; a parameter: `most_notes`."""
    states = select(*state_columns()).select_from(with_states(node))
    states = states.where(node.c.site == _SITE, node.c.name == _NAME, is_there).correlate(None)
    notes = state_notes(_SITE, _NAME, bindparam("most_notes", type_=event.c.id.type)).subquery()
    newest = select(site_view.c.epoch, site_view.c.number).where(site_view.c.site == _SITE)
    return [
        json_rows(states).label("states"),
        json_rows(select(*notes.c)).label("notes"),
        json_rows(newest).label("newest"),
    ]


def past_states(row: Row[*tuple[Any, ...]]) -> PastStates:
    """Return the columns of `past_columns`."""
    newest = next((Version(*version) for version in json_list(row.newest)), None)
    judge = settings_in(row.settings).min_available_percent > 0
    return PastStates(
        states=next((listed(NodeStateRow, item) for item in json_list(row.states)), None),
        notes=[state_note(item) for item in sorted(json_list(row.notes), reverse=True)],
        judging=newest if judge else None,
    )


def repair_columns() -> list[ColumnElement[Any]]:
    """Return columns as `RepairFacts` is made of them."""
    held = in_force(clock()).where(user_state.c.site == _SITE, user_state.c.node == _NAME)
    return [
        settings_column(_SITE),
        exists().where(repair_switch.c.site.in_((_SITE, ALL_SITES))).label("repair_stopped"),
        held.with_only_columns(user_state.c.state).scalar_subquery().label("user_state"),
    ]


MOST_REPORTED = 10_000
"""Leaves of reporters below one node."""
_SITE = bindparam("site", type_=node.c.site.type)
_NAME = bindparam("name", type_=node.c.name.type)
_LIMIT = bindparam("limit", type_=node.c.version.type)
_RANKS = {phase.value: rank for rank, phase in enumerate(GROUP_PHASES, 1)}
"""Phases in the order in which a node goes through them, for those that have no time or the same one."""
_EVENTS_EACH = 10
"""Events that are read for each action that is asked for."""


def read_past(
    tx: Connection, site: str, name: str, limit: int, before: str | None, most_notes: int = 0
) -> NodePastFacts:
    """Return what happened to a node in the caller's transaction.

    Parameters
    ----------
    limit : how many actions at most, the newest first.
    before : only actions older than this one, for the next page.
    most_notes : so many notes on its states at most, with the states themselves; 0: neither.
    """
    asked = {"site": site, "name": name, "limit": limit} | ({} if before is None else {"before": before})
    more = {"most_notes": most_notes} if most_notes else {}
    is_next = before is not None
    rows = tx.execute(_tasks(is_next), asked).all()
    about_it = _about(is_next, with_states=bool(most_notes))
    about = tx.execute(about_it, asked | {"path": _path_below(name)} | more).one()
    found = list(dict.fromkeys(row.id for row in rows))
    kept = set(found[:limit])
    leaves = [listed(ReportedLeaf, item, site) for item in json_list(about.reported)]
    now = moment(about.now)
    return NodePastFacts(
        read_at=now,
        owners=owners_of_site(about.owners, watched_from(about.watched, now)),
        node=None if about.name is None else node_row(about, groups_in(about.groups)),
        committed=about.committed,
        repair=RepairFacts(settings_in(about.settings).repair, bool(about.repair_stopped), about.user_state),
        tasks=[_past(row) for row in rows if row.id in kept],
        events=sorted((_event(site, name, item) for item in json_list(about.events)), key=lambda one: -one.id),
        errors=sorted((_error(item) for item in json_list(about.errors)), key=lambda one: -one.error.op),
        reported=sorted(
            (leaf for leaf in leaves if not leaf.action_id or leaf.action_id in kept),
            key=lambda leaf: (leaf.action_id, leaf.parent, leaf.name, leaf.owner),
        ),
        before=found[limit - 1] if len(found) > limit else None,
        default_owner=about.default_owner or "",
        states=past_states(about) if most_notes else None,
    )


def groups_in(value: Any) -> list[str]:
    """Return the groups of a node from a column of `json_rows`, sorted."""
    return sorted(group for (group,) in json_list(value))


def groups_of_node() -> ColumnElement[str]:
    """Return a column of `node`: the groups of the committed strategy that it is in, as `groups_in` reads them."""
    members = (
        select(site_group_node.c.group_name)
        .where(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
        .correlate(node)
    )
    return json_rows(members).label("groups")


def _newest(is_next: bool) -> Select[Any]:
    """Select the newest actions that have a task of the node, one more than asked for."""
    mine = exists().where(task.c.action_id == action.c.id, task.c.node == _NAME)
    newest = select(action.c.id).where(action.c.site == _SITE, mine).order_by(action.c.id.desc()).limit(_LIMIT + 1)
    return newest.where(action.c.id < bindparam("before", type_=action.c.id.type)) if is_next else newest


@cache
def _tasks(is_next: bool) -> Select[Any]:
    """Select the tasks of a node, the newest action first; parameters: `site`, `name`, `limit`, `before`."""
    about = [action.c[column] for column in ("id", "kind", "revision", "state", "created_by", "created", "dry_run")]
    in_groups = (
        select(group_node.c.group_name)
        .where(group_node.c.action_id == task.c.action_id, group_node.c.node == task.c.node)
        .correlate(task)
    )
    facts = ("phase", "status", "owner", "owner_group", "error", "fixed", "found", "started", "ended")
    counted = ("tries", "held", "op", "done_op", "done_revision")
    chosen = _newest(is_next).subquery()
    return (
        select(
            *about,
            *(task.c[column] for column in (*facts, *counted)),
            operation.c.provisioner_task,
            operation.c.attempt,
            operation.c.round,
            operation.c.status.label("operation_status"),
            json_rows(in_groups).label("groups"),
        )
        .select_from(chosen)
        .join(action, action.c.id == chosen.c.id)
        .join(task, and_(task.c.action_id == action.c.id, task.c.node == _NAME))
        .outerjoin(operation, operation.c.op == task.c.op)
        .order_by(action.c.id.desc(), task.c.started.nulls_last(), case(_RANKS, value=task.c.phase, else_=0))
    )


@cache
def _about(is_next: bool, *, with_states: bool) -> Select[Any]:
    """Select the node itself, its errors, and what was noted and reported of it; a further parameter: `path`.

    Parameters
    ----------
    with_states : also its states.
    """
    of_states = past_columns() if with_states else []
    noted = (
        select(event.c.id, event.c.at, event.c.action_id, event.c.group_name, event.c.kind, event.c.message)
        .add_columns(event.c.data)
        .where(event.c.site == _SITE, event.c.node == _NAME)
        .order_by(event.c.id.desc())
        .limit(_LIMIT * _EVENTS_EACH)
        .subquery()
    )
    *plain, data = noted.c
    chosen = _newest(is_next).subquery()
    said = (
        select(*columns_of(ReportedLeaf, reported, after=1))
        .where(
            reported.c.site == _SITE,
            reported.c.parent.like(bindparam("path", type_=reported.c.parent.type), escape="/"),
            or_(reported.c.action_id == "", reported.c.action_id.in_(select(chosen.c.id))),
        )
        .order_by(reported.c.action_id, reported.c.parent, reported.c.name, reported.c.owner)
        .limit(MOST_REPORTED)
        .subquery()
    )
    errors = errors_of_node(_SITE, _NAME, _LIMIT).subquery()
    this = select(literal(1).label("one")).subquery()
    same = and_(node.c.site == _SITE, node.c.name == _NAME)
    return select(
        *node.c,
        groups_of_node(),
        json_rows(select(*plain, data)).label("events"),
        json_rows(select(*said.c)).label("reported"),
        json_rows(select(*(errors.c[fact] for fact in ERROR_FACTS))).label("errors"),
        select(func.max(revision.c.number)).where(revision.c.site == _SITE).scalar_subquery().label("committed"),
        default_owner(_SITE).scalar_subquery().label("default_owner"),
        *repair_columns(),
        *of_states,
        watched(_SITE),
        *owners_now(_SITE),
    ).select_from(this.outerjoin(node, same))


def _path_below(name: str) -> str:
    """Return the pattern of the paths of entries of this node."""
    return "%//" + "".join(f"/{one}" if one in "/%_" else one for one in name)


def _error(item: Iterable[Any]) -> NodeErrorRecord:
    found = dict(zip(ERROR_FACTS, item, strict=True))
    found |= {fact: moment_or_none(found[fact]) for fact in ("time", "acknowledged_at")}
    return error_record(SimpleNamespace(**found))


def _event(site: str, name: str, item: Iterable[Any]) -> EventRecord:
    number, at, action_id, group, kind, message, data = item
    return EventRecord(number, moment(at), site, action_id, group, name, kind, message, json_value(data))


def _past(row: Row[*tuple[Any, ...]]) -> NodePast:
    return filled(
        NodePast,
        row,
        action_id=row.id,
        user=row.created_by,
        groups=tuple(groups_in(row.groups)),
        message=row.error,
    )
