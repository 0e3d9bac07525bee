"""Nodes that were done and are no longer as they were left (rule 56): what a leader judges, and what it has found.

A drift is the error of its node, with no action that it is of. Whatever was written of the node since it was judged
wins: each write here names the version of the record that it is about, and the leader's lease (rule 55).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, and_, cast, exists, func, literal, null, or_, select, update

from site_store.records import Lease
from site_store.sql.postgresql import among, insert, pairs
from site_store.sql.rows import filled
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import LedRepository, require_lease
from site_store.tables import is_not_up, node, node_drift, user_state
from strategy_lib.status.words import Status

_AT_ONCE = 1000

is_drifted = and_(node.c.status == Status.ERROR, node.c.error.is_not(None), node.c.error_action.is_(None))
"""Whether the error of a node is its drift: the errors of operations name their actions."""

_serves_another = and_(
    node.c.standing == Status.PENDING,
    node.c.wanted_digest.is_not(None),
    node.c.done_digest.is_not(None),
    node.c.doubt.is_(None),
    # Between two phases of an action it has no status: it is the action's.
    node.c.status.is_not(None),
)
is_watched = or_(node.c.standing == Status.SUCCESS, _serves_another)
"""Whether a node is to be as it was left: it is as wanted, or was done, and is wanted otherwise or again by now."""

_of_node = and_(node_drift.c.site == node.c.site, node_drift.c.node == node.c.name, node_drift.c.ended.is_(None))
_at_work = and_(
    node.c.status == Status.PROCESSING,
    node.c.error.is_not(None),
    node.c.error_action.is_(None),
    node_drift.c.op.is_not_distinct_from(node.c.op),
)

is_powered_on = exists().where(_of_node, _at_work).correlate(node)
"""Whether a drifted node is at work as a repair has it powered on: no operation was begun on it since it drifted."""


@dataclass(frozen=True, slots=True)
class JudgedNode:
    """A node that is to be up, and was done: one that checks look at.

    Attributes
    ----------
    version : of its record: what is found is written only while it is this.
    op : its newest operation, or its adoption.
    as_wanted : it was done in the very design that is wanted, so that the newest revision states what it is.
    drifted_since, drifted : of a drift that is known, with its reason; None and "": of none.
    """

    name: str
    version: int
    op: int | None
    as_wanted: bool
    done_version: int | None = None
    done_revision: int | None = None
    done_at: datetime | None = None
    drifted_since: datetime | None = None
    drifted: str = ""


@dataclass(frozen=True, slots=True)
class FoundDrift:
    """A drift of a node: what is not as it was left; "": all is well again. `said` is the error that is shown."""

    node: JudgedNode
    reason: str
    since: datetime
    said: str = ""


class Drifts(LedRepository):
    """Drifts of sites."""

    def names(self, site: str) -> frozenset[str]:
        """Return the nodes of a site that are watched; of which `judged` says more."""

        def work(tx: Connection) -> frozenset[str]:
            # As one value: a hundred thousand rows take far longer.
            query = select(func.json_agg(node.c.name))
            found = tx.scalar(query.where(node.c.site == site, is_watched))
            return frozenset(found or ())

        return self._database.read_once(work)

    def not_listed(self, site: str) -> frozenset[str]:
        """Return the nodes of a site that are watched, and that the list which was kept last does not have."""
        unseen = select(node.c.name).where(node.c.site == site, node.c.provisioner_status.is_(None))
        query = unseen.where(is_watched)
        return self._database.read(lambda tx: frozenset(tx.scalars(query)))

    def a_listed(self, site: str) -> str | None:
        """Return some node of a site that is watched, and that the list has which was kept last; None: no one is."""
        listed = select(node.c.name).where(node.c.site == site, node.c.provisioner_status.is_not(None))
        # Each by one range of the index.
        first, second = (
            listed.where(these).order_by(node.c.standing, node.c.name).limit(1)
            for these in (node.c.standing == Status.SUCCESS, _serves_another)
        )
        return self._database.read(lambda tx: tx.scalar(first) or tx.scalar(second))

    def open(self, site: str) -> frozenset[str]:
        """Return the nodes of a site with a drift that is not over."""
        query = select(node_drift.c.node).where(node_drift.c.site == site, node_drift.c.ended.is_(None))
        return self._database.read(lambda tx: frozenset(tx.scalars(query)))

    def judged(self, site: str, nodes: Collection[str] | None = None) -> list[JudgedNode]:
        """Return the nodes of a site that are watched, or drifted, and whose user state is up (rule 51).

        Parameters
        ----------
        nodes : only these; None: all.
        """

        def work(tx: Connection) -> list[JudgedNode]:
            now = self._shared_now(tx)
            of_user = (user_state.c.site == node.c.site, user_state.c.node == node.c.name)
            not_up = exists().where(*of_user, is_not_up(now))
            facts = (node.c[name] for name in ("name", "version", "op", "done_version", "done_revision", "done_at"))
            known = (node_drift.c.since.label("drifted_since"), func.coalesce(node_drift.c.reason, "").label("drifted"))
            as_wanted = node.c.done_digest.is_not_distinct_from(node.c.wanted_digest).label("as_wanted")
            query = (
                select(*facts, as_wanted, *known)
                .outerjoin(node_drift, and_(_of_node, or_(is_drifted, _at_work)))
                .where(node.c.site == site, ~not_up, or_(is_watched, node_drift.c.since.is_not(None)))
            )
            if nodes is not None:
                # By their names, so that the others are not even looked at.
                query = query.where(among(node.c.name, nodes))
            return [filled(JudgedNode, row) for row in tx.execute(query)]

        return self._database.read(work)

    def record(self, held: Lease, site: str, found: Sequence[FoundDrift]) -> frozenset[str]:
        """Write down what was found, and return of which nodes: of others something newer is known.

        Parameters
        ----------
        held : the leader's lease.
        found : new drifts, drifts with another reason, and drifts that are over.

        Raises
        ------
        LeaseLost : another process may lead by now. What was written before, a thousand nodes at a time, stays.
        """
        written: set[str] = set()
        ordered = sorted(found, key=lambda one: one.node.name)
        for start in range(0, len(ordered), _AT_ONCE):
            written |= self._write(held, site, ordered[start : start + _AT_ONCE])
        return frozenset(written)

    def _write(self, held: Lease, site: str, found: Sequence[FoundDrift]) -> set[str]:
        return self._database.write(lambda tx: _record(tx, self._shared_now(tx), held, site, found))

    def close_others(self, held: Lease, site: str) -> None:
        """Note that drifts are over whose nodes were done anew, or are no longer wanted. Raises `LeaseLost`."""
        there = exists().where(node.c.site == node_drift.c.site, node.c.name == node_drift.c.node)
        # A node that is at work is not done yet: its repair is that of this drift.
        still = or_(is_drifted, node.c.status == Status.PROCESSING)
        over = (node_drift.c.site == site, node_drift.c.ended.is_(None), ~there.where(still).correlate(node_drift))

        def work(tx: Connection, now: datetime) -> None:
            tx.execute(update(node_drift).where(*over).values(ended=now))

        query = select(node_drift.c.node).where(*over).limit(1)
        if self._database.read(lambda tx: tx.execute(query).first()) is not None:
            self._transact_led(held, work)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by site how many drifts there are now, and how many there ever were."""
        query = select(node_drift.c.site, node_drift.c.ended.is_(None).label("open"), func.count().label("number"))

        def work(tx: Connection) -> dict[str, tuple[int, int]]:
            now: Counter[str] = Counter()
            ever: Counter[str] = Counter()
            for row in tx.execute(query.group_by(node_drift.c.site, "open")):
                ever[row.site] += row.number
                now[row.site] += row.number if row.open else 0
            return {site: (now[site], number) for site, number in ever.items()}

        return self._database.read(work)


