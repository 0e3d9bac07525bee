"""Nodes that wait for other nodes (rule 39): what became of those, for which one waits, and why one is held."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, exists, func, insert, literal, select, update

from site_store.operations.node_tasks import both_tasks, deploy, members_of, prepare, read_not_ready
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, names, pairs, whole_joins
from site_store.tables import group_node, node_question, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GROUP_PHASES, Phase

WAITS_FOR = "waits for "


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
                rows = tx.execute(query.where(among(prepare.c.node, sorted(nodes)))).all()
            found = {
                name: WaitedFor(node_state(TaskStatus(prepared), TaskStatus(deployed)), error, held)
                for name, prepared, deployed, error, held in rows
            }
            not_ready = read_not_ready(tx, action_id)
            return found | {name: WaitedFor(*why) for name, why in not_ready.items() if name in found}

        return self._database.read(work)

    def wait(self, action_id: str, group: str, others: Mapping[str, str]) -> None:
        """Keep for which node each node of a group waits before its deploy; of the others nothing is kept.

        It is forgotten when a node is claimed, and a node that is held says why it is.
        """

        def work(tx: Connection) -> None:
            these = [
                task.c.action_id == action_id,
                task.c.phase == Phase.DEPLOY,
                task.c.status == TaskStatus.PENDING,
                task.c.held.is_(None),
            ]
            mine = [task.c.error.startswith(WAITS_FOR, autoescape=True), task.c.node.in_(members_of(action_id, group))]
            if others:
                mine.append(task.c.node.not_in(names(others)))
            tx.execute(update(task).where(*these, *mine).values(error=None))
            if others:
                other = pairs(others)
                said = literal(WAITS_FOR) + other.c.value
                new = (task.c.node == other.c.key, task.c.error.is_distinct_from(said))
                tx.execute(update(task).where(*these, *new).values(error=said))

        self._database.write(work)

    def hold(self, action_id: str, reasons: Mapping[str, str]) -> None:
        """Keep why these nodes are not sent, where they still wait for a phase; it is forgotten when one is claimed."""
        if not reasons:
            return

        def work(tx: Connection) -> None:
            why = pairs(reasons)
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


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """Where each node is asked, and how many at once."""

    urls: Mapping[str, str]
    most: int


class Questions(Repository):
    """Questions of operations that are not over (rule 58)."""

    def get(self, op: int) -> KeptQuestion | None:
        """Return what an operation asks; None: it was not written down, or is over."""
        query = select(node_question.c.urls, node_question.c.most).where(node_question.c.op == op)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else KeptQuestion(dict(row.urls), row.most)

    def keep(self, op: int, question: KeptQuestion) -> None:
        """Write down what an operation asks, in place of what was."""

        def work(tx: Connection) -> None:
            tx.execute(delete(node_question).where(node_question.c.op == op))
            tx.execute(insert(node_question).values(op=op, urls=dict(question.urls), most=question.most))

        self._database.write(work)

    def forget(self, op: int) -> None:
        """Forget what an operation asked: it is over."""
        self._database.write(lambda tx: tx.execute(delete(node_question).where(node_question.c.op == op)))
