"""Starting a group, and starting it again (rule 23)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from site_store.abort import interrupt_groups, interrupt_work
from site_store.actions import read_action
from site_store.dialects import among, whole_joins
from site_store.events import EventKind, NewEvent, write_events
from site_store.groups import read_group
from site_store.node_tasks import both_tasks, deploy, prepare
from site_store.operations import LIVE, abandon_operations
from site_store.part import StorePart
from site_store.records import GroupRecord
from site_store.tables import group_node, group_run, operation, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GroupState

_PAST = ("status", "op", "error", "started", "ended")
_BLANK: dict[str, Any] = {"reason": None, "criteria": [], "counts": {}, "ended": None}
_STARTED_AGAIN = (NodeState.FAILURE, NodeState.UNKNOWN, NodeState.PREPARING, NodeState.DEPLOYING)


class Attempts(StorePart):
    """Attempts of groups."""

    def open_attempt(self, action_id: str, group: str, attempt_key: str) -> GroupRecord:
        """Start a group's task, whether for the first time or again, and say what it has to do (rule 23).

        Without a verdict, the attempt begins or goes on. With the verdict success, or the verdict failure under the
        same key (Airflow repeats a task that is over), the group is returned as it is. With the verdict failure under
        another key (a person cleared the task), a new attempt begins: the group's nodes that failed, are unknown, or
        were left in the middle become `not_started`, prepared ones stay prepared, and what came of them before is
        moved to the history. Nodes that are in the hands of another group's live operation are left alone.

        Reconcile `unfinished_operations` of the group's nodes first: a provisioner task that is still at work on
        a node does not stop because the node is to be submitted again.

        Parameters
        ----------
        action_id, group
            The group.
        attempt_key
            What Airflow keeps over its own retries of the task and changes when a person clears it.

        Raises
        ------
        GroupNotFound
            The action's plan has no group of this name.
        """
        return self._database.write(lambda tx: self._open(tx, action_id, group, attempt_key))

    def interrupt_group(self, action_id: str, group: str) -> bool:
        """Judge a group whose task ended without a verdict and will not go on: failure, `interrupted`.

        Its nodes still being processed become `unknown`, and its provisioner task stays in `unfinished_operations`
        until it is seen to be over. A person can have it started again (rule 23).

        Returns
        -------
        bool
            False when it had a verdict, and then nothing has changed.

        Raises
        ------
        GroupNotFound
            The action's plan has no group of this name.
        """

        def work(tx: Connection) -> bool:
            now = self._now()
            read_group(tx, action_id, group)
            if not interrupt_groups(tx, now, action_id, group):
                return False
            interrupt_work(tx, now, action_id, group)
            ended = NewEvent(EventKind.GROUP_FINISHED, "its task ended without a verdict: interrupted", group)
            write_events(tx, now, read_action(tx, action_id).site, action_id, [ended])
            return True

        return self._database.write(work)

    def _open(self, tx: Connection, action_id: str, group: str, key: str) -> GroupRecord:
        now = self._now()
        this = (group_run.c.action_id == action_id, group_run.c.name == group)
        # Two that open the same group go one after the other from here.
        tx.execute(select(group_run.c.name).where(*this).with_for_update())
        found = read_group(tx, action_id, group)
        if found.state is GroupState.SUCCESS or (found.state is GroupState.FAILURE and found.attempt_key == key):
            return found
        if found.state is GroupState.FAILURE:
            self._start_again(tx, now, found)
        attempt = found.attempt if found.state is GroupState.RUNNING else found.attempt + 1
        tx.execute(
            update(group_run)
            .where(*this, group_run.c.attempt == found.attempt)
            .values(
                state=GroupState.RUNNING,
                attempt=attempt,
                attempt_key=key,
                **({} if attempt == found.attempt else _BLANK | {"started": now}),
            )
        )
        return read_group(tx, action_id, group)

    def _start_again(self, tx: Connection, now: datetime, found: GroupRecord) -> None:
        """Make the group's nodes eligible again, and keep what came of them in the history."""
        abandon_operations(tx, now, found.action_id, group=found.name)
        facts = [table.c[fact].label(f"{table.name}_{fact}") for table in (prepare, deploy) for fact in _PAST]
        query = both_tasks(select(prepare.c.node, *facts), found.action_id, found.name)
        with whole_joins(tx):
            rows = tx.execute(
                query.where(deploy.c.status != TaskStatus.SUCCESS).with_for_update(of=[prepare, deploy])
            ).all()
        live = set(
            tx.scalars(
                select(operation.c.op).where(operation.c.action_id == found.action_id, operation.c.status.in_(LIVE))
            )
        )
        again = [row for row in rows if _starts_again(row, live)]
        tx.execute(
            update(task)
            .where(task.c.action_id == found.action_id, among(tx, task.c.node, [row.node for row in again]))
            .values(
                status=TaskStatus.PENDING, op=None, owner_group=None, error=None, started=None, ended=None, found=None
            )
        )
        # What kept them from being submitted may be over: that is judged anew.
        members = select(group_node.c.node).where(
            group_node.c.action_id == found.action_id, group_node.c.group_name == found.name
        )
        tx.execute(
            update(task)
            .where(task.c.action_id == found.action_id, task.c.status == TaskStatus.WITHHELD, task.c.node.in_(members))
            .values(status=TaskStatus.PENDING, error=None)
        )
        verdict = NewEvent(
            EventKind.NEW_ATTEMPT,
            f"attempt {found.attempt + 1} begins with {len(again)} nodes again; attempt {found.attempt} ended with "
            f"{found.state}" + (f" ({found.reason})" if found.reason else ""),
            found.name,
            data={"attempt": found.attempt, "reason": found.reason, "counts": dict(found.counts)},
        )
        earlier = [
            NewEvent(
                EventKind.EARLIER_RESULT,
                f"attempt {found.attempt}: prepare {row.prepare_status}, deploy {row.deploy_status}",
                found.name,
                row.node,
                {
                    phase: {fact: getattr(row, f"{phase}_{fact}") for fact in _PAST}
                    for phase in (prepare.name, deploy.name)
                },
            )
            for row in again
        ]
        site = read_action(tx, found.action_id).site
        write_events(tx, now, site, found.action_id, [verdict, *earlier])


def _starts_again(row: Row[*tuple[Any, ...]], live: set[int]) -> bool:
    """Whether a node is to start from the beginning: not a prepared one, and not one that is at work right now."""
    if node_state(TaskStatus(row.prepare_status), TaskStatus(row.deploy_status)) not in _STARTED_AGAIN:
        return False
    in_hand = {
        op
        for op, status in ((row.prepare_op, row.prepare_status), (row.deploy_op, row.deploy_status))
        if status == TaskStatus.PROCESSING
    }
    return not in_hand & live
