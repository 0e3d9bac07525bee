"""Nodes that may need a repair, and what was tried with them so far (rules 51, 56 and 57)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, Select, and_, exists, func, select

from site_store.nodes.drifts import is_drifted
from site_store.tables import MEMBER, is_not_up, node, node_drift, operation, repair, user_state
from strategy_lib.status.words import Status


class RepairResult(StrEnum):
    """What came of a repair. `OBSERVED`: it was only said what would be done. `REFUSED`: no action was started."""

    OBSERVED = "observed"
    SUCCESS = "success"
    FAILURE = "failure"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AilingNode:
    """A node that is in error in the version that is wanted, is in a group, and is to be up.

    Attributes
    ----------
    cause : names the drift, or the operation that failed: each has attempts of its own.
    as_done : nothing was begun on it since it was done as it is wanted.
    revision : the older one that it was done for, or that its last repair failed to bring it back to; None: it is
        brought to what is wanted.
    is_updates : which revision it was done for is not known: the next update deploys it anew.
    in_progress : its newest operation is not known to be over.
    failures, next_try : of the tries since its last success.
    attempts, last_end : repairs of this cause so far, and when the last one was over; None: none was, or it goes on.
    under_way : one of them is.
    drift : what is not as it was left; "" where that is not what is wrong.
    """

    name: str
    cause: str
    error: str
    drifted: bool
    as_done: bool
    in_progress: bool
    failures: int
    next_try: datetime | None
    attempts: int = 0
    last_end: datetime | None = None
    under_way: bool = False
    observed: bool = False
    drift: str = ""
    revision: int | None = None
    is_updates: bool = False


def ailing_query(site: str, now: datetime) -> Select[Any]:
    """Select what `ailing_node` reads."""
    of_user = and_(user_state.c.site == node.c.site, user_state.c.node == node.c.name)
    not_up = exists().where(of_user, is_not_up(now))
    grouped = exists().where(MEMBER)
    this_drift = and_(
        node_drift.c.site == node.c.site, node_drift.c.node == node.c.name, node_drift.c.ended.is_(None), is_drifted
    )
    of_error = (repair.c.site == node.c.site, repair.c.node == node.c.name, repair.c.action_id == node.c.error_action)
    last_repair = select(func.max(repair.c.revision)).where(*of_error).scalar_subquery()
    return (
        select(
            node.c.name,
            node.c.op,
            node.c.error,
            node.c.failures,
            node.c.next_try,
            node_drift.c.since,
            node_drift.c.reason,
            # An adoption is no operation of an action: nothing of it is to come.
            and_(operation.c.op.is_not(None), operation.c.over.is_(None)).label("at_work"),
            func.coalesce(node.c.done_digest == node.c.wanted_digest, False).label("as_done"),
            node.c.done_revision,
            node.c.wanted_revision,
            last_repair.label("repaired_for"),
            node.c.doubt,
        )
        .outerjoin(node_drift, this_drift)
        .outerjoin(operation, operation.c.op == node.c.op)
        .where(node.c.site == site, node.c.standing == Status.ERROR, node.c.wanted_digest.is_not(None))
        .where(grouped, ~not_up)
    )


def ailing_node(
    row: Row[*tuple[Any, ...]], ledger: Mapping[tuple[str, str], Sequence[tuple[str | None, datetime | None]]]
) -> AilingNode:
    """Return a node with what was tried so far: the result and the end of each repair of it, by its cause."""
    cause = f"drift {row.since.isoformat()}" if row.since is not None else f"op {row.op}"
    entries = ledger.get((row.name, cause), ())
    tried = [(result, ended) for result, ended in entries if result != RepairResult.OBSERVED]
    drifted = row.since is not None
    return AilingNode(
        row.name,
        cause,
        row.error or "failed",
        drifted=drifted,
        as_done=bool(row.as_done) and row.doubt is None,
        in_progress=row.at_work and not drifted,
        failures=row.failures,
        next_try=row.next_try,
        attempts=len(tried),
        last_end=max((ended for _, ended in tried if ended is not None), default=None),
        under_way=any(result is None for result, _ in tried),
        observed=len(tried) != len(entries),
        drift=row.reason or "",
        revision=_older_revision(row),
        is_updates=drifted and (row.doubt is not None or (not row.as_done and row.done_revision is None)),
    )


def _older_revision(row: Row[*tuple[Any, ...]]) -> int | None:
    if row.since is not None:
        return None if row.as_done else row.done_revision
    # What is begun on a node takes away what it was done for: the repair that failed says so.
    before = row.repaired_for
    return before if before is not None and before < (row.wanted_revision or 0) else None
