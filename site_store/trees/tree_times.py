"""When owners wrote first and last: of each phase of an action, and of each group of a site, however deep one looks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, Subquery, case, func, or_, select

from site_store.sql.postgresql import json_rows
from site_store.status.counting import nodes_of
from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, action, action_step, node, operation, site_group_node, status_count

MOST_NODES = 10_000
"""Of a site with more nodes the times of groups are those of their tasks: all nodes would have to be looked at."""
LOOKED_AT = 10
"""They are read from this many of the first and of the last actions of a large site."""


def operation_times() -> ColumnElement[str]:
    """Return a column of `action`: group ("" for none), phase, first and last time of its operations."""
    group = func.coalesce(operation.c.group_name, "").label("group_name")
    first = func.min(operation.c.created).label("first")
    last = func.max(func.coalesce(operation.c.ended, operation.c.submitted, operation.c.created)).label("last")
    times = (
        select(group, operation.c.phase, first, last)
        .where(operation.c.action_id == action.c.id)
        .group_by(group, operation.c.phase)
        .correlate(action)
        .subquery()
    )
    return json_rows(select(*times.c))


def operation_spans() -> ColumnElement[str]:
    """Return a column of `action`: when each operation of its groups was at work, as fields of `OperationSpan`."""
    begun = func.coalesce(operation.c.running_since, operation.c.submitted, operation.c.created)
    facts = (operation.c.op, operation.c.group_name, operation.c.phase, operation.c.attempt, operation.c.status)
    spans = select(*facts, begun, operation.c.ended).where(operation.c.action_id == action.c.id)
    return json_rows(spans.where(operation.c.group_name.is_not(None)).correlate(action))


def last_update(site: ColumnElement[str]) -> Select[Any]:
    """Select when a node of a site was updated last: the end of an index."""
    return select(func.max(node.c.last_updated)).where(node.c.site == site)


def node_times(these: Subquery) -> ColumnElement[str]:
    """Return a column of a table of sites: group or part, first and last update of its nodes.

    Of a large site: first beginning and last end of the task of each group, in the first and in the last actions.
    """
    site = these.c.value
    under = case(
        (node.c.wanted_digest.is_(None), SitePart.TO_BE_REMOVED.value),
        else_=func.coalesce(site_group_node.c.group_name, SitePart.NO_GROUP.value),
    ).label("under")
    times = (
        select(
            under,
            func.min(node.c.first_updated).label("first"),
            func.max(func.coalesce(node.c.last_updated, node.c.done_at)).label("last"),
        )
        .select_from(node.outerjoin(site_group_node, MEMBER))
        .where(node.c.site == site)
        .group_by(under)
        .correlate(these)
        .subquery()
    )
    number = select(func.sum(status_count.c.records)).where(*nodes_of(site)).correlate(these)
    few = number.scalar_subquery() <= MOST_NODES
    return case((few, json_rows(select(*times.c))), else_=json_rows(_task_times(these)))


def _task_times(these: Subquery) -> Select[Any]:
    """Select of each group of a site when its tasks began first and ended last."""
    own = (action.c.site == these.c.value, action.c.dry_run.is_(False))
    chosen = []
    for order in (action.c.id, action.c.id.desc()):
        some = select(action.c.id).where(*own).order_by(order).limit(LOOKED_AT).correlate(these).subquery()
        chosen.append(action_step.c.action_id.in_(select(some.c.id)))
    begun = action_step.c.started
    times = (
        select(
            action_step.c.group_name,
            func.min(begun).label("first"),
            func.max(func.coalesce(action_step.c.ended, begun)).label("last"),
        )
        .where(or_(*chosen), action_step.c.group_name != "", begun.is_not(None))
        .group_by(action_step.c.group_name)
        .correlate(these)
        .subquery()
    )
    return select(*times.c)
