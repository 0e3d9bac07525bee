"""Nodes of a site as a table: filtered, sorted and in pages, made for 100,000 of them; and what happened to one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, and_, exists, func, literal, select, tuple_

from site_store.database import Repository
from site_store.dialects import UtcDateTime, among, clock, json_rows
from site_store.errors import ValueRefused
from site_store.node_filters import LARGEST_NUMBER, NODE_COLUMNS, filtered, require_sound, with_capitals
from site_store.owner_queries import default_owner, owners_now
from site_store.status_records import TOUCH, SitePart
from site_store.storable import require_text
from site_store.tables import action, event, group_node, node, operation, site_group_node, status_count, task
from site_store.tree_facts import NodeEvent, NodePage, NodePast, NodePastFacts, NodeQuery, SiteNodeFacts
from site_store.tree_queries import changes, dag_at_work, is_leased
from site_store.tree_rows import change_token, json_list, moment, owners_by_name, site_node_facts

MOST_COUNTED = 1000
"""A total is counted up to this, and no further."""
MOST_NODES = 1000
"""So many nodes are in a page at most."""


class SiteNodes(Repository):
    """Nodes of sites, as people look for them."""

    def page(self, site: str, query: NodeQuery) -> NodePage:
        """Return a page of a site's nodes, in two statements; in PostgreSQL three where it is asked for names.

        Raises `ValueRefused`: there is no such column, no column can have such a value, or `after` is not from a page
        of this query.
        """
        require_sound(query)
        if query.sort not in NODE_COLUMNS:
            raise ValueRefused(f"nodes cannot be sorted by {query.sort!r}: name one of {', '.join(NODE_COLUMNS)}")
        limit = max(1, min(query.limit, MOST_NODES))
        dialect = self._database.engine.dialect.name
        in_groups = (
            select(site_group_node.c.group_name)
            .where(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
            .correlate(node)
        )
        touched = changes("", literal(site)).label("changes")

        def work(tx: Connection) -> NodePage:
            capitals = False
            if query.text and dialect != "sqlite":
                capitals = bool(tx.scalar(select(with_capitals(site, query.text).exists())))
            found = filtered(dialect, site, query, capitals, self._database.given_time())
            keys = _ordered(found.with_only_columns(node.c.site, node.c.name, *_sorted_by(query)), query)
            ranges = _behind(keys, query) if query.after is not None else _from_the_start(keys, query)
            counted = found.with_only_columns(node.c.name).limit(MOST_COUNTED + 1).subquery()
            total = select(func.count()).select_from(counted).scalar_subquery()
            rows: list[Row[*tuple[Any, ...]]] = []
            for keys in ranges:
                if len(rows) <= limit:
                    page = keys.limit(limit + 1 - len(rows)).subquery()
                    same = and_(page.c.site == node.c.site, page.c.name == node.c.name)
                    facts = select(*node.c, json_rows(tx.dialect.name, in_groups).label("groups")).join(page, same)
                    rows += tx.execute(_ordered(facts, query)).all()
            # Where the page is not full, what it has is all there is, and nothing need be counted.
            known = len(rows) if query.after is None and not query.offset and len(rows) <= limit else None
            number = literal(known) if known is not None else _of_roll_up(site) if _is_whole(query) else total
            default = default_owner(literal(site)).scalar_subquery().label("default_owner")
            given = self._database.given_time()
            now_there = clock(tx.dialect.name) if given is None else literal(given, operation.c.lease_until.type)
            leased = is_leased(literal(site), now_there).label("leased")
            facts_of_site = (touched, default, dag_at_work(literal(site)).label("dag_id"), leased)
            about = tx.execute(select(number.label("total"), *facts_of_site, *owners_now(tx.dialect.name))).one()
            now = moment(about.now) if given is None else given
            owners = owners_by_name(about.owners)
            return NodePage(
                token=change_token(about.changes, owners, now),
                read_at=now,
                nodes=[site_node_facts(row, _groups(row)) for row in rows[:limit]],
                total=int(about.total),
                after=_after(rows[limit - 1], query) if len(rows) > limit else None,
                owners=owners,
                default_owner=about.default_owner or "",
                dag_id=about.dag_id,
                leased=bool(about.leased),
            )

        return self._database.read(work)

    def get(self, site: str, name: str) -> SiteNodeFacts | None:
        """Return one node; None where nothing is known of it."""
        in_groups = (
            select(site_group_node.c.group_name)
            .where(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
            .correlate(node)
        )

        def work(tx: Connection) -> SiteNodeFacts | None:
            query = select(*node.c, json_rows(tx.dialect.name, in_groups).label("groups"))
            row = tx.execute(query.where(node.c.site == site, node.c.name == name)).one_or_none()
            return None if row is None else site_node_facts(row, _groups(row))

        return self._database.read(work)

    def places_of(self, site: str, names: Collection[str]) -> dict[str, Collection[str]]:
        """Return under which entries of the view of a site each of these nodes stands; others are left out."""
        member = and_(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
        query = select(node.c.name, node.c.wanted_digest, site_group_node.c.group_name).select_from(
            node.outerjoin(site_group_node, member)
        )

        def work(tx: Connection) -> dict[str, Collection[str]]:
            found: defaultdict[str, set[str]] = defaultdict(set)
            for row in tx.execute(query.where(node.c.site == site, among(tx, node.c.name, names))):
                if row.wanted_digest is None:
                    found[row.name] = {SitePart.TO_BE_REMOVED.value}
                else:
                    found[row.name].add(row.group_name or SitePart.NO_GROUP.value)
            return dict(found)

        return self._database.read(work)

    def past(self, site: str, name: str, limit: int = 50, before: str | None = None) -> NodePastFacts:
        """Return what happened to a node, in three statements: its tasks in each action, and what was noted of it.

        Parameters
        ----------
        limit : how many actions at most, the newest first.
        before : only actions older than this one, for the next page.
        """
        mine = exists().where(task.c.action_id == action.c.id, task.c.node == name)
        newest = select(action.c.id).where(action.c.site == site, mine).order_by(action.c.id.desc()).limit(limit + 1)
        if before is not None:
            newest = newest.where(action.c.id < before)
        about = [action.c[column] for column in ("id", "kind", "revision", "state", "created_by", "created", "dry_run")]
        in_groups = (
            select(group_node.c.group_name)
            .where(group_node.c.action_id == task.c.action_id, group_node.c.node == task.c.node)
            .correlate(task)
        )
        facts = ("phase", "status", "owner", "owner_group", "error", "fixed", "found", "started", "ended")
        counted = ("tries", "held", "op", "done_op")

        def work(tx: Connection) -> NodePastFacts:
            chosen = newest.subquery()
            tasks = (
                select(
                    *about,
                    *(task.c[column] for column in (*facts, *counted)),
                    operation.c.provisioner_task,
                    operation.c.attempt,
                    operation.c.round,
                    operation.c.status.label("operation_status"),
                    json_rows(tx.dialect.name, in_groups).label("groups"),
                )
                .select_from(chosen)
                .join(action, action.c.id == chosen.c.id)
                .join(task, and_(task.c.action_id == action.c.id, task.c.node == name))
                .outerjoin(operation, operation.c.op == task.c.op)
                .order_by(action.c.id.desc(), task.c.started, task.c.phase)
            )
            rows = tx.execute(tasks).all()
            noted = (
                select(event.c.id, event.c.at, event.c.action_id, event.c.group_name, event.c.kind, event.c.message)
                .add_columns(event.c.data)
                .where(event.c.site == site, event.c.node == name)
                .order_by(event.c.id.desc())
                .limit(limit * 10)
            )
            events = tx.execute(noted).all()
            found = list(dict.fromkeys(row.id for row in rows))
            kept = set(found[:limit])
            return NodePastFacts(
                tasks=[_past(row) for row in rows if row.id in kept],
                events=[
                    NodeEvent(row.at, row.action_id, row.group_name, row.kind, row.message, row.data) for row in events
                ],
                before=found[limit - 1] if len(found) > limit else None,
                default_owner=tx.scalar(default_owner(literal(site))) or "",
            )

        return self._database.read(work)


def _sorted_by(query: NodeQuery) -> list[ColumnElement[Any]]:
    return [] if query.sort == "node" else [NODE_COLUMNS[query.sort]]


def _ordered(found: Select[Any], query: NodeQuery) -> Select[Any]:
    columns = [*_sorted_by(query), node.c.name]
    if query.descending:
        return found.order_by(*(column.desc().nulls_first() for column in columns[:-1]), node.c.name.desc())
    return found.order_by(*(column.asc().nulls_last() for column in columns[:-1]), node.c.name)


def _is_whole(query: NodeQuery) -> bool:
    """Whether a query leaves no node out."""
    return not (query.group or query.rack or query.standing or query.text or query.columns)


def _of_roll_up(site: str) -> ColumnElement[int]:
    """Return the number of all nodes of a site, by its roll-up."""
    whole = (status_count.c.action_id == "", status_count.c.site == site, status_count.c.group_name == "")
    records = func.coalesce(func.sum(status_count.c.records), 0)
    return select(records).where(*whole, status_count.c.phase != TOUCH).scalar_subquery()


def _from_the_start(keys: Select[Any], query: NodeQuery) -> list[Select[Any]]:
    """Return what selects the nodes of the first page, or those behind so many: ranges of indexes, as `_behind` does.

    Few nodes have an error, and only they are in its index.
    """
    if query.sort != "error" or query.offset:
        return [keys.offset(query.offset)]
    ranges = [keys.where(node.c.error.is_not(None)), keys.where(node.c.error.is_(None))]
    return ranges[::-1] if query.descending else ranges


def _behind(keys: Select[Any], query: NodeQuery) -> list[Select[Any]]:
    """Return what selects the nodes behind the one that `after` names: ranges of an index, one after the other.

    Nodes without a value come last, or first where the order is descending.
    """
    value, name = _place(query)
    if query.sort == "node":
        return [keys.where(node.c.name < name if query.descending else node.c.name > name)]
    column: ColumnElement[Any] = NODE_COLUMNS[query.sort]
    this = tuple_(column, node.c.name)
    if query.descending:
        if value is None:
            return [keys.where(column.is_(None), node.c.name < name), keys.where(column.is_not(None))]
        return [keys.where(column.is_not(None), this < tuple_(literal(value, column.type), literal(name)))]
    if value is None:
        return [keys.where(column.is_(None), node.c.name > name)]
    later = this > tuple_(literal(value, column.type), literal(name))
    # SQLite sees by the first of these alone that the index on nodes with an error will do.
    return [keys.where(column.is_not(None), later), keys.where(column.is_(None))]


def _place(query: NodeQuery) -> tuple[Any, str]:
    """Return the value and the name that `after` was made of."""
    try:
        value, name = json.loads(query.after or "")
        kind = NODE_COLUMNS[query.sort].type
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER
        if not isinstance(name, str) or not (
            value is None or (number if isinstance(kind, Integer) else _is_text(value))
        ):
            raise ValueError("no node has such a place")
        require_text("the place", name)
        if isinstance(kind, UtcDateTime) and value is not None:
            value = datetime.fromisoformat(value)
            if value.tzinfo is None:
                raise ValueError("a time without its zone")
    except (TypeError, ValueError, RecursionError, ValueRefused) as error:
        raise ValueRefused(f"{query.after!r} is not from a page of this table: leave it out to begin anew") from error
    return value, name


def _is_text(value: Any) -> bool:
    if isinstance(value, str):
        require_text("the place", value)
    return isinstance(value, str)


def _after(last: Row[*tuple[Any, ...]], query: NodeQuery) -> str:
    value = None if query.sort == "node" else last._mapping[NODE_COLUMNS[query.sort].name]
    place: str = json.dumps([value.isoformat() if isinstance(value, datetime) else value, last.name])
    return place


def _groups(row: Row[*tuple[Any, ...]]) -> list[str]:
    return sorted(group for (group,) in json_list(row.groups))


def _past(row: Row[*tuple[Any, ...]]) -> NodePast:
    return NodePast(
        action_id=row.id,
        kind=row.kind,
        revision=row.revision,
        state=row.state,
        user=row.created_by,
        created=row.created,
        dry_run=row.dry_run,
        phase=row.phase,
        groups=tuple(_groups(row)),
        owner_group=row.owner_group,
        owner=row.owner,
        status=row.status,
        message=row.error,
        fixed=row.fixed,
        found=row.found,
        op=row.op,
        provisioner_task=row.provisioner_task,
        operation_status=row.operation_status,
        attempt=row.attempt,
        started=row.started,
        ended=row.ended,
        tries=row.tries,
        round=row.round,
        held=row.held,
        done_op=row.done_op,
    )
