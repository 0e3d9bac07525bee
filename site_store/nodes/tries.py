"""Tries of nodes: how often each has failed in a row, in how many actions, and when its next try is due (rule 44).

A success, a new wanted version and a `touch` begin anew. A node that is held, in progress or lost has not tried.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, Select, Update, and_, bindparam, null, select, update

from site_store.sql.postgresql import moments_parameters, moments_values
from site_store.tables import action, is_of_wanted, node, task
from strategy_lib.node import TaskStatus
from strategy_lib.node_states.repair import retry_delay

FRESH: Mapping[str, Any] = {"failures": 0, "next_try": null(), "tried_action": null()}
"""What a node has before its first try."""


def jitter_of(site: str, name: str, failures: int) -> float:
    """Return the jitter of a node's delay, from -1 to 1: another one for each node and failure, and always the same."""
    return 2.0 * (zlib.crc32(f"{site}/{name}/{failures}".encode()) / 0xFFFFFFFF) - 1.0


def count_failures(tx: Connection, now: datetime, found: Executable, given: Mapping[str, Any] | None = None) -> None:
    """Count in the caller's transaction that tasks have failed: once in an action, whatever it has tried itself.

    Parameters
    ----------
    found : the tasks and nodes that `failed_tasks` selects.
    given : parameters of that.
    """
    of_site: dict[tuple[str, str], dict[str, int]] = {}
    for row in tx.execute(found, given or {}):
        of_site.setdefault((row.site, row.action_id), {})[row.name] = row.failures + 1
    for (site, action_id), failures in of_site.items():
        _note(tx, now, site, action_id, failures)


def failed_tasks(*which: ColumnElement[bool]) -> Select[Any]:
    """Select those of these tasks that have failed, and were not counted.

    Parameters
    ----------
    which : conditions on `task` and `node`, of which one finds the tasks by an index.
    """
    return (
        select(node.c.site, node.c.name, node.c.failures, task.c.action_id)
        .select_from(task)
        .join(action, action.c.id == task.c.action_id)
        .join(node, and_(node.c.site == action.c.site, node.c.name == task.c.node))
        .where(
            *which,
            task.c.status == TaskStatus.ERROR,
            node.c.tried_action.is_distinct_from(task.c.action_id),
            # A new version begins anew: what fails of an older one says nothing of it.
            is_of_wanted(task.c.wanted_version),
        )
    )


def _note(tx: Connection, now: datetime, site: str, action_id: str, failures: Mapping[str, int]) -> None:
    due = {
        name: now + timedelta(seconds=retry_delay(number, jitter_of(site, name, number)))
        for name, number in failures.items()
    }
    tx.execute(_noted(), {"this_site": site, "this_action": action_id, **moments_values("due", due)})


@cache
def _noted() -> Update:
    """Have nodes of a site say when the next try of each is due, after one more that failed in an action."""
    due, moment = moments_parameters("due")
    tried = bindparam("this_action", type_=node.c.tried_action.type)
    this_site = node.c.site == bindparam("this_site", type_=node.c.site.type)
    return (
        update(node)
        .where(this_site, node.c.name == due.c.key)
        .values(failures=node.c.failures + 1, next_try=moment, tried_action=tried, version=node.c.version + 1)
    )
