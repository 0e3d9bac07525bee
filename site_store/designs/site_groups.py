"""The committed strategy of a site: its groups with their nodes, and the racks of the nodes; written by a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Text, and_, delete, literal, select, true, update

from site_store.records import PlannedGroup
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, insert, names, pairs, text_rows
from site_store.sql.rows import filled
from site_store.status.status_records import SiteGroupRecord
from site_store.tables import node, site_group, site_group_node
from strategy_lib.strategy import group_to_data


def write_site_groups(tx: Connection, site: str, groups: Sequence[PlannedGroup]) -> None:
    """Say in the caller's transaction which groups a site has, and which nodes; only what differs is written.

    The site's nodes must be locked (`nodes.write_wanted`).
    """
    here = [planned.group.name for planned in groups]
    gone = site_group_node.c.group_name.not_in(names(here))
    tx.execute(delete(site_group_node).where(site_group_node.c.site == site, gone))
    tx.execute(delete(site_group).where(site_group.c.site == site, site_group.c.name.not_in(names(here))))
    if groups:
        rows = insert(site_group).values([_row(site, position, planned) for position, planned in enumerate(groups)])
        new = {name: rows.excluded[name] for name in ("position", "critical", "depends_on", "definition")}
        tx.execute(rows.on_conflict_do_update(index_elements=["site", "name"], set_=new))
    before = select(site_group_node.c.group_name, site_group_node.c.node).where(site_group_node.c.site == site)
    known: dict[str, set[str]] = {}
    for group, name in tx.execute(before):
        known.setdefault(group, set()).add(name)
    come: list[tuple[str, str]] = []
    for planned in groups:
        name, wanted = planned.group.name, frozenset(planned.nodes)
        there = known.get(name, set())
        left = sorted(there - wanted)
        if left:
            this = and_(site_group_node.c.site == site, site_group_node.c.group_name == name)
            tx.execute(delete(site_group_node).where(this, among(site_group_node.c.node, left)))
        come += [(name, member) for member in sorted(wanted - there)]
    if come:
        # One statement for all groups: the roll-up counts once for each.
        members = text_rows(("key", "value"), come)
        facts = select(literal(site, Text()), members.c.key, members.c.value).where(true())
        added = insert(site_group_node).from_select(["site", "group_name", "node"], facts)
        tx.execute(added.on_conflict_do_nothing())


def write_racks(tx: Connection, site: str, racks: Mapping[str, str]) -> None:
    """Say in the caller's transaction in which rack each node stands; those that are not named are in none."""
    stands: dict[str, str | None] = {
        row.name: row.rack for row in tx.execute(select(node.c.name, node.c.rack).where(node.c.site == site))
    }
    moved = {name: racks[name] for name, rack in sorted(stands.items()) if name in racks and racks[name] != rack}
    if moved:
        placed = pairs(moved)
        here = (node.c.site == site, node.c.name == placed.c.key)
        tx.execute(update(node).where(*here).values(rack=placed.c.value))
    none = sorted(name for name, rack in stands.items() if rack is not None and name not in racks)
    if none:
        tx.execute(update(node).where(node.c.site == site, among(node.c.name, none)).values(rack=None))


def write_order(tx: Connection, site: str, groups: Sequence[PlannedGroup]) -> None:
    """Say in the caller's transaction which nodes each node of a group waits for; others wait for none (rule 39)."""
    wanted = {name: list(others) for planned in groups for name, others in planned.plan.waits_for.items()}
    query = select(node.c.name, node.c.depends_on).where(node.c.site == site, node.c.depends_on.is_not(None))
    known: dict[str, list[str]] = {row.name: list(row.depends_on) for row in tx.execute(query)}
    # Thousands of nodes wait for the same few.
    lists: dict[tuple[str, ...] | None, list[str]] = {}
    for name in sorted(known.keys() | wanted.keys()):
        if known.get(name) != wanted.get(name):
            lists.setdefault(tuple(wanted[name]) if name in wanted else None, []).append(name)
    for others, nodes in lists.items():
        these = (node.c.site == site, among(node.c.name, nodes))
        tx.execute(update(node).where(*these).values(depends_on=None if others is None else list(others)))


class SiteGroups(Repository):
    """Groups of sites, as they were committed."""

    def of_site(self, site: str) -> list[SiteGroupRecord]:
        """Return the groups of a site in processing order; empty before its first commit."""
        query = select(site_group).where(site_group.c.site == site).order_by(site_group.c.position)
        return self._database.read(
            lambda tx: [filled(SiteGroupRecord, row, depends_on=tuple(row.depends_on)) for row in tx.execute(query)]
        )

    def nodes(self, site: str) -> dict[str, tuple[str, ...]]:
        """Return the nodes of each group of a site, by name; a group without nodes is left out."""
        query = select(site_group_node.c.group_name, site_group_node.c.node).where(site_group_node.c.site == site)
        found: dict[str, list[str]] = {}
        for group, name in self._database.read(lambda tx: tx.execute(query).all()):
            found.setdefault(group, []).append(name)
        return {group: tuple(sorted(members)) for group, members in sorted(found.items())}


def _row(site: str, position: int, planned: PlannedGroup) -> dict[str, object]:
    return {
        "site": site,
        "name": planned.group.name,
        "position": position,
        "critical": planned.group.critical,
        "depends_on": list(planned.group.depends_on),
        "definition": group_to_data(planned.group),
    }
