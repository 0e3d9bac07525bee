"""Nodes of a site as a table: filtered, sorted and in pages, made for 100,000 of them; and what happened to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Integer, Row, Select, and_, bindparam, func, null, select

from site_store.node_table.node_facts import NodePage, NodePastFacts, NodeQuery, NodeStates
from site_store.node_table.node_past import groups_in, groups_of_node, read_past
from site_store.node_table.node_query import (
    SORTED_BY,
    filtered,
    first_of,
    in_order,
    place_behind,
    ranges_of,
    require_sound,
)
from site_store.nodes.nodes import node_row, read_versions
from site_store.sql.database import Repository
from site_store.sql.errors import ValueRefused
from site_store.sql.postgresql import among, clock
from site_store.sql.rows import moment
from site_store.status.counting import changes, nodes_of
from site_store.status.owner_queries import (
    dag_at_work,
    default_owner,
    is_leased,
    owners_now,
    owners_of_site,
    site_token,
    watched,
    watched_from,
)
from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, is_not_up, node, node_view, site_group_node, status_count, user_state

MOST_COUNTED = 1000
"""A total is counted up to this, and no further."""
MOST_NODES = 1000
"""At most this many nodes are in a page."""
_KEPT = 64
"""At most this many statements are kept for repeated queries: an open page renews itself every 2.5 s."""


class SiteNodes(Repository):
    """Nodes of sites, as people look for them."""

    def page(self, site: str, query: NodeQuery) -> NodePage:
        """Return a page of a site's nodes, in two statements.

        Raises `ValueRefused`: there is no such column, no column can have such a value, or `after` is not from a page
        of this query.
        """
        require_sound(query)
        if query.sort not in SORTED_BY:
            raise ValueRefused(f"nodes cannot be sorted by {query.sort!r}: name one of {', '.join(SORTED_BY)}")
        limit = max(1, min(query.limit, MOST_NODES))
        # A copy: statements are kept under it.
        query = replace(query, limit=limit, columns=dict(query.columns))
        facts = _facts(site, query)

        def work(tx: Connection) -> NodePage:
            rows = tx.execute(facts).all()
            # Where the page is not full, what it has is all there is, and nothing need be counted.
            known = len(rows) if query.after is None and len(rows) <= limit else None
            if _is_counted(query) and known is None:
                known = rows[0].total
            total = {} if known is None else {"known_total": known}
            whole = known is not None or _is_whole(query)
            about = tx.execute(
                _about(None if whole else (site, query), is_known=known is not None),
                {"this_site": site, **total},
            ).one()
            now = moment(about.now)
            seen = watched_from(about.watched, now)
            owners = owners_of_site(about.owners, seen)
            return NodePage(
                token=site_token(about.changes, owners, seen, now, about.hold),
                read_at=now,
                nodes=[node_row(row, groups_in(row.groups)) for row in rows[:limit]],
                total=int(about.total),
                after=place_behind(rows[limit - 1].sorted_by, rows[limit - 1].name) if len(rows) > limit else None,
                owners=owners,
                default_owner=about.default_owner or "",
                dag_id=about.dag_id,
                leased=bool(about.leased),
                states={row.name: _states(row) for row in rows[:limit]} if query.with_states else {},
            )

        return self._database.read(work)

    def versions(self, site: str, names: Collection[str]) -> dict[str, int]:
        """Return the version of the record of each of these nodes; of those that are there."""
        return self._database.read(lambda tx: read_versions(tx, site, names))

    def places_of(self, site: str, names: Collection[str]) -> dict[str, Collection[str]]:
        """Return under which entries of the view of a site each of these nodes stands; others are left out."""
        query = select(node.c.name, node.c.wanted_digest, site_group_node.c.group_name).select_from(
            node.outerjoin(site_group_node, MEMBER)
        )

        def work(tx: Connection) -> dict[str, Collection[str]]:
            found: defaultdict[str, set[str]] = defaultdict(set)
            for row in tx.execute(query.where(node.c.site == site, among(node.c.name, names))):
                if row.wanted_digest is None:
                    found[row.name] = {SitePart.TO_BE_REMOVED.value}
                else:
                    found[row.name].add(row.group_name or SitePart.NO_GROUP.value)
            return dict(found)

        return self._database.read(work)

    def past(
        self, site: str, name: str, limit: int = 50, before: str | None = None, *, most_notes: int = 0
    ) -> NodePastFacts:
        """Return what happened to a node, in two statements: its tasks in each action, and all that is known beside.

        Parameters
        ----------
        limit : how many actions at most, the newest first.
        before : only actions older than this one, for the next page.
        most_notes : so many notes on its states at most, with the states themselves; 0: neither.
        """
        return self._database.read(lambda tx: read_past(tx, site, name, limit, before, most_notes))


def _is_counted(query: NodeQuery) -> bool:
    """Whether a part of a name is looked for, among all names at once: what is found beyond the page is counted."""
    return bool(query.text) and query.after is None


@lru_cache(maxsize=_KEPT)
def _facts(site: str, query: NodeQuery) -> Select[Any]:
    """Select the nodes of a page, with their groups."""
    found = filtered(site, query)
    counted = _is_counted(query)
    most = max(query.limit, MOST_COUNTED) if counted else query.limit
    keys = first_of(ranges_of(found, query), most + 1).cte("keys")
    ordered = partial(in_order, descending=query.descending)
    page = ordered(select(*keys.c), (keys.c.sorted_by, keys.c.name)).limit(query.limit + 1).subquery()
    same = and_(page.c.site == node.c.site, page.c.name == node.c.name)
    number = select(func.count()).select_from(keys).scalar_subquery() if counted else null()
    columns = (*node.c, page.c.sorted_by, groups_of_node(), number.label("total"))
    joined: FromClause = node.join(page, same)
    if query.with_states:
        seen = and_(node_view.c.site == node.c.site, node_view.c.node == node.c.name)
        is_set = (user_state.c.site == node.c.site, user_state.c.node == node.c.name)
        joined = joined.outerjoin(node_view, seen)
        joined = joined.outerjoin(user_state, and_(*is_set, is_not_up(clock())))
        published = (node_view.c.state.label("published"), node_view.c.reason.label("published_why"))
        columns = (*columns, *published, user_state.c.state.label("user"), user_state.c.reason.label("user_why"))
    return ordered(select(*columns).select_from(joined), (page.c.sorted_by, node.c.name))


def _states(row: Row[*tuple[Any, ...]]) -> NodeStates:
    return NodeStates(row.published, row.published_why, row.user, row.user_why)


@lru_cache(maxsize=_KEPT)
def _about(asked: tuple[str, NodeQuery] | None, *, is_known: bool) -> Select[Any]:
    """Select what a page says of its site, and how many nodes there are; a parameter: `this_site`.

    Parameters
    ----------
    asked : site and query whose nodes are counted; None: the number is a parameter, or that of the roll-up.
    is_known : the number is a parameter, `known_total`.
    """
    this_site = bindparam("this_site", type_=node.c.site.type)
    number: ColumnElement[int] = bindparam("known_total", type_=Integer()) if is_known else _of_roll_up(this_site)
    if asked is not None:
        some = filtered(*asked).with_only_columns(node.c.name).limit(MOST_COUNTED + 1).subquery()
        number = select(func.count()).select_from(some).scalar_subquery()
    return select(
        number.label("total"),
        changes("", this_site).label("changes"),
        default_owner(this_site).scalar_subquery().label("default_owner"),
        dag_at_work(this_site).label("dag_id"),
        is_leased(this_site).label("leased"),
        watched(this_site),
        *owners_now(this_site),
    )


def _is_whole(query: NodeQuery) -> bool:
    """Whether a query leaves no node out."""
    return not (query.group or query.rack or query.standing or query.text or query.columns)


def _of_roll_up(site: ColumnElement[str]) -> ColumnElement[int]:
    """Return the number of all nodes of a site, by its roll-up."""
    return select(func.coalesce(func.sum(status_count.c.records), 0)).where(*nodes_of(site)).scalar_subquery()