def _record(tx: Connection, now: datetime, held: Lease, site: str, found: Sequence[FoundDrift]) -> set[str]:
    require_lease(tx, held, now)
    written: set[str] = set()
    new = [one for one in found if one.reason]
    over = [one for one in found if not one.reason]
    if new:
        said = pairs({one.node.name: one.said for one in new})
        values: dict[str, Any] = {
            "status": str(Status.ERROR),
            "error": said.c.value,
            "error_revision": node.c.done_revision,
            "error_version": node.c.done_version,
            "error_action": null(),
        }
        written |= _change(tx, now, site, new, values, node.c.name == said.c.key)
    if over:
        nothing = {"error": null(), "error_revision": null(), "error_version": null(), "error_action": null()}
        written |= _change(
            tx, now, site, over, {"status": str(Status.SUCCESS), **nothing}, or_(is_drifted, is_powered_on)
        )
    known = [one for one in found if one.node.name in written]
    rows = [
        {"site": site, "node": one.node.name, "since": one.since, "reason": one.reason, "op": one.node.op}
        for one in known
        if one.reason
    ]
    if rows:
        row = insert(node_drift).values(rows)
        keys = ["site", "node", "since"]
        tx.execute(row.on_conflict_do_update(index_elements=keys, set_={"reason": row.excluded.reason}))
    gone = [one.node.name for one in known if not one.reason]
    if gone:
        these = (node_drift.c.site == site, node_drift.c.ended.is_(None), among(node_drift.c.node, gone))
        tx.execute(update(node_drift).where(*these).values(ended=now))
    write_events(tx, now, site, None, [_event(one) for one in known])
    return written


