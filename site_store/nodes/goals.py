"""What is wanted of a site's nodes, as a commit writes it, and what was done (rule 37).

It is read so that what needs nothing costs little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Connection,
    Executable,
    Select,
    Text,
    bindparam,
    cast,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
    update,
)

from site_store.nodes.node_status import provisioner_owner
from site_store.nodes.nodes import node_row
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, by_code_point, insert, json_rows, pairs_of
from site_store.sql.rows import json_list, json_value
from site_store.status.owner_queries import default_owner
from site_store.tables import MEMBER, node, revision, site_group, site_group_node
from strategy_lib.parsing.strategy_parser import group_from_data
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status
from strategy_lib.strategy import Group

_SITE = bindparam("site", type_=node.c.site.type)


@dataclass(frozen=True, slots=True)
class GroupGoal:
    """A group of the committed strategy: how many nodes it has, and which of them may have something to do.

    `definition` is None where nobody asks for it.
    """

    name: str
    critical: bool
    depends_on: tuple[str, ...]
    total: int
    nodes: tuple[str, ...] = ()
    definition: Group | None = None


@dataclass(frozen=True, slots=True)
class SiteGoals:
    """What is wanted and done, in one snapshot.

    Attributes
    ----------
    revision : the newest; None before the first commit.
    clean : the nodes that are as wanted, by name: the version and the revision that each was done for.
    records : the other nodes that are wanted, or left the design after something was done to them, by name.
    groups : in processing order.
    edges : node to the nodes that it waits for; empty where no node has anything to do.
    """

    revision: int | None
    clean: Mapping[str, tuple[int | None, int | None]]
    records: Mapping[str, NodeRow] = field(default_factory=dict)
    groups: tuple[GroupGoal, ...] = ()
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Goals(Repository):
    """Goals of sites."""

    def of_site(self, site: str, deployed: Set[str]) -> SiteGoals:
        """Return what is wanted and done, by two statements. Only what may have something to do is read as a whole.

        Parameters
        ----------
        deployed : the nodes that the provisioner shows as deployed: the others are not as they were left.
        """
        given = {"site": site}

        def work(tx: Connection) -> SiteGoals:
            whole = tx.execute(_whole(), given).one()
            clean: dict[str, tuple[int | None, int | None]] = {}
            edges: dict[str, tuple[str, ...]] = {}
            for version, number, waits_for, names in json_list(whole.clean):
                clean.update(dict.fromkeys(names, (version, number)))
                if waits_for is not None:
                    # Thousands of nodes wait for the same few: one tuple serves them all.
                    edges.update(dict.fromkeys(names, tuple(json_value(waits_for))))
            suspects = clean.keys() - deployed
            some: Executable = _dirty()
            if suspects:
                some = union_all(_dirty(), _nodes().where(among(node.c.name, suspects)))
            records: dict[str, NodeRow] = {}
            members: defaultdict[str, list[str]] = defaultdict(list)
            for row in tx.execute(some, given):
                # A node of several groups has a row for each.
                if row.name not in records:
                    records[row.name] = node_row(row)
                    if row.depends_on is not None:
                        edges[row.name] = tuple(row.depends_on)
                if row.group_name is not None:
                    members[row.group_name].append(row.name)
            for name in suspects:
                del clean[name]
            return SiteGoals(
                whole.newest,
                clean,
                dict(sorted(records.items())),
                tuple(_group(item, members) for item in sorted(json_list(whole.groups), key=itemgetter(0))),
                dict(sorted(edges.items())) if records else {},
            )

        return self._database.read(work)


def _group(item: Sequence[Any], members: Mapping[str, Sequence[str]]) -> GroupGoal:
    """Return a group, as `_whole` selects it, with those of its nodes that were read as a whole."""
    _, name, critical, depends_on, definition, total = item
    nodes = tuple(sorted(members.get(name, ())))
    return GroupGoal(name, bool(critical), tuple(depends_on), total, nodes, group_from_data(definition))


@cache
def _whole() -> Select[Any]:
    """Select the newest revision, the nodes that are as wanted, and the groups with their sizes; a parameter: `site`.

    Most nodes are done for few versions and wait for the same others: their names as one list take a quarter of the
    time of a row for each.
    """
    alike = (node.c.done_version, node.c.done_revision, cast(node.c.depends_on, Text).label("depends_on"))
    clean = (
        select(*alike, func.json_agg(node.c.name).label("names"))
        .where(node.c.site == _SITE, node.c.standing == Status.SUCCESS)
        .group_by(*alike)
        .subquery()
    )
    total = (
        select(func.count())
        .where(site_group_node.c.site == site_group.c.site, site_group_node.c.group_name == site_group.c.name)
        .correlate(site_group)
        .scalar_subquery()
    )
    groups = select(
        site_group.c.position,
        site_group.c.name,
        site_group.c.critical,
        site_group.c.depends_on,
        site_group.c.definition,
        total,
    ).where(site_group.c.site == _SITE)
    done = (clean.c.done_version, clean.c.done_revision, clean.c.depends_on)
    return select(
        select(func.max(revision.c.number)).where(revision.c.site == _SITE).scalar_subquery().label("newest"),
        json_rows(select(*done, clean.c.names)).label("clean"),
        json_rows(groups).label("groups"),
    )


@cache
def _dirty() -> Select[Any]:
    """Select the nodes that are not as wanted."""
    in_view = or_(node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None))
    # Two ranges of the index on it; "not equal" would look at every node.
    dirty = or_(node.c.standing < Status.SUCCESS, node.c.standing > Status.SUCCESS)
    return _nodes().where(in_view, dirty)


@cache
def _nodes() -> Select[Any]:
    """Select the nodes of a site, once for each group that a node is in; a parameter: `site`."""
    return (
        select(*node.c, site_group_node.c.group_name)
        .select_from(node.outerjoin(site_group_node, MEMBER))
        .where(node.c.site == _SITE)
    )


# At most this many nodes are written by one statement, which must end within the database's time limit.
_AT_ONCE = 50_000


def write_wanted(
    tx: Connection, site: str, revision: int, digests: Mapping[str, str], racks: Mapping[str, str] | None = None
) -> None:
    """Say in the caller's transaction what a revision wants: these nodes, each in this version, and no others.

    What stays as it is keeps the revision that brought it, and its version: a commit that changes nothing of a node
    raises nothing (rule 37). The version of a node that leaves the design and comes back goes on. A new version has not
    been tried yet: failures are of the one before.
    The site's nodes are locked by name, so that two who do so at once do not wait for each other.

    Parameters
    ----------
    racks : the racks of nodes, which a node that the site does not have yet gets at once; of others `write_racks`
        writes those that differ.
    """
    by_name = by_code_point(node.c.name)
    locked = select(node.c.name, node.c.wanted_revision).where(node.c.site == site).order_by(by_name).with_for_update()
    gone = [name for name, number in tx.execute(locked).all() if number is not None and name not in digests]
    # Of nodes that no action has considered yet: who works on the others.
    owner = tx.scalar(default_owner(site)) or provisioner_owner(None)
    sorted_digests = sorted(digests.items())
    for first in range(0, len(sorted_digests), _AT_ONCE):
        _want(tx, site, revision, dict(sorted_digests[first : first + _AT_ONCE]), racks or {}, owner)
    if gone:
        left = update(node).where(node.c.site == site, among(node.c.name, gone))
        tx.execute(left.values(wanted_revision=None, wanted_digest=None, version=node.c.version + 1))


def _want(
    tx: Connection, site: str, revision: int, digests: Mapping[str, str], racks: Mapping[str, str], owner: str
) -> None:
    """Write that these nodes are wanted with these digests, by one statement."""
    wanted = pairs_of({name: (digest, racks.get(name)) for name, digest in digests.items()})
    rows = insert(node).from_select(
        ["site", "name", "wanted_revision", "wanted_digest", "wanted_version", "owner", "rack"],
        select(
            literal(site),
            wanted.c.key,
            literal(revision),
            wanted.c.first,
            literal(1),
            literal(owner),
            wanted.c.second,
        ).where(true()),
    )
    tx.execute(
        rows.on_conflict_do_update(
            index_elements=["site", "name"],
            set_={
                "wanted_revision": rows.excluded.wanted_revision,
                "wanted_digest": rows.excluded.wanted_digest,
                "wanted_version": func.coalesce(node.c.wanted_version, 0) + 1,
                "failures": 0,
                "next_try": None,
                "version": node.c.version + 1,
            },
            where=node.c.wanted_digest.is_distinct_from(rows.excluded.wanted_digest),
        )
    )
