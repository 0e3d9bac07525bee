"""Repairs: the ledger of what the controller began for which node and why (rule 57).

One row stands for one attempt at one cause, so that two controllers begin one action for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, or_, select, update

from site_store.nodes.ailing import AilingNode, RepairResult, ailing_node, ailing_query
from site_store.nodes.drifts import show_drifted, show_powered_on
from site_store.nodes.node_status import done_again
from site_store.nodes.repair_switches import is_stopped
from site_store.records import Lease
from site_store.sql.postgresql import among, insert
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import LedRepository
from site_store.status.owner_queries import is_site_stopped
from site_store.tables import node, repair
from site_store.tables import site as site_table
from strategy_lib.node_states.repair import powers_on
from strategy_lib.status.words import Status


@dataclass(frozen=True, slots=True)
class BegunRepair:
    """Nodes that are repaired together: the id of the run, its nodes, and the action once it is there.

    `revision`: the one that they are brought back to; 0: they are only powered on.
    """

    run_id: str
    nodes: tuple[str, ...]
    redeploy: bool
    action_id: str | None
    revision: int = 0

    @property
    def powers_on(self) -> bool:
        """Whether they are only powered on: there is no action."""
        return powers_on(self.run_id)


class Repairs(LedRepository):
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
            return [ailing_node(row, ledger) for row in tx.execute(ailing_query(site, now))]

        return sorted(self._database.read(work), key=lambda one: one.name)

    def concerned(self) -> frozenset[str]:
        """Return the sites that have nodes in error, or repairs that are not settled; of others nothing is to do."""
        ailing = exists().where(node.c.site == site_table.c.name, node.c.standing == Status.ERROR)
        unsettled = exists().where(repair.c.site == site_table.c.name, repair.c.result.is_(None))
        stopped = is_site_stopped(site_table.c.name)
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

        def work(tx: Connection, now: datetime) -> None:
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
                    _tell(tx, now, site, {one.name: text})

        self._transact_led(held, work)

    def begin(
        self,
        held: Lease,
        site: str,
        run_id: str,
        nodes: Sequence[AilingNode],
        *,
        redeploy: bool,
        revision: int | None = None,
    ) -> bool:
        """Take nodes for a repair before its action is asked for; False: another has begun one of these attempts.

        Nodes that are only powered on are at work from now on; False also where one is not as it was (rule 56).

        Parameters
        ----------
        held : the controller's lease.
        run_id : the id of the run, the same for each controller that begins it.
        revision : the one that they are brought back to; None: they are only powered on.

        Raises
        ------
        LeaseLost : another process may lead by now; nothing is begun.
        """

        def work(tx: Connection, now: datetime) -> bool:
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
                    "revision": revision,
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

        return self._transact_led(held, work)

    def under_way(self, site: str) -> list[BegunRepair]:
        """Return the repairs of a site that have begun and are not settled, by run."""
        query = (
            select(repair.c.run_id, repair.c.node, repair.c.redeploy, repair.c.action_id, repair.c.revision)
            .where(repair.c.site == site, repair.c.result.is_(None))
            .order_by(repair.c.run_id, repair.c.node)
        )

        def work(tx: Connection) -> list[BegunRepair]:
            found: dict[str, BegunRepair] = {}
            for row in tx.execute(query):
                known = found.get(row.run_id)
                nodes = (*(known.nodes if known is not None else ()), row.node)
                found[row.run_id] = BegunRepair(row.run_id, nodes, row.redeploy, row.action_id, row.revision or 0)
            return list(found.values())

        return self._database.read(work)

    def started(self, held: Lease, site: str, run_id: str, action_id: str) -> None:
        """Note which action repairs these nodes. Raises `LeaseLost`."""

        def work(tx: Connection, now: datetime) -> None:
            these = (repair.c.site == site, repair.c.run_id == run_id)
            rows = update(repair).where(*these).values(action_id=action_id).returning(repair.c.node, repair.c.revision)
            text = f"is repaired by action {action_id}"
            said = {
                row.node: text + ("" if row.revision is None else f", for revision {row.revision}")
                for row in tx.execute(rows)
            }
            _tell(tx, now, site, said, action_id)

        self._transact_led(held, work)

    def refused(self, held: Lease, site: str, run_id: str, why: str) -> None:
        """Note that no action was started: the next attempt waits for its delay. Raises `LeaseLost`."""

        def work(tx: Connection, now: datetime) -> None:
            these = (repair.c.site == site, repair.c.run_id == run_id, repair.c.result.is_(None))
            nodes = list(tx.scalars(select(repair.c.node).where(*these)))
            tx.execute(update(repair).where(*these).values(ended=now, result=str(RepairResult.REFUSED)))
            if powers_on(run_id):
                show_drifted(tx, now, site, nodes)
            _tell(tx, now, site, dict.fromkeys(nodes, f"its repair was refused: {why}"))

        self._transact_led(held, work)

    def powered_on(self, held: Lease, site: str, run_id: str, refused: Mapping[str, str]) -> None:
        """Note which nodes were powered on, and why others were not. Raises `LeaseLost`."""

        def work(tx: Connection, now: datetime) -> None:
            these = (repair.c.site == site, repair.c.run_id == run_id, repair.c.result.is_(None))
            said = {}
            for name in tx.scalars(select(repair.c.node).where(*these).order_by(repair.c.node)).all():
                why = refused.get(name)
                if why is not None:
                    ended = update(repair).where(*these, repair.c.node == name)
                    tx.execute(ended.values(ended=now, result=str(RepairResult.REFUSED)))
                said[name] = "is powered on" if why is None else f"cannot be powered on: {why}"
            show_drifted(tx, now, site, list(refused))
            _tell(tx, now, site, said)

        self._transact_led(held, work)

    def settle_powered_on(self, held: Lease, site: str, run_id: str, patience: timedelta) -> dict[str, RepairResult]:
        """Note what came of nodes that were powered on, as `settle` does; those that are not back may be so long.

        One that is in error has failed at once: its drift is another one, or an action has failed at it.
        """
        return self._settle(held, site, repair.c.run_id == run_id, None, patience)

    def settle(self, held: Lease, site: str, action_id: str) -> dict[str, RepairResult]:
        """Note what came of a repair whose action is over, node by node; return it. Raises `LeaseLost`.

        A node that is as it was left has the warning what had to be fixed, and when, also where another revision is
        wanted of it (rule 56).
        """
        return self._settle(held, site, repair.c.action_id == action_id, action_id, timedelta())

    def _settle(
        self, held: Lease, site: str, of_it: ColumnElement[bool], action_id: str | None, patience: timedelta
    ) -> dict[str, RepairResult]:

        def work(tx: Connection, now: datetime) -> dict[str, RepairResult]:
            these = (repair.c.site == site, of_it, repair.c.result.is_(None))
            facts = (repair.c.node, repair.c.reason, repair.c.begun, node.c.status, node.c.standing, node.c.fixed)
            of_node = and_(node.c.site == repair.c.site, node.c.name == repair.c.node)
            query = select(*facts).outerjoin(node, of_node)
            results: dict[str, RepairResult] = {}
            for row in tx.execute(query.where(*these)).all():
                good = row.status == Status.SUCCESS
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
            said = {name: f"its repair ended: {result}" for name, result in sorted(results.items())}
            _tell(tx, now, site, said, action_id)
            return results

        return self._transact_led(held, work)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return by site and result how many repairs of nodes are over."""
        query = select(repair.c.site, repair.c.result, func.count().label("number"))
        query = query.where(repair.c.result.is_not(None)).group_by(repair.c.site, repair.c.result)
        return self._database.read(
            lambda tx: Counter({(row.site, row.result): row.number for row in tx.execute(query)})
        )


_STARTED = (str(RepairResult.SUCCESS), str(RepairResult.FAILURE))


def _tell(tx: Connection, now: datetime, site: str, said: Mapping[str, str], action_id: str | None = None) -> None:
    """Write in the history of nodes what became of their repairs."""
    events = [NewEvent(EventKind.REPAIR, text, node=name) for name, text in said.items()]
    write_events(tx, now, site, action_id, events)
