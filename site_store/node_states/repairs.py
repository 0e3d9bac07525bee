"""Repairs: the ledger of what the controller began for which node and why (rule 57).

One row stands for one attempt at one cause, so that two controllers begin one action for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, exists, func, or_, select, update

from site_store.leases import require_lease
from site_store.node_states.drifts import is_drifted
from site_store.node_states.powered_on import show_drifted, show_powered_on
from site_store.node_states.repair_switches import is_stopped
from site_store.nodes.node_status import done_again
from site_store.records import Lease
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, insert
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import (
    node,
    node_drift,
    operation,
    repair,
    site_group_node,
    user_state,
)
from site_store.tables import site as site_table
from site_store.trees.owner_queries import is_site_stopped
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.repair import powers_on
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


@dataclass(frozen=True, slots=True)
class BegunRepair:
    """Nodes that are repaired together: the id of the run, its nodes, and the action once it is there."""

    run_id: str
    nodes: tuple[str, ...]
    redeploy: bool
    action_id: str | None

    @property
    def powers_on(self) -> bool:
        """Whether they are only powered on: there is no action."""
        return powers_on(self.run_id)


class Repairs(Repository):
    """Repairs of sites."""

    def ailing(self, site: str) -> list[AilingNode]:
        """Return the nodes that may need a repair, by name (rules 51 and 57)."""

        def work(tx: Connection) -> list[AilingNode]:
            now = self._shared_now(tx)
            ledger: dict[tuple[str, str], list[tuple[str | None, datetime | None]]] = {}
            rows = tx.execute(
                select(repair.c.node, repair.c.cause, repair.c.result, repair.c.ended).where(repair.c.site == site)
            )
            for row in rows:
                ledger.setdefault((row.node, row.cause), []).append((row.result, row.ended))
            return [_ailing(row, ledger) for row in tx.execute(_query(site, now))]

        return sorted(self._database.read(work), key=lambda one: one.name)

    def concerned(self) -> frozenset[str]:
        """Return the sites that have nodes in error, or repairs that are not settled; of others nothing is to do."""
        ailing = exists().where(node.c.site == site_table.c.name, node.c.standing == Status.ERROR)
        unsettled = exists().where(repair.c.site == site_table.c.name, repair.c.result.is_(None))
        stopped = is_site_stopped(site_table.c.name, self._database.given_time())
        query = select(site_table.c.name).where(or_(ailing, unsettled), ~stopped)
        return self._database.read_once(lambda tx: frozenset(tx.scalars(query)))

    def begun_since(self, site: str, ago: timedelta) -> list[datetime]:
        """Return when repairs of nodes began in this time, by the database's clock; refused ones are left out."""

        def work(tx: Connection) -> list[datetime]:
            started = or_(repair.c.result.is_(None), repair.c.result.in_(_STARTED))
            query = select(repair.c.begun).where(
                repair.c.site == site, repair.c.begun > self._shared_now(tx) - ago, started
            )
            return list(tx.scalars(query))

        return self._database.read(work)

    def observe(self, held: Lease, site: str, said: Mapping[AilingNode, str]) -> None:
        """Note once what would be done to nodes. Raises `LeaseLost`."""

        def work(tx: Connection) -> None:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            for one, text in said.items():
                row = insert(repair).values(
                    site=site,
                    node=one.name,
                    cause=one.cause,
                    attempt=0,
                    reason=one.error,
                    redeploy=False,
                    begun=now,
                    ended=now,
                    result=str(RepairResult.OBSERVED),
                )
                # Not the count of rows, which PostgreSQL's driver does not give for an INSERT.
                if tx.execute(row.on_conflict_do_nothing().returning(repair.c.node)).all():
                    write_events(tx, now, site, None, [NewEvent(EventKind.REPAIR, text, node=one.name)])

        self._database.write(work)

    def begin(self, held: Lease, site: str, run_id: str, nodes: Sequence[AilingNode], *, redeploy: bool) -> bool:
        """Take nodes for a repair before its action is asked for; False: another has begun one of these attempts.

        Nodes that are only powered on are at work from now on; False also where one is not as it was (rule 56).

        Parameters
        ----------
        held : the controller's lease.
        run_id : the id of the run, the same for each controller that begins it.

        Raises
        ------
        LeaseLost : another process may lead by now; nothing is begun.
        """

        def work(tx: Connection) -> bool:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            if is_stopped(tx, site):
                return False
            rows = [
                {
                    "site": site,
                    "node": one.name,
                    "cause": one.cause,
                    "attempt": one.attempts + 1,
                    "reason": one.error,
                    "redeploy": redeploy,
                    "begun": now,
                    "run_id": run_id,
                }
                for one in nodes
            ]
            taken = insert(repair).values(rows).on_conflict_do_nothing().returning(repair.c.node)
            is_taken = len(tx.execute(taken).all()) == len(rows)
            if not is_taken or (
                powers_on(run_id) and not show_powered_on(tx, now, site, {one.name: one.error for one in nodes})
            ):
                tx.execute(delete(repair).where(repair.c.site == site, repair.c.run_id == run_id))
                return False
            return True

        return self._database.write(work)

    def under_way(self, site: str) -> list[BegunRepair]:
        """Return the repairs of a site that have begun and are not settled, by run."""
        query = (
            select(repair.c.run_id, repair.c.node, repair.c.redeploy, repair.c.action_id)
            .where(repair.c.site == site, repair.c.result.is_(None))
            .order_by(repair.c.run_id, repair.c.node)
        )

        def work(tx: Connection) -> list[BegunRepair]:
            found: dict[str, BegunRepair] = {}
            for row in tx.execute(query):
                known = found.get(row.run_id)
                nodes = (*(known.nodes if known is not None else ()), row.node)
                found[row.run_id] = BegunRepair(row.run_id, nodes, row.redeploy, row.action_id)
            return list(found.values())

        return self._database.read(work)

    def started(self, held: Lease, site: str, run_id: str, action_id: str) -> None:
        """Note which action repairs these nodes. Raises `LeaseLost`."""

        def work(tx: Connection) -> None:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            these = (repair.c.site == site, repair.c.run_id == run_id)
            nodes = list(tx.scalars(select(repair.c.node).where(*these)))
            tx.execute(update(repair).where(*these).values(action_id=action_id))
            text = f"is repaired by action {action_id}"
            write_events(tx, now, site, action_id, [NewEvent(EventKind.REPAIR, text, node=name) for name in nodes])

        self._database.write(work)

    def refused(self, held: Lease, site: str, run_id: str, why: str) -> None:
        """Note that no action was started: the next attempt waits for its delay. Raises `LeaseLost`."""

        def work(tx: Connection) -> None:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            these = (repair.c.site == site, repair.c.run_id == run_id, repair.c.result.is_(None))
            nodes = list(tx.scalars(select(repair.c.node).where(*these)))
            tx.execute(update(repair).where(*these).values(ended=now, result=str(RepairResult.REFUSED)))
            if powers_on(run_id):
                show_drifted(tx, now, site, nodes)
            text = f"its repair was refused: {why}"
            write_events(tx, now, site, None, [NewEvent(EventKind.REPAIR, text, node=name) for name in nodes])

        self._database.write(work)

    def powered_on(self, held: Lease, site: str, run_id: str, refused: Mapping[str, str]) -> None:
        """Note which nodes were powered on, and why others were not. Raises `LeaseLost`."""

        def work(tx: Connection) -> None:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            these = (repair.c.site == site, repair.c.run_id == run_id, repair.c.result.is_(None))
            said = []
            for name in tx.scalars(select(repair.c.node).where(*these).order_by(repair.c.node)).all():
                why = refused.get(name)
                if why is not None:
                    ended = update(repair).where(*these, repair.c.node == name)
                    tx.execute(ended.values(ended=now, result=str(RepairResult.REFUSED)))
                text = "is powered on" if why is None else f"cannot be powered on: {why}"
                said.append(NewEvent(EventKind.REPAIR, text, node=name))
            show_drifted(tx, now, site, list(refused))
            write_events(tx, now, site, None, said)

        self._database.write(work)

    def settle_powered_on(self, held: Lease, site: str, run_id: str, patience: timedelta) -> dict[str, RepairResult]:
        """Note what came of nodes that were powered on, as `settle` does; those that are not back may be so long.

        One that is in error has failed at once: its drift is another one, or an action has failed at it.
        """
        return self._settle(held, site, repair.c.run_id == run_id, None, patience)

    def settle(self, held: Lease, site: str, action_id: str) -> dict[str, RepairResult]:
        """Note what came of a repair whose action is over, node by node; return it. Raises `LeaseLost`.

        A node that stands as a success has the warning what had to be fixed, and when (rule 56).
        """
        return self._settle(held, site, repair.c.action_id == action_id, action_id, timedelta())

    def _settle(
        self, held: Lease, site: str, of_it: ColumnElement[bool], action_id: str | None, patience: timedelta
    ) -> dict[str, RepairResult]:

        def work(tx: Connection) -> dict[str, RepairResult]:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            these = (repair.c.site == site, of_it, repair.c.result.is_(None))
            query = select(repair.c.node, repair.c.reason, repair.c.begun, node.c.standing, node.c.fixed).outerjoin(
                node, and_(node.c.site == repair.c.site, node.c.name == repair.c.node)
            )
            results: dict[str, RepairResult] = {}
            for row in tx.execute(query.where(*these)).all():
                good = row.standing == Status.SUCCESS
                if not good and row.standing != Status.ERROR and now - row.begun < patience:
                    continue
                results[row.node] = RepairResult.SUCCESS if good else RepairResult.FAILURE
                this = (node.c.site == site, node.c.name == row.node)
                if good and row.fixed is None:
                    fixed = row.reason + done_again(now)
                    tx.execute(update(node).where(*this).values(fixed=fixed, version=node.c.version + 1))
            for result in (RepairResult.SUCCESS, RepairResult.FAILURE):
                names = [name for name, its in results.items() if its is result]
                if names:
                    mine = among(repair.c.node, names)
                    tx.execute(update(repair).where(*these, mine).values(ended=now, result=str(result)))
            show_drifted(tx, now, site, [name for name, its in results.items() if its is RepairResult.FAILURE])
            said = [
                NewEvent(EventKind.REPAIR, f"its repair ended: {result}", node=name)
                for name, result in sorted(results.items())
            ]
            write_events(tx, now, site, action_id, said)
            return results

        return self._database.write(work)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return by site and result how many repairs of nodes are over."""
        query = select(repair.c.site, repair.c.result, func.count().label("number"))
        query = query.where(repair.c.result.is_not(None)).group_by(repair.c.site, repair.c.result)
        return self._database.read(
            lambda tx: Counter({(row.site, row.result): row.number for row in tx.execute(query)})
        )


_STARTED = (str(RepairResult.SUCCESS), str(RepairResult.FAILURE))


def _query(site: str, now: datetime) -> Select[Any]:
    in_force = or_(user_state.c.until.is_(None), user_state.c.until > now)
    of_user = and_(user_state.c.site == node.c.site, user_state.c.node == node.c.name)
    not_up = exists().where(of_user, user_state.c.state != NodeAvailability.UP, in_force)
    grouped = exists().where(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
    this_drift = and_(
        node_drift.c.site == node.c.site, node_drift.c.node == node.c.name, node_drift.c.ended.is_(None), is_drifted
    )
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
            node.c.doubt,
        )
        .outerjoin(node_drift, this_drift)
        .outerjoin(operation, operation.c.op == node.c.op)
        .where(node.c.site == site, node.c.standing == Status.ERROR, node.c.wanted_digest.is_not(None))
        .where(grouped, ~not_up)
    )


def _ailing(
    row: Row[*tuple[Any, ...]], ledger: Mapping[tuple[str, str], Sequence[tuple[str | None, datetime | None]]]
) -> AilingNode:
    cause = f"drift {row.since.isoformat()}" if row.since is not None else f"op {row.op}"
    entries = ledger.get((row.name, cause), ())
    tried = [(result, ended) for result, ended in entries if result != RepairResult.OBSERVED]
    return AilingNode(
        row.name,
        cause,
        row.error or "failed",
        drifted=row.since is not None,
        as_done=bool(row.as_done) and row.doubt is None,
        in_progress=row.at_work and row.since is None,
        failures=row.failures,
        next_try=row.next_try,
        attempts=len(tried),
        last_end=max((ended for _, ended in tried if ended is not None), default=None),
        under_way=any(result is None for result, _ in tried),
        observed=len(tried) != len(entries),
        drift=row.reason or "",
    )
