"""The statements that leaves of trees are read with: tasks of actions, nodes of sites, and the first that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, exists, func, literal, or_, select, union_all

from site_store.sql.postgresql import json_columns, json_rows, names_table
from site_store.sql.rows import json_list
from site_store.status.status_records import SitePart, StatusCount
from site_store.tables import (
    MEMBER,
    group_node,
    node,
    operation,
    site_group,
    site_group_node,
    site_trouble,
    task,
    task_trouble,
)
from site_store.trees.tree_facts import FirstTroubles
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, Phase
from strategy_lib.status.words import Status

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


MOST_TROUBLES = 10
TROUBLED = (Status.ERROR.value, Status.UNDEFINED.value)
"""What is shown of nodes of a site that are in trouble."""

Troubles = dict[str, defaultdict[str, list[FirstTroubles]]]
"""By site and by group, or the part that is no group."""


def site_troubles(tx: Connection, sites: Collection[str], counts: Iterable[StatusCount]) -> Troubles:
    """Return by site its first failed nodes, with the group or part that each stands under, in one statement.

    Of each group and status there are the first by name, and of each part that is no group. However many others there
    are, none of them is looked at: those of groups are in a table of their own, which triggers keep (`site_trouble`).

    Parameters
    ----------
    counts : the cells of the roll-up of these sites.
    """
    failed = [cell for cell in counts if cell.status in TROUBLED]
    if not failed:
        return {}
    given = {"sites": list(sites)}
    groups = {
        standing: sorted({cell.group for cell in failed if cell.group and cell.status == standing})
        for standing in TROUBLED
    }
    given |= {standing: list(names) for standing, names in groups.items() if names}
    outside = any(not cell.group and cell.phase != SitePart.GROUPED for cell in failed)
    found: Troubles = {}
    query = _query(tuple(name for name in TROUBLED if groups[name]), outside)
    for site, place, standing, (nodes, errors) in json_list(tx.scalar(query, given)):
        if nodes:
            found.setdefault(site, defaultdict(list))[place].append(first_troubles(standing, nodes, errors))
    return found


def first_troubles(standing: str, nodes: Sequence[str], errors: Sequence[str | None]) -> FirstTroubles:
    """Return nodes that stand so, each with its error, by name."""
    if nodes != sorted(nodes):
        order = sorted(range(len(nodes)), key=nodes.__getitem__)
        nodes, errors = [nodes[place] for place in order], [errors[place] for place in order]
    return FirstTroubles(standing, nodes, errors)


@cache
def _query(in_groups: tuple[str, ...], outside: bool) -> Select[Any]:
    """Select the first nodes in trouble of each group and status, and of what is no group where that is asked for.

    They are one list in JSON, each of a site, a group or part, how its nodes stand, and their names and errors.

    Parameters of the statement: `sites`, and under each word of `in_groups` the groups that have nodes that stand so.
    """
    parts = []
    for standing in in_groups:
        these, groups = (select(names_table(key).c.value) for key in ("sites", standing))
        here = (site_group.c.site.in_(these), site_group.c.name.in_(groups))
        nodes = _of_group(standing).label("nodes")
        stand = literal(standing).label("standing")
        parts.append(select(site_group.c.site, site_group.c.name.label("place"), stand, nodes).where(*here))
    if outside:
        in_group = exists().where(MEMBER)
        wanted = node.c.wanted_digest.is_not(None)
        for standing in TROUBLED:
            parts.append(_of_part(standing, SitePart.TO_BE_REMOVED, ~wanted))
            parts.append(_of_part(standing, SitePart.NO_GROUP, wanted, ~in_group.correlate(node)))
    if len(parts) == 1:
        return select(json_rows(parts[0]))
    both = union_all(*parts).subquery()
    return select(json_rows(select(*both.c)))


def _of_group(standing: str) -> ColumnElement[str]:
    """Return a column of `site_group`: its first nodes that stand so."""
    trouble = site_trouble.c
    first = (
        select(trouble.node, trouble.error)
        .where(trouble.site == site_group.c.site, trouble.group_name == site_group.c.name, trouble.standing == standing)
        .order_by(trouble.node)
        .limit(MOST_TROUBLES)
        .correlate(site_group)
        .subquery()
    )
    return json_columns(select(*first.c))


def _of_part(standing: str, part: SitePart, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Select by site the first nodes that stand so and are in no group, by an index."""
    these = names_table("sites")
    first = (
        select(node.c.name, node.c.error)
        .where(node.c.site == these.c.value, node.c.standing == standing, *conditions)
        .order_by(node.c.name)
        .limit(MOST_TROUBLES)
        .correlate(these)
        .subquery()
    )
    place, stand = literal(str(part)).label("place"), literal(standing).label("standing")
    nodes = json_columns(select(*first.c)).label("nodes")
    return select(these.c.value.label("site"), place, stand, nodes)
