"""Tries of nodes: how often each has failed in a row, in how many actions, and when its next try is due (rule 44).

A success, a new wanted version and a `touch` begin anew. A node that is held, in progress or lost has not tried.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, null, or_, select, update

from site_store.dialects import moments
from site_store.tables import action, node, task
from strategy_lib.goals.retries import retry_delay
from strategy_lib.node import TaskStatus

FRESH: Mapping[str, Any] = {"failures": 0, "next_try": null(), "tried_action": null()}
"""What a node has before its first try."""


def jitter_of(site: str, name: str, failures: int) -> float:
    """Return the jitter of a node's delay, from -1 to 1: another one for each node and failure, and always the same."""
    return 2.0 * (zlib.crc32(f"{site}/{name}/{failures}".encode()) / 0xFFFFFFFF) - 1.0


def count_failures(tx: Connection, now: datetime, *which: ColumnElement[bool]) -> None:
    """Count in the caller's transaction that these tasks have failed: once in an action, whatever it has tried itself.

    Parameters
    ----------
    which : conditions on `task` and `node`, of which one finds the tasks by an index.
    """
    query = (
        select(node.c.site, node.c.name, node.c.failures, task.c.action_id)
        .select_from(task)
        .join(action, action.c.id == task.c.action_id)
        .join(node, and_(node.c.site == action.c.site, node.c.name == task.c.node))
        .where(
            *which,
            task.c.status == TaskStatus.ERROR,
            node.c.tried_action.is_distinct_from(task.c.action_id),
            # A new version begins anew: what fails of an older one says nothing of it.
            or_(task.c.wanted_version.is_(None), task.c.wanted_version >= func.coalesce(node.c.wanted_version, 0)),
        )
    )
    of_site: dict[tuple[str, str], dict[str, int]] = {}
    for row in tx.execute(query):
        of_site.setdefault((row.site, row.action_id), {})[row.name] = row.failures + 1
    for (site, action_id), failures in of_site.items():
        _note(tx, now, site, action_id, failures)


def _note(tx: Connection, now: datetime, site: str, action_id: str, failures: Mapping[str, int]) -> None:
    due = {
        name: now + timedelta(seconds=retry_delay(number, jitter_of(site, name, number)))
        for name, number in failures.items()
    }
    given, value = moments(tx, due)
    tx.execute(
        update(node)
        .where(node.c.site == site, node.c.name == given.c.key)
        .values(failures=node.c.failures + 1, next_try=value, tried_action=action_id, version=node.c.version + 1)
    )
