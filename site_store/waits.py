"""Nodes that wait for other nodes (rule 39): what became of those, and why one is held."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, and_, exists, func, select, update

from site_store.database import Repository
from site_store.dialects import among, pairs, whole_joins
from site_store.tables import group_node, task
from site_store.tasks import both_tasks, deploy, prepare
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GROUP_PHASES


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """A node of an action that others may wait for: its state, why it failed or was not sent, and why it is held."""

    state: NodeState
    error: str | None = None
    held: str | None = None


class Waits(Repository):
    """What nodes wait for."""

    def facts(self, action_id: str, nodes: Collection[str]) -> dict[str, WaitedFor]:
        """Return what became of these nodes in an action; one that is in no group of it is left out."""
        if not nodes:
            return {}
        said = func.coalesce(deploy.c.error, prepare.c.error)
        # An action has rows of nodes in no group, too, so that its report names them.
        member = and_(group_node.c.action_id == action_id, group_node.c.node == prepare.c.node)
        query = both_tasks(
            select(prepare.c.node, prepare.c.status, deploy.c.status, said, deploy.c.held), action_id, None
        ).where(exists().where(member).correlate(prepare))

        def work(tx: Connection) -> dict[str, WaitedFor]:
            with whole_joins(tx):
                rows = tx.execute(query.where(among(tx, prepare.c.node, sorted(nodes)))).all()
            return {
                name: WaitedFor(node_state(TaskStatus(prepared), TaskStatus(deployed)), error, held)
                for name, prepared, deployed, error, held in rows
            }

        return self._database.read(work)

    def hold(self, action_id: str, reasons: Mapping[str, str]) -> None:
        """Keep why these nodes are not sent, where they still wait for a phase; it is forgotten when one is claimed."""
        if not reasons:
            return

        def work(tx: Connection) -> None:
            why = pairs(tx, reasons)
            tx.execute(
                update(task)
                .where(
                    task.c.action_id == action_id,
                    task.c.phase.in_(GROUP_PHASES),
                    task.c.status == TaskStatus.PENDING,
                    task.c.node == why.c.key,
                    task.c.held.is_distinct_from(why.c.value),
                )
                .values(error=why.c.value, held=why.c.value)
            )

        self._database.write(work)
