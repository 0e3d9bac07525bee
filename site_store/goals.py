"""What is wanted of a site's nodes and what was done: read so that what needs nothing costs little."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, or_, select

from site_store.database import Repository
from site_store.dialects import among, json_values
from site_store.node_records import NodeRecord
from site_store.nodes import node_record
from site_store.tables import node, revision, site_group, site_group_node
from strategy_lib.status.words import Status
from strategy_lib.strategy import Group
from strategy_lib.strategy_parser import group_from_data

# Beyond so many names the groups of all nodes are read: that is faster than looking them up.
_MOST_LOOKED_UP = 20_000


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
    records: Mapping[str, NodeRecord] = field(default_factory=dict)
    groups: tuple[GroupGoal, ...] = ()
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Goals(Repository):
    """Goals of sites."""

    def of_site(self, site: str, deployed: Set[str]) -> SiteGoals:
        """Return what is wanted and done. Only nodes that may have something to do are read as a whole.

        Parameters
        ----------
        deployed : the nodes that the provisioner shows as deployed: the others are not as they were left.
        """
        here = node.c.site == site
        in_view = or_(node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None))
        good = node.c.standing == Status.SUCCESS
        # Two ranges of the index on it; "not equal" would look at every node.
        dirty = or_(node.c.standing < Status.SUCCESS, node.c.standing > Status.SUCCESS)
        groups = select(site_group).where(site_group.c.site == site).order_by(site_group.c.position)
        membership = select(site_group_node.c.group_name, site_group_node.c.node).where(site_group_node.c.site == site)
        sizes = (
            select(site_group_node.c.group_name, func.count().label("total"))
            .where(site_group_node.c.site == site)
            .group_by(site_group_node.c.group_name)
        )

        def work(tx: Connection) -> SiteGoals:
            newest = tx.scalar(select(func.max(revision.c.number)).where(revision.c.site == site))
            # Most are done for few versions: their names as one list take a quarter of the time of a row for each.
            done_for = (node.c.done_version, node.c.done_revision)
            done = select(*done_for, json_values(tx.dialect.name, node.c.name)).where(here, good).group_by(*done_for)
            clean: dict[str, tuple[int | None, int | None]] = {}
            for version, number, names in tx.execute(done):
                clean.update(dict.fromkeys(json.loads(names), (version, number)))
            suspects = clean.keys() - deployed
            rows = list(tx.execute(select(node).where(here, in_view, dirty)))
            if suspects:
                rows += tx.execute(select(node).where(here, among(tx, node.c.name, suspects)))
            records = {row.name: node_record(row) for row in rows}
            for name in suspects:
                del clean[name]
            few = membership
            if len(records) <= _MOST_LOOKED_UP:
                few = membership.where(among(tx, site_group_node.c.node, records))
            members: dict[str, list[str]] = {}
            for group, name in tx.execute(few):
                if name in records:
                    members.setdefault(group, []).append(name)
            totals: dict[str, int] = {row.group_name: row.total for row in tx.execute(sizes)}
            return SiteGoals(
                newest,
                clean,
                dict(sorted(records.items())),
                tuple(
                    GroupGoal(
                        row.name,
                        row.critical,
                        tuple(row.depends_on),
                        totals.get(row.name, 0),
                        tuple(sorted(members.get(row.name, ()))),
                        group_from_data(row.definition),
                    )
                    for row in tx.execute(groups)
                ),
                _edges(tx, site) if records else {},
            )

        return self._database.read(work)


def _edges(tx: Connection, site: str) -> dict[str, tuple[str, ...]]:
    query = select(node.c.name, node.c.depends_on).where(node.c.site == site, node.c.depends_on.is_not(None))
    # Thousands of nodes wait for the same few: one tuple serves them all.
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = {}
    for name, others in tx.execute(query):
        these = tuple(others)
        found[name] = shared.setdefault(these, these)
    return found
