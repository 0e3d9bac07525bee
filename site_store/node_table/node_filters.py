"""Which nodes of a site a query means: what its table can be filtered by, and what is refused."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal, or_, select

from site_store.node_table.node_facts import NodeQuery
from site_store.sql.errors import ValueRefused
from site_store.sql.storable import require_text
from site_store.status.counting import node_is_counted
from site_store.status.owner_queries import default_owner, gone_owners, is_site_stopped
from site_store.status.status_records import SitePart
from site_store.tables import MEMBER, node, site_group_node
from strategy_lib.status.words import Status

NODE_COLUMNS = {
    "node": node.c.name,
    "rack": node.c.rack,
    "standing": node.c.standing,
    "serves": node.c.serves,
    "wanted_revision": node.c.wanted_revision,
    "done_revision": node.c.done_revision,
    "provisioner_status": node.c.provisioner_status,
    "power": node.c.power,
    "error": node.c.error,
    "last_updated": node.c.last_updated,
}
"""The columns of the table."""
FILTERED_BY = (
    *("node", "rack", "standing", "serves", "wanted_revision", "done_revision", "provisioner_status", "power"),
    "error",
)
"""Those that it can be filtered by."""
_EQUAL = ("rack", "serves", "provisioner_status", "power")
_NUMBERS = ("wanted_revision", "done_revision")
LARGEST_NUMBER = 2**31 - 1
# Statuses that are shown as unresponsive where the owner is gone: in all others it owes nothing.
_OWING = (Status.PENDING.value, Status.PROCESSING.value)


def _contains(column: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Whether a text has this part, in upper or lower case: as in the language "C", since others take long."""
    if part.lower() == part.upper():
        return column.contains(part, autoescape=True)
    escaped = part.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return column.collate("C").ilike(f"%{escaped}%", escape="/")


def _with_capitals(site: str, part: str) -> Select[str]:
    """Select names with capitals that have this part: they are few, and have an index of their own.

    PostgreSQL expects capitals in nearly all names. It takes that index all the same if they are wanted in order.
    """
    other = node.alias("with_capitals")
    all_of_site = select(other.c.name).where(other.c.site == site, other.c.name != func.lower(other.c.name))
    found = all_of_site.order_by(other.c.name).offset(0).subquery()
    return select(found.c.name).where(_contains(found.c.name, part))


def _name_contains(site: str, part: str) -> ColumnElement[bool]:
    """Whether a node's name has this part."""
    if part.lower() == part.upper():
        return _contains(node.c.name, part)
    # An array of names is found once, and expected to be short. With a subquery half of all names are expected to fit,
    # and all would be gone through in their order: 23 times as many pages of the database.
    other = func.array(_with_capitals(site, part).scalar_subquery())
    return or_(node.c.name.contains(part.lower(), autoescape=True), node.c.name == func.any(other))


def require_sound(query: NodeQuery) -> None:
    """Refuse (`ValueRefused`) what no column can have."""
    for what, value in (("group", query.group), ("rack", query.rack), ("standing", query.standing), ("q", query.text)):
        require_text(what, value or "")
    for name, value in query.columns.items():
        if name not in FILTERED_BY:
            raise ValueRefused(f"nodes cannot be filtered by {name!r}: name one of {', '.join(FILTERED_BY)}")
        require_text(name, value)
        digits = value.isascii() and value.isdigit()
        if name in _NUMBERS and not (digits and len(value) <= 10 and int(value) <= LARGEST_NUMBER):
            raise ValueRefused(f"{name} must be the number of a revision, such as 3, and not {value[:40]!r}")


def _stands(site: str, status: str, *, narrowed: bool) -> ColumnElement[bool]:
    """Whether this status is shown of a node, as `site_engine.trees.site.judge_node` shows it.

    Parameters
    ----------
    narrowed : another index leads to fewer nodes than that of how they stand.
    """
    standing = func.coalesce(node.c.standing, "") if narrowed else node.c.standing
    if status not in (*_OWING, Status.UNRESPONSIVE):
        return standing == status
    owner = func.coalesce(node.c.owner, default_owner(literal(site)).scalar_subquery(), "")
    gone = and_(owner.in_(gone_owners()), ~is_site_stopped(literal(site)))
    return and_(standing.in_(_OWING), gone) if status == Status.UNRESPONSIVE else and_(standing == status, ~gone)


def filtered(site: str, query: NodeQuery) -> Select[Any]:
    """Select the nodes that a query means, in no order."""
    found = select(node.c.name).where(node.c.site == site)
    if query.text:
        # Before all else: most rows need not be looked at any further.
        found = found.where(_name_contains(site, query.text))
    if query.standing is None or query.standing == Status.DELETED:
        found = found.where(node_is_counted)
    # What is asked for twice must hold twice.
    asked = (("rack", query.rack), ("standing", query.standing), *query.columns.items())
    wanted = [(name, value) for name, value in asked if value is not None]
    if query.group == SitePart.NO_GROUP:
        found = found.where(node.c.wanted_digest.is_not(None), ~exists().where(MEMBER))
    elif query.group == SitePart.TO_BE_REMOVED:
        found = found.where(node.c.wanted_digest.is_(None))
    elif query.group is not None:
        found = found.where(
            node.c.name.in_(
                select(site_group_node.c.node).where(
                    site_group_node.c.site == site, site_group_node.c.group_name == query.group
                )
            )
        )
    narrowed = query.group is not None
    for name, value in wanted:
        if name == "standing":
            found = found.where(_stands(site, value, narrowed=narrowed))
            narrowed = True
        elif name in _EQUAL:
            found = found.where(NODE_COLUMNS[name] == value)
            narrowed = True
        elif name in _NUMBERS:
            found = found.where(NODE_COLUMNS[name] == int(value))
    for name, part in wanted:
        if part and name in ("node", "error"):
            has_part = _name_contains(site, part) if name == "node" else _contains(NODE_COLUMNS[name], part)
            found = found.where(has_part)
    return found
