"""What views read of owners: all of them, those that are gone, and who works on nodes that name nobody."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal, select

from site_store.leases import CONTROLLER
from site_store.sql.postgresql import clock, json_rows
from site_store.tables import action, lease, owner, provisioner_list, revision
from site_store.trees.tree_rows import json_list, moment, moment_or_none
from strategy_lib.status.watching import Watched


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


def watched(site: ColumnElement[str]) -> ColumnElement[Any]:
    """Return a column for `watched_from`, of a site: a column of another table, or a parameter."""
    kept = provisioner_list
    # Each stands directly in the query that has the site: deeper down it would be asked of all sites.
    facts = [
        select(revision.c.created).where(revision.c.site == site).order_by(revision.c.number).limit(1),
        *(select(kept.c[name]).where(kept.c.site == site) for name in ("read_at", "every_seconds", "connection")),
        default_owner(site),
        select(lease.c.expires_at).where(lease.c.name == CONTROLLER),
    ]
    return func.json_build_array(*(one.scalar_subquery() for one in facts)).label("watched")


def watched_from(found: Any, now: datetime) -> Watched | None:
    """Return how a site is watched, None where nothing was committed for it."""
    committed, answered, every, connection, expected, until = json_list(found)
    if committed is None:
        return None
    provisioner = f"provisioner:{connection}" if connection else expected or ""
    is_led = until is not None and moment(until) > now
    return Watched(moment(committed), moment_or_none(answered), every, provisioner, is_led)


def gone_owners(given: datetime | None) -> Select[Any]:
    """Select the names of owners that have not checked in within their interval.

    Parameters
    ----------
    given : the time of a clock of tests; None: that of the database.
    """
    now = clock() if given is None else literal(given, owner.c.last_seen.type)
    over = owner.c.last_seen + func.make_interval(0, 0, 0, 0, 0, 0, owner.c.interval_seconds) < now
    return select(owner.c.name).where(over)
