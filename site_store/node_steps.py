"""Steps of an action that concern some of its nodes without a group: they are destroyed, or labelled again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, Text, literal, select, true, update

from site_store.dialects import among, insert, names
from site_store.part import StorePart
from site_store.records import TaskRecord
from site_store.tables import operation, task
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase

_NOT_DONE = (TaskStatus.PENDING, TaskStatus.ERROR, TaskStatus.UNKNOWN)


def claim_for_step(tx: Connection, now: datetime, action_id: str, phase: Phase, op: int, nodes: list[str]) -> list[str]:
    """Take these nodes but for those that the step has done or is at, and return them by name."""
    wanted = names(tx, nodes).subquery()
    facts = {"op": literal(op, task.c.op.type), "status": literal(str(TaskStatus.PROCESSING)), "started": literal(now)}
    rows = insert(tx, task).from_select(
        ["action_id", "node", "phase", *facts],
        select(literal(action_id, Text()), wanted.c.value, literal(str(phase), Text()), *facts.values()).where(true()),
    )
    claimed = tx.scalars(
        rows.on_conflict_do_update(
            index_elements=["action_id", "node", "phase"],
            set_={name: rows.excluded[name] for name in facts} | {"ended": None, "error": None},
            where=task.c.status.in_(_NOT_DONE),
        ).returning(task.c.node)
    )
    return sorted(claimed)


class NodeSteps(StorePart):
    """What came of such steps. Beginning one is `begin_operation`, its result `record_outcome`."""

    def explain_pending(self, action_id: str, phase: Phase, nodes: Collection[str], why: str | None) -> None:
        """Keep why these nodes are not submitted yet, where they still wait for this phase or step of nodes.

        Parameters
        ----------
        why
            A sentence for the report and the description of the action; None when nothing holds them any more. It
            is forgotten when a node is claimed.
        """
        wanted = sorted(frozenset(nodes))

        def work(tx: Connection) -> None:
            if phase.is_node_step and why is not None:
                # A group's nodes have their rows from the plan on; those of a step come with its claim.
                values = names(tx, wanted).subquery()
                facts = (literal(action_id, Text()), values.c.value, literal(str(phase), Text()))
                rows = select(*facts, literal(str(TaskStatus.PENDING))).where(true())
                columns = ["action_id", "node", "phase", "status"]
                tx.execute(insert(tx, task).from_select(columns, rows).on_conflict_do_nothing())
            tx.execute(
                update(task)
                .where(
                    task.c.action_id == action_id,
                    task.c.phase == phase,
                    task.c.status == TaskStatus.PENDING,
                    among(tx, task.c.node, wanted),
                )
                .values(error=why)
            )

        self._database.write(work)

    def explains_any(self, action_id: str) -> bool:
        """Whether a node of an action was not submitted for a reason that is known."""
        unsent = task.c.status.in_((TaskStatus.PENDING, TaskStatus.WITHHELD))
        query = select(task.c.node).where(task.c.action_id == action_id, unsent, task.c.error.is_not(None)).limit(1)
        return self._database.read(lambda tx: tx.execute(query).first() is not None)

    def step_tasks(self, action_id: str, phase: Phase) -> list[tuple[str, TaskRecord]]:
        """Return each node of such a step with what came of it, by name."""
        query = (
            select(task, operation.c.provisioner_task)
            .outerjoin(operation, operation.c.op == task.c.op)
            .where(task.c.action_id == action_id, task.c.phase == phase)
        )

        def work(tx: Connection) -> list[tuple[str, TaskRecord]]:
            return [
                (
                    row.node,
                    TaskRecord(
                        status=TaskStatus(row.status),
                        op=row.op,
                        error=row.error,
                        provisioner_task=row.provisioner_task,
                        started=row.started,
                        ended=row.ended,
                    ),
                )
                for row in tx.execute(query)
            ]

        return sorted(self._database.read(work), key=lambda found: found[0])
