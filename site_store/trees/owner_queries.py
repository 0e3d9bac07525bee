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

_LISTED = ("read_at", "every_seconds", "connection")


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


def watched(site: Any) -> ColumnElement[str]:
    """Return a column for `watched_from`, of a site: a column of another table, or a parameter."""
    kept = provisioner_list
    led = select(lease.c.expires_at).where(lease.c.name == CONTROLLER).scalar_subquery()
    first = select(revision.c.created).where(revision.c.site == site).order_by(revision.c.number).limit(1).subquery()
    listed = [select(kept.c[name]).where(kept.c.site == site).scalar_subquery() for name in _LISTED]
    row = select(first.c.created, *listed, default_owner(site).scalar_subquery(), led).select_from(first)
    return json_rows(row).label("watched")


def watched_from(rows: Any, now: datetime) -> Watched | None:
    """Return how a site is watched, None where nothing was committed for it."""
    for committed, answered, every, connection, expected, until in json_list(rows):
        provisioner = f"provisioner:{connection}" if connection else expected or ""
        return Watched(
            moment(committed), moment_or_none(answered), every, provisioner, until is not None and moment(until) > now
        )
    return None


def gone_owners(given: datetime | None) -> Select[Any]:
    """Select the names of owners that have not checked in within their interval.

    Parameters
    ----------
    given : the time of a clock of tests; None: that of the database.
    """
    now = clock() if given is None else literal(given, owner.c.last_seen.type)
    over = owner.c.last_seen + func.make_interval(0, 0, 0, 0, 0, 0, owner.c.interval_seconds) < now
    return select(owner.c.name).where(over)
