"""What views read of owners: all of them, those that are gone, and who works on nodes that name nobody."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal, select

from site_store.sql.postgresql import clock, json_rows
from site_store.tables import action, owner

_DAY = 86400.0


def owners_now() -> list[ColumnElement[Any]]:
    """Return columns with all owners, and the time by the database's clock."""
    query = select(owner.c.name, owner.c.last_seen, owner.c.interval_seconds, owner.c.detail)
    return [json_rows(query).label("owners"), clock().label("now")]


def default_owner(site: Any) -> Select[Any]:
    """Select who is expected to work on nodes of a site that name nobody: by the newest connection of an action."""
    return (
        select(literal("provisioner:") + action.c.connection)
        .where(action.c.site == site, action.c.connection.is_not(None))
        .order_by(action.c.id.desc())
        .limit(1)
    )


def gone_owners(given: datetime | None) -> Select[Any]:
    """Select the names of owners that have not checked in within their interval.

    Parameters
    ----------
    given : the time of a clock of tests; None: that of the database.
    """
    now = clock() if given is None else literal(given, owner.c.last_seen.type)
    over = owner.c.last_seen + func.make_interval(0, 0, 0, 0, 0, 0, owner.c.interval_seconds) < now
    return select(owner.c.name).where(over)
