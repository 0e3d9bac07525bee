"""What a leader looks at again and again: by the pulse of a site it knows what of it has to be read anew.

The pulses of all sites that a process leads are one statement, so that idle sites cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, func, select

from site_store.sql.postgresql import clock, names_table
from site_store.sql.rows import moment
from site_store.tables import operation, provisioner_list, revision, user_state
from site_store.trees.tree_queries import changes


@dataclass(frozen=True, slots=True)
class Pulse:
    """What tells whether anything of a site is new.

    Attributes
    ----------
    now : the database's time.
    revision : the site's newest one, 0 before the first.
    listed_at : when its provisioner's list was asked for last, None where it never was.
    users : how many user states there are, and when the last one was set.
    op : its newest operation.
    provisioner : the connection whose list that was, None where none was read.
    listed : the digest of that list, None where it is not known.
    changes : how often anything of its nodes was written; it only grows.
    """

    now: datetime
    revision: int
    listed_at: datetime | None
    users: tuple[int, datetime | None]
    op: int
    provisioner: str | None
    listed: str | None = None
    changes: int = 0


@cache
def _query() -> Select[Any]:
    site = names_table("sites").c.value
    newest = select(func.max(revision.c.number)).where(revision.c.site == site).scalar_subquery()
    mine = user_state.c.site == site
    users = select(func.count()).where(mine).scalar_subquery()
    last = select(func.max(user_state.c.set_at)).where(mine).scalar_subquery()
    op = select(func.max(operation.c.op)).where(operation.c.site == site).scalar_subquery()
    listed = (provisioner_list.c.read_at, provisioner_list.c.connection, provisioner_list.c.digest)
    return (
        select(
            site.label("name"),
            clock().label("now"),
            newest.label("revision"),
            users.label("users"),
            last.label("last"),
            op.label("op"),
            changes("", site).label("changes"),
            *listed,
        )
        .select_from(site.table)
        .outerjoin(provisioner_list, provisioner_list.c.site == site)
    )


def read_pulses(tx: Connection, sites: Collection[str], given: datetime | None = None) -> dict[str, Pulse]:
    """Return the pulses of sites in one statement.

    Parameters
    ----------
    given : the time of the clock of tests; None: the database's.
    """
    parameters = {"sites": list(sites)}
    return {
        row.name: Pulse(
            given or moment(row.now),
            row.revision or 0,
            row.read_at,
            (row.users, row.last),
            row.op or 0,
            row.connection,
            row.digest,
            int(row.changes),
        )
        for row in tx.execute(_query(), parameters)
    }
