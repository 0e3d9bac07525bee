"""Which sites there are, the versions that each has of its documents, and what stands in them: its strategy too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    delete,
    exists,
    literal,
    null,
    or_,
    select,
    true,
    union,
    update,
)

from site_store.designs.contents import (
    CollectionRecord,
    Part,
    RevisionNotFound,
    Version,
    changed,
    digests,
    newest_number,
    posted_parts,
    read_texts,
    revision_parts,
)
from site_store.nodes.repair_switches import RepairSwitch, switch_of
from site_store.records import ActionState, PlannedGroup
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, by_code_point, insert, json_rows, names, pairs, text_rows
from site_store.sql.rows import json_list, json_value
from site_store.tables import action, buffer, node, repair_switch, revision, site_group, site_group_node
from site_store.tables import site as site_table
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SiteSettings, parse_site_settings
from strategy_lib.strategy import group_to_data

_ENDS = tuple(state for state in ActionState if state.is_end)
_MISSING = {
    Version.BUFFER: "its buffer is empty",
    Version.COMMITTED: "nothing was committed yet",
    Version.LAST_SITE_ACTION: "no action that brings the whole site to a revision is over yet",
    Version.SUCCESSFUL_SITE_ACTION: "no action that brings the whole site to a revision has succeeded yet",
}


# Where a site that exists is named.
_PLACES = (site_table.c.name, buffer.c.site, action.c.site)


def is_known(site: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a site has a revision, a buffer or an action."""
    return or_(*(exists().where(column == site) for column in _PLACES))


def _known(after: str | None, limit: int | None) -> Select[tuple[str]]:
    named = union(*(select(column.label("name")) for column in _PLACES)).subquery()
    name = by_code_point(named.c.name)
    query = select(named.c.name).order_by(name).limit(limit)
    return query if after is None else query.where(name > after)


def read_version(tx: Connection, site: str, version: Version) -> int | None:
    """Return the revision's number of a version; of the buffer, the number that it would get."""
    if version is Version.COMMITTED:
        return newest_number(tx, site)
    if version is Version.BUFFER:
        return (newest_number(tx, site) or 0) + 1 if posted_parts(tx, site) else None
    states = _ENDS if version is Version.LAST_SITE_ACTION else (ActionState.SUCCESS,)
    number: int | None = tx.scalar(
        select(action.c.revision)
        .where(
            action.c.site == site,
            action.c.dry_run.is_(False),
            action.c.targeted.is_(False),
            action.c.started.is_not(None),
            action.c.revision.is_not(None),
            action.c.state.in_(states),
        )
        .order_by(action.c.id.desc())
        .limit(1)
    )
    return number


class Sites(Repository):
    """Sites and their versions."""

    def committed(self) -> list[str]:
        """Return the names of all sites that have a revision, sorted."""
        return self._database.read_once(lambda tx: sorted(tx.scalars(select(site_table.c.name))))

    def exists(self, site: str) -> bool:
        """Whether a site has a revision, a buffer or an action: one that is only asked for does not exist."""
        query = select(is_known(literal(site)))
        return self._database.read_once(lambda tx: bool(tx.scalar(query)))

    def known(self, after: str | None = None, limit: int | None = None) -> list[str]:
        """Return the names of sites that exist, as `exists` has it, sorted.

        Parameters
        ----------
        after : only those behind this name, for the next page.
        limit : how many at most; None: all.
        """
        return self._database.read_once(lambda tx: list(tx.scalars(_known(after, limit))))

    def known_with_switches(
        self, after: str | None, limit: int | None = None
    ) -> tuple[list[str], dict[str, RepairSwitch]]:
        """Return the same, and all switches that stop repair, by site; by one statement."""

        def work(tx: Connection) -> tuple[list[str], dict[str, RepairSwitch]]:
            page = _known(after, limit).subquery()
            switches = select(*(repair_switch.c[name] for name in ("site", "stopped_at", "stopped_by", "reason")))
            rows = tx.execute(switches.union_all(select(page.c.name, null(), null(), null()))).all()
            # Who stopped it is known of each switch.
            named = sorted(row.site for row in rows if row.stopped_by is None)
            return named, {row.site: switch_of(row) for row in rows if row.stopped_by is not None}

        return self._database.read_once(work)

    def version_number(self, site: str, version: Version) -> int | None:
        """Return the revision's number of a version, None when the site has none; of the buffer the next number."""
        return self._database.read(lambda tx: read_version(tx, site, version))

    def versions(self, site: str) -> Mapping[Version, int | None]:
        """Return the number of each version, read in one snapshot."""
        return self._database.read(lambda tx: {version: read_version(tx, site, version) for version in Version})

    def collections(self, site: str, version: Version | int) -> list[CollectionRecord]:
        """Return the collections of a version, or of the revision of this number, by name; empty ones are left out.

        Raises `RevisionNotFound`: the site has no such version.
        """
        return self._database.read(lambda tx: read_texts(tx, self._database.sealing, _read_parts(tx, site, version)))

    def collection_digests(self, site: str, version: Version | int) -> Mapping[str, str]:
        """Return the digest of each collection's text, without reading the texts.

        Raises `RevisionNotFound`: the site has no such version.
        """
        return self._database.read(lambda tx: digests(_read_parts(tx, site, version)))


def _read_parts(tx: Connection, site: str, version: Version | int) -> dict[str, Part]:
    # A name is looked up first: it is a text, a number is not.
    if isinstance(version, Version):
        number = read_version(tx, site, version)
        if number is None:
            raise RevisionNotFound(f"site {site!r} has no version {version}: {_MISSING[version]}")
        if version is Version.BUFFER:
            return changed(revision_parts(tx, site, newest_number(tx, site)), posted_parts(tx, site))
    else:
        number = version
    known = select(revision.c.id).where(revision.c.site == site, revision.c.number == number)
    if tx.scalar(known) is None:
        raise RevisionNotFound(f"site {site!r} has no revision {number}: name one of its revisions")
    return revision_parts(tx, site, number)


def newest_settings(site: Any) -> Select[Any]:
    """Select the settings of a site, by its newest revision of which they are known."""
    known = select(revision.c.settings).where(revision.c.site == site, revision.c.settings.is_not(None))
    return known.order_by(revision.c.number.desc()).limit(1)


def settings_column(site: Any) -> ColumnElement[str]:
    """Return a column with the settings of a site, as `settings_in` reads them."""
    settings = newest_settings(site).subquery()
    return json_rows(select(settings.c.settings)).label("settings")


def settings_in(value: Any) -> SiteSettings:
    """Return the settings in such a column; those of a site that has none."""
    known = next((settings for (settings,) in json_list(value)), None)
    return DEFAULT_SETTINGS if known is None else parse_site_settings(json_value(known))


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

    def unmonitored(self, site: str) -> frozenset[str]:
        """Return the nodes of groups that say `monitor: false`."""
        says_so = (site_group.c.site == site, site_group.c.definition["monitor"].as_string() == "false")
        query = select(site_group_node.c.node).where(site_group_node.c.site == site)
        query = query.where(site_group_node.c.group_name.in_(select(site_group.c.name).where(*says_so)))
        return self._database.read(lambda tx: frozenset(tx.scalars(query)))

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
