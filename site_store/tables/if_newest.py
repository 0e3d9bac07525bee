"""`strategy_lib.goals.late_results.apply_if_newest` as conditions in SQL: which rows an event changes (rule 45).

Tasks, nodes, groups and steps are rows that belong to the newest of numbered operations or attempts. Each write of an
event asks here for its condition, so that one table decides for all of them. Actions have no such numbers: each is one
DAG run, whose last end counts (`Actions.close`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_

from site_store.tables import action_step, group_run, node, node_error, task
from strategy_lib.goals.late_results import Effect, Event, Row, RowStatus, apply_if_newest
from strategy_lib.goals.node_errors import ReportState
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GroupState

_TAKES = (Effect.APPLIED, Effect.CORRECTED)
_STARTED = tuple(status for status in RowStatus if status is not RowStatus.PENDING)


def statuses_that_take(event: Event) -> tuple[RowStatus, ...]:
    """Return the statuses in which a row takes this event of its own operation."""
    return tuple(status for status in _STARTED if apply_if_newest(Row(1, status), event, 1).effect in _TAKES)


@dataclass(frozen=True)
class VersionedRows:
    """The rows of a table that belong to their newest operation.

    Attributes
    ----------
    op : the number of the newest operation or attempt.
    status, words : what that has come to, and the stored words for each status of the table of transitions. Two
        statuses with one word are told apart by nobody.
    """

    op: ColumnElement[Any]
    status: ColumnElement[Any]
    words: Mapping[RowStatus, tuple[str, ...]]

    def start(self, op: Any) -> ColumnElement[bool]:
        """Whether the start of an operation changes a row: only one of an older operation, or of none."""
        return or_(self.op.is_(None), self.op < op)

    def own(self, op: Any) -> ColumnElement[bool]:
        """Whether a row is the operation's own."""
        return and_(self.op == op)

    def take(self, event: Event, op: Any) -> ColumnElement[bool]:
        """Whether an end, error, timeout or acknowledgement of an operation changes a row.

        Raises `ValueError`: a start has a condition of its own.
        """
        if event is Event.START:
            raise ValueError("a start is asked for by `start`: it replaces an older operation")
        stored = [word for status in statuses_that_take(event) for word in self.words.get(status, ())]
        return and_(self.op == op, self.status.in_(stored)) if stored else false()


TASKS = VersionedRows(
    task.c.op,
    task.c.status,
    {
        RowStatus.PROCESSING: (TaskStatus.PROCESSING,),
        RowStatus.SUCCESS: (TaskStatus.SUCCESS,),
        RowStatus.ERROR: (TaskStatus.ERROR,),
        RowStatus.TIMEOUT: (TaskStatus.UNKNOWN,),
    },
)
"""A node's phase in an action."""
NODES = VersionedRows(node.c.op, node.c.status, {})
"""A node of a site: only a start is decided here; how its operation ends follows from its task."""
GROUPS = VersionedRows(
    group_run.c.attempt,
    group_run.c.state,
    {
        RowStatus.PROCESSING: (GroupState.PENDING, GroupState.RUNNING),
        RowStatus.SUCCESS: (GroupState.SUCCESS,),
        RowStatus.ERROR: (GroupState.FAILURE,),
    },
)
"""A group in an action: its attempts are numbered."""
STEPS = VersionedRows(action_step.c.attempt, action_step.c.state, {})
"""A step of an action: its attempts are numbered. Airflow decides how one ends, and may say it again."""
ERRORS = VersionedRows(
    node_error.c.op,
    node_error.c.state,
    {RowStatus.ERROR: (ReportState.FAILED, ReportState.REPORTED)},
)
"""An error of a node that is not acknowledged yet."""
