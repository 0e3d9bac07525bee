"""Reports of actions, and all facts that one is made of (rule 20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from site_store.actions.action_rows import read_action
from site_store.groups.plans import read_groups
from site_store.operations.node_tasks import NodeTasks, read_node_tasks
from site_store.operations.operation_rows import read_operations
from site_store.records import ActionRecord, EventRecord, GroupRecord, Operation
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert
from site_store.sql.rows import plain
from site_store.status.events import read_events
from site_store.tables import action_report

_REPORTED_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class ReportInput:
    """All that the store knows about an action, read in one transaction (rule 20)."""

    action: ActionRecord
    groups: tuple[GroupRecord, ...]
    nodes: tuple[NodeTasks, ...]
    operations: tuple[Operation, ...]
    events: tuple[EventRecord, ...]


class Reports(Repository):
    """The report of each action."""

    def save(self, action_id: str, report: Mapping[str, Any]) -> None:
        """Keep the report of an action; a later one replaces it (rule 20).

        Raises `NotFound`: no action has this id.
        """

        def work(tx: Connection) -> None:
            read_action(tx, action_id)
            row = insert(action_report).values(action_id=action_id, report=plain(report))
            tx.execute(row.on_conflict_do_update(index_elements=["action_id"], set_={"report": row.excluded.report}))

        self._database.write(work)

    def get(self, action_id: str) -> Mapping[str, Any] | None:
        """Return the report of an action, None before it has one (rule 20). It may be large: 8 MB for 100,000 nodes.

        Raises `NotFound`: no action has this id.
        """

        def work(tx: Connection) -> Mapping[str, Any] | None:
            read_action(tx, action_id)
            report: Mapping[str, Any] | None = tx.scalar(
                select(action_report.c.report).where(action_report.c.action_id == action_id)
            )
            return report

        return self._database.read(work)

    def facts(self, action_id: str) -> ReportInput:
        """Return all that a report says, read in one snapshot (rule 20).

        Raises `NotFound`: no action has this id.
        """
        return self._database.read(
            lambda tx: ReportInput(
                action=read_action(tx, action_id),
                groups=tuple(read_groups(tx, action_id)),
                nodes=tuple(read_node_tasks(tx, action_id)),
                operations=tuple(read_operations(tx, action_id)),
                events=tuple(read_events(tx, action_id, _REPORTED_EVENTS)),
            )
        )
