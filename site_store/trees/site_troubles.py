"""The first failed nodes of each group of a site, for its messages: the same whatever the number of failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, literal, select, union_all

from site_store.sql.postgresql import json_columns, json_rows, names_table
from site_store.sql.rows import json_list
from site_store.status.status_records import SitePart, StatusCount
from site_store.tables import MEMBER, node, site_group, site_trouble
from site_store.trees.tree_facts import FirstTroubles
from strategy_lib.status.words import Status

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
