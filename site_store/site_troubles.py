"""The first failed nodes of each group of a site, for its messages: the same whatever the number of failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, exists, null, select, union_all

from site_store.dialects import json_rows, names_table, names_value, nested_rows
from site_store.status_records import SitePart, StatusCount
from site_store.tables import node, site_group, site_group_node
from site_store.tree_facts import TroubleFacts
from site_store.tree_rows import json_list
from site_store.tree_times import MEMBER
from strategy_lib.status.words import Status

MOST_TROUBLES = 10
TROUBLED = (Status.ERROR.value, Status.UNDEFINED.value)
"""What is shown of nodes of a site that are in trouble."""
_COST = 3
"""To list a failed node with its groups takes so many times as long as to look at a member of a group."""

Troubles = dict[str, list[tuple[str, TroubleFacts]]]


def site_troubles(tx: Connection, sites: Collection[str], counts: Iterable[StatusCount]) -> Troubles:
    """Return by site its first failed nodes, with the group or part that each stands under, in one statement.

    Of each group and status there are the first by name, and perhaps more of them. Where few have failed, all of them
    are listed; where many have, the members of each group are looked at until enough are found.

    Parameters
    ----------
    counts : the cells of the roll-up of these sites.
    """
    cells = list(counts)
    dialect, given = tx.dialect.name, {"sites": names_value(tx, sites)}
    failed = [cell for cell in cells if cell.status in TROUBLED and not cell.group]
    if not failed:
        return {}
    members = _members_to_look_at(cells)
    if sum(members.values()) < _COST * sum(cell.records for cell in failed):
        outside = any(cell.phase != SitePart.GROUPED for cell in failed)
        rows = tx.execute(_of_members(dialect, outside), {**given, "groups": names_value(tx, members)})
    else:
        rows = tx.execute(_of_failed(dialect), given)
    found: Troubles = {}
    for row in rows:
        for name, standing, error, place, groups in json_list(row.nodes):
            places = [place] if place is not None else [group for (group,) in json_list(groups)]
            trouble = TroubleFacts(name, "", standing, error, None)
            found.setdefault(row.site, []).extend((one, trouble) for one in places or [SitePart.NO_GROUP.value])
    return found


def _members_to_look_at(cells: Iterable[StatusCount]) -> dict[str, int]:
    """Return for each group with failed nodes about how many of its members are looked at until enough are found."""
    members: defaultdict[str, int] = defaultdict(int)
    failed: defaultdict[str, int] = defaultdict(int)
    for cell in cells:
        if cell.group:
            members[cell.group] += cell.records
            failed[cell.group] += cell.records if cell.status == Status.ERROR else 0
    return {
        group: min(members[group], members[group] * (MOST_TROUBLES + 1) // (number + 1))
        for group, number in failed.items()
        if number
    }


@cache
def _of_failed(dialect: str) -> Select[Any]:
    """Select all failed nodes of sites; a parameter: `sites`."""
    return _listed(dialect, TROUBLED)


@cache
def _of_members(dialect: str, outside: bool) -> Select[Any]:
    """Select the first failed nodes among the members of each group, and all that are undefined: those are few.

    Parameters of the statement: `sites`, and `groups` with failed nodes.

    Parameters
    ----------
    outside : also the first failed ones that are in no group, or left the design.
    """
    failed = (
        select(node.c.name, node.c.standing, node.c.error, site_group.c.name.label("place"), null().label("groups"))
        .select_from(site_group_node.join(node, MEMBER))
        .where(
            site_group_node.c.site == site_group.c.site,
            site_group_node.c.group_name == site_group.c.name,
            node.c.standing == Status.ERROR.value,
        )
        .order_by(site_group_node.c.node)
        .limit(MOST_TROUBLES)
        .correlate(site_group)
        .subquery()
    )
    these, groups = (select(names_table(dialect, key).c.value) for key in ("sites", "groups"))
    parts = [
        select(site_group.c.site, json_rows(dialect, select(*failed.c)).label("nodes")).where(
            site_group.c.site.in_(these), site_group.c.name.in_(groups)
        ),
        _listed(dialect, (Status.UNDEFINED.value,)),
    ]
    if outside:
        in_group = exists().where(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
        for place in (node.c.wanted_digest.is_(None), node.c.wanted_digest.is_not(None) & ~in_group.correlate(node)):
            parts.append(_listed(dialect, (Status.ERROR.value,), place, most=MOST_TROUBLES))
    both = union_all(*parts).subquery()
    return select(both.c.site, both.c.nodes)


def _listed(
    dialect: str, standings: Collection[str], *conditions: ColumnElement[bool], most: int | None = None
) -> Select[Any]:
    """Select by site the nodes that stand so, with the groups that they are in, by an index.

    The groups are looked up for each node: a join would go through all members of all groups.

    Parameters
    ----------
    most : only the first so many by name; None: all.
    """
    these = names_table(dialect, "sites")
    place = case((node.c.wanted_digest.is_(None), SitePart.TO_BE_REMOVED.value)).label("place")
    found = (
        select(node.c.site, node.c.name, node.c.standing, node.c.error, place)
        .where(node.c.site == these.c.value, node.c.standing.in_(standings), *conditions)
        .order_by(node.c.standing, node.c.name)
        .limit(most)
        .correlate(these)
        .subquery()
    )
    in_groups = (
        select(site_group_node.c.group_name)
        .where(site_group_node.c.site == found.c.site, site_group_node.c.node == found.c.name)
        .correlate(found)
    )
    facts = (found.c.name, found.c.standing, found.c.error, found.c.place)
    listed = select(*facts, nested_rows(dialect, in_groups).label("groups"))
    return select(these.c.value.label("site"), json_rows(dialect, listed).label("nodes"))