def _change(
    tx: Connection, now: datetime, site: str, found: Sequence[FoundDrift], values: dict[str, Any], *which: Any
) -> set[str]:
    """Write to the nodes whose records are still as they were judged, and return their names."""
    versions = pairs({one.node.name: str(one.node.version) for one in found})
    seen = select(literal(1)).where(versions.c.key == node.c.name, versions.c.value == cast(node.c.version, String))
    judged = or_(is_watched, is_drifted, is_powered_on)
    changed = (
        update(node)
        .where(node.c.site == site, among(node.c.name, [one.node.name for one in found]))
        .where(judged, seen.exists(), *which)
        .values(**values, version=node.c.version + 1, last_updated=now)
        .returning(node.c.name)
    )
    return set(tx.scalars(changed))


def _event(one: FoundDrift) -> NewEvent:
    data = {"since": one.since.isoformat(), "reason": one.reason}
    return NewEvent(EventKind.DRIFT, one.said or "it is as it was left again", node=one.node.name, data=data)


def show_powered_on(tx: Connection, now: datetime, site: str, errors: Mapping[str, str]) -> bool:
    """Have drifted nodes at work; return False, with nothing changed, where one is not in this error any more."""
    said = pairs(errors)
    same = (node.c.site == site, is_drifted, node.c.name == said.c.key, node.c.error == said.c.value)
    locked = select(node.c.name).where(*same).order_by(node.c.name).with_for_update(of=node)
    if len(tx.scalars(locked).all()) != len(errors):
        return False
    _show(tx, now, site, errors, Status.PROCESSING, is_drifted)
    return True


def show_drifted(tx: Connection, now: datetime, site: str, names: Collection[str]) -> None:
    """Have nodes in error again that are powered on no more; whatever was written of others since wins."""
    if names:
        _show(tx, now, site, names, Status.ERROR, is_powered_on)


def _show(
    tx: Connection, now: datetime, site: str, names: Collection[str], status: Status, which: ColumnElement[bool]
) -> None:
    these = (node.c.site == site, among(node.c.name, names), which)
    tx.execute(update(node).where(*these).values(status=str(status), version=node.c.version + 1, last_updated=now))
