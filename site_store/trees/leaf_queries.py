"""The statements that leaves of status trees are read with: tasks of actions, and nodes of sites."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, or_, select, union_all

from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, group_node, node, operation, site_group_node, task, task_trouble
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, Phase

_IS_IN_TROUBLE = and_(
    task_trouble.c.action_id == task.c.action_id,
    task_trouble.c.owner_group == func.coalesce(task.c.owner_group, ""),
    task_trouble.c.node == task.c.node,
    task_trouble.c.phase == task.c.phase,
)
# A word that nobody knows is undefined, the highest of all.
_WORST = {"error": 1, "unknown": 2, "withheld": 3, "processing": 4, "pending": 5, "success": 6, "deleted": 6}


def _rank(status: ColumnElement[str]) -> ColumnElement[int]:
    return case(*((status == word, place) for word, place in _WORST.items()), else_=0)


def leaf_query(*, of_groups: bool = False) -> Select[Any]:
    """Select tasks of actions, under each group that their node is in; those of a step have the group "".

    Parameters
    ----------
    of_groups : only nodes of groups.
    """
    under = func.coalesce(group_node.c.group_name, "").label("group_name")
    member = and_(
        group_node.c.action_id == task.c.action_id,
        group_node.c.node == task.c.node,
        task.c.phase.in_(GROUP_PHASES),
    )
    joined = group_node.join(task, member) if of_groups else task.outerjoin(group_node, member)
    joined = joined.outerjoin(operation, operation.c.op == task.c.op)
    prepare = task.alias("prepare")
    unprepared = and_(
        prepare.c.action_id == task.c.action_id,
        prepare.c.node == task.c.node,
        prepare.c.phase == Phase.PREPARE,
        prepare.c.status.in_((TaskStatus.ERROR, TaskStatus.UNKNOWN)),
        task.c.status == TaskStatus.PENDING,
        task.c.phase != Phase.PREPARE,
    )
    joined = joined.outerjoin(prepare, unprepared)
    not_prepared = func.coalesce(prepare.c.error, prepare.c.status).label("not_prepared")
    facts = [task.c[name] for name in ("action_id", "node", "phase", "status", "owner", "owner_group", "op")]
    names = ("error", "fixed", "started", "ended", "tries", "held", "done_op", "done_revision", "wanted_version")
    more = [task.c[name] for name in names]
    of_operation = [operation.c.provisioner_task, operation.c.status.label("operation_status")]
    return select(under, *facts, *more, *of_operation, not_prepared).select_from(joined)


def leaf_page(
    action_id: str,
    group: str | None,
    phase: str | None,
    statuses: Collection[str],
    after: tuple[str, str, str] | None,
) -> Select[Any]:
    """Select tasks of an action in the order of `Trees.group_nodes`, behind one of them."""
    under: ColumnElement[str] = func.coalesce(group_node.c.group_name, "")
    query = leaf_query().where(task.c.action_id == action_id)
    if group:
        # The nodes of one group are found by it, and not among the tasks of all.
        under = group_node.c.group_name
        query = leaf_query(of_groups=True).where(group_node.c.action_id == action_id, under == group)
    elif group is not None:
        query = query.where(under == group)
    if phase is not None:
        query = query.where(task.c.phase == phase)
    if statuses:
        query = query.where(task.c.status.in_(statuses))
        if {TaskStatus.ERROR, TaskStatus.UNKNOWN}.issuperset(statuses):
            # They are few, and found by a table of their own; their group follows from the task.
            query = query.join(task_trouble, _IS_IN_TROUBLE)
    if after is not None:
        name, in_group, in_phase = after
        later = or_(under > in_group, and_(under == in_group, task.c.phase > in_phase))
        query = query.where(task.c.node >= name, or_(task.c.node > name, later))
    return query.order_by(task.c.node, under, task.c.phase)


def leaf_pages(pages: Iterable[tuple[bool, Select[Any]]]) -> Select[Any]:
    """Select pages of tasks by one statement, each in its order; `is_troubled`, given with each, tells them apart."""
    told_apart = [select(*page.subquery().c, literal(troubled).label("is_troubled")) for troubled, page in pages]
    both = union_all(*told_apart).subquery().c
    return select(*both).order_by(both.is_troubled, both.node, both.group_name, both.phase)


def worst_leaves(action_ids: Iterable[str], most: int) -> Select[Any]:
    every = leaf_query().where(task.c.action_id.in_(action_ids)).subquery()
    place = func.row_number().over(
        partition_by=(every.c.action_id, every.c.group_name, every.c.phase),
        order_by=(_rank(every.c.status), every.c.node),
    )
    ranked = select(*every.c, place.label("place")).subquery()
    return select(*ranked.c).where(ranked.c.place <= most).order_by(ranked.c.group_name, ranked.c.place)


def worst_nodes(site: str, most: int) -> Select[Any]:
    """Select nodes of a site under each group that they are in, of each group so many, the worst first.

    Those that are in no group stand under "no group", those that left the design under "to be removed".
    """
    under = case(
        (node.c.wanted_digest.is_(None), SitePart.TO_BE_REMOVED.value),
        else_=func.coalesce(site_group_node.c.group_name, SitePart.NO_GROUP.value),
    ).label("under")
    every = select(under, *node.c).select_from(node.outerjoin(site_group_node, MEMBER)).where(node.c.site == site)
    table = every.subquery()
    place = func.row_number().over(partition_by=table.c.under, order_by=(_rank(table.c.standing), table.c.name))
    ranked = select(*table.c, place.label("place")).subquery()
    return select(*ranked.c).where(ranked.c.place <= most).order_by(ranked.c.under, ranked.c.place)
