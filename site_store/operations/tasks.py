"""Tasks: a node's phases or steps in an action, and the one state that the phases add up to (rule 10)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Text,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
    update,
)

from site_store.nodes.node_status import fail_nodes, provisioner_owner
from site_store.nodes.unsent import number_as_wanted, write_unsent
from site_store.operations.node_tasks import (
    TROUBLED,
    NodeTasks,
    OthersAtWork,
    Readiness,
    TaskRecord,
    both_tasks,
    deploy,
    members_of,
    only_not_ready,
    prepare,
    read_node_tasks,
    read_others_at_work,
)
from site_store.operations.operation_rows import require_attempt, require_site
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, insert, names, pairs, whole_joins
from site_store.sql.rows import filled
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, group_node, group_run, node, operation, task
from strategy_lib.goals.node_errors import ErrorCode
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import GROUP_PHASES, Phase


def withhold(
    tx: Connection, now: datetime, action_id: str, phases: Collection[Phase], reasons: Mapping[str, str]
) -> None:
    """Keep these nodes from being submitted for these phases, where they are still to be; the reason is kept.

    That is the `policy` of the strategy, or of the action: to leave alone what is deployed (rule 21).
    """
    if not reasons:
        return
    why = pairs(reasons)
    these = (*_pending(action_id, phases), task.c.node == why.c.key)
    kept = {"status": TaskStatus.WITHHELD, "error": why.c.value, "started": now, "ended": now}
    tx.execute(update(task).where(*these).values(kept))
    site: str = tx.scalars(select(action.c.site).where(action.c.id == action_id)).one()
    write_unsent(tx, now, site, action_id, sorted(phases, key=GROUP_PHASES.index)[0], reasons, ErrorCode.POLICY)


def _pending(action_id: str, phases: Collection[Phase]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on tasks of an action that are still to be submitted for these phases."""
    its = (task.c.action_id == action_id, task.c.status == TaskStatus.PENDING)
    return (*its, task.c.phase.in_([str(phase) for phase in phases]))


def plan_node_step(
    tx: Connection, action_id: str, connection: str | None, phase: Phase, nodes: Collection[str]
) -> None:
    """Write in the caller's transaction that a step is to be done to these nodes; rows that there are stay."""
    if not nodes:
        return
    values = names(sorted(frozenset(nodes))).subquery()
    facts = (literal(action_id, Text()), values.c.value, literal(str(phase), Text()))
    rest = (literal(str(TaskStatus.PENDING)), literal(provisioner_owner(connection)))
    columns = ["action_id", "node", "phase", "status", "owner"]
    rows = insert(task).from_select(columns, select(*facts, *rest).where(true()))
    tx.execute(rows.on_conflict_do_nothing())


def explain_pending(tx: Connection, action_id: str, phase: Phase, reasons: Mapping[str, str | None]) -> None:
    """Keep in the caller's transaction why nodes are not submitted, where they still wait for a phase or a step.

    Parameters
    ----------
    reasons : None: it is forgotten.
    """
    held = [name for name, reason in reasons.items() if reason is not None]
    if phase.is_node_step and held:
        # Of nodes that the plan of the action does not name there are no rows yet.
        connection = tx.scalar(select(action.c.connection).where(action.c.id == action_id))
        plan_node_step(tx, action_id, connection, phase, held)
    if reasons:
        why = pairs(reasons)
        these = (*_pending(action_id, [phase]), task.c.node == why.c.key)
        tx.execute(update(task).where(*these).values(error=why.c.value))


class Tasks(Repository):
    """Tasks of nodes. A claim takes them (`claims.py`), and an outcome settles them (`outcomes.py`)."""

    def of_nodes(self, action_id: str, group: str | None = None) -> list[NodeTasks]:
        """Return the nodes of a group, or of the whole action, with all that is known of both phases (rule 20)."""
        return self._database.read(lambda tx: read_node_tasks(tx, action_id, group))

    def node_states(self, action_id: str, group: str | None = None) -> dict[str, NodeState]:
        """Return the state of each node of a group, or of the whole action, in one statement (rule 10)."""
        return self._states(select(prepare.c.node, prepare.c.status, deploy.c.status), action_id, group)

    def attempt_states(self, action_id: str, group: str, attempt: int) -> dict[str, NodeState]:
        """Return the state of each node of a group as one of its attempts may rely on it (rules 11 and 23).

        The same as `node_states`, in one statement, except for a node that an operation of another group, or of another
        attempt of this group, is working on: what comes of it will never be this attempt's to learn, so it is
        `unknown`. A group must not take another's live nodes for its own.
        """
        own = select(operation.c.op).where(
            operation.c.action_id == action_id, operation.c.group_name == group, operation.c.attempt == attempt
        )

        def seen(phase: FromClause) -> ColumnElement[str]:
            reliable = or_(phase.c.status != TaskStatus.PROCESSING, phase.c.op.in_(own))
            return case((reliable, phase.c.status), else_=TaskStatus.UNKNOWN.value)

        return self._states(select(prepare.c.node, seen(prepare), seen(deploy)), action_id, group)

    def beside_others(self, action_id: str, group: str, attempt: int) -> OthersAtWork:
        """Return what `attempt_states` does, but that nodes which other groups have in hand are named, with who."""
        return self._database.read(lambda tx: read_others_at_work(tx, action_id, group, attempt))

    def _states(self, query: Select[Any], action_id: str, group: str | None) -> dict[str, NodeState]:
        """Add up what a query says of each node: its name and the status of both phases."""
        # Of those that were deployed and not ready that says more than their deploy; few are, mostly none.
        said = (task.c.node, literal(str(TaskStatus.SUCCESS)), task.c.status)
        both = union_all(both_tasks(query, action_id, group), only_not_ready(select(*said), action_id, group))

        def work(tx: Connection) -> dict[str, NodeState]:
            states: dict[str, NodeState] = {}
            with whole_joins(tx):
                for name, prepared, deployed in tx.execute(both):
                    state = node_state(TaskStatus(prepared), TaskStatus(deployed))
                    if state is not NodeState.SUCCESS or name not in states:
                        states[name] = state
            return states

        return self._database.read(work)

    def node_counts(self, action_id: str) -> dict[str, dict[NodeState, int]]:
        """Return for each group of an action how many of its nodes are in each state, states of no node included.

        Counted by the database in three statements, so that it can be asked again and again while an action runs.
        """
        not_ready = (
            select(group_node.c.group_name, task.c.status, func.count())
            .join(group_node, and_(group_node.c.action_id == task.c.action_id, group_node.c.node == task.c.node))
            .where(task.c.action_id == action_id, task.c.status.in_(TROUBLED), task.c.phase == Phase.READY)
            .group_by(group_node.c.group_name, task.c.status)
        )
        names = select(group_run.c.name).where(group_run.c.action_id == action_id)
        grouped = (group_node.c.group_name, prepare.c.status, deploy.c.status)
        query = both_tasks(select(*grouped, func.count()), action_id, None).join(
            group_node, and_(group_node.c.action_id == prepare.c.action_id, group_node.c.node == prepare.c.node)
        )

        def work(tx: Connection) -> dict[str, dict[NodeState, int]]:
            counts = {name: dict.fromkeys(NodeState, 0) for name in tx.scalars(names)}
            with whole_joins(tx):
                for name, prepared, deployed, number in tx.execute(query.group_by(*grouped)):
                    counts[name][node_state(TaskStatus(prepared), TaskStatus(deployed))] += number
            for name, status, number in tx.execute(not_ready):
                counts[name][NodeState.SUCCESS] -= number
                counts[name][node_state(TaskStatus.SUCCESS, TaskStatus.SUCCESS, TaskStatus(status))] += number
            return counts

        return self._database.read(work)

    def plan_step(self, action_id: str, phase: Phase, nodes: Collection[str]) -> None:
        """Write that a step is to be done to these nodes, which its action has found; rows that there are stay."""

        def work(tx: Connection) -> None:
            connection = tx.scalar(select(action.c.connection).where(action.c.id == action_id))
            plan_node_step(tx, action_id, connection, phase, nodes)

        self._database.write(work)

    def of_step(self, action_id: str, phase: Phase) -> list[tuple[str, TaskRecord]]:
        """Return each node of such a step with what came of it, by name."""
        query = (
            select(task, operation.c.provisioner_task)
            .outerjoin(operation, operation.c.op == task.c.op)
            .where(task.c.action_id == action_id, task.c.phase == phase)
        )

        def work(tx: Connection) -> list[tuple[str, TaskRecord]]:
            return [(row.node, filled(TaskRecord, row, status=TaskStatus(row.status))) for row in tx.execute(query)]

        return sorted(self._database.read(work), key=lambda found: found[0])

    def settle_deployed(
        self, action_id: str, phase: Phase, as_wanted: Collection[str], withheld: Mapping[str, str]
    ) -> None:
        """Write down what the provisioner's list says of nodes right before they would be submitted (rule 21).

        Parameters
        ----------
        action_id, phase : what they would be submitted for. Only nodes are changed that still wait for it.
        as_wanted : nodes that turn out to be as wanted: they have succeeded, and are not submitted.
        withheld : nodes that are deployed in another design, or in one that is not known, each with the reason: they
            are not submitted for this phase, nor for what comes after it.
        """
        phases = GROUP_PHASES[GROUP_PHASES.index(phase) :]

        def work(tx: Connection, now: datetime) -> None:
            withhold(tx, now, action_id, phases, withheld)
            if as_wanted:
                these = (*_pending(action_id, phases), among(task.c.node, as_wanted))
                done = {"status": TaskStatus.SUCCESS, "error": None, "started": now, "ended": now}
                tx.execute(update(task).where(*these).values(done))
                site: str = tx.scalars(select(action.c.site).where(action.c.id == action_id)).one()
                number_as_wanted(tx, site, action_id, phases, as_wanted)

        self._transact(work)

    def withheld(self, action_id: str, group: str | None = None) -> dict[str, str]:
        """Return the nodes of an action, or of one of its groups, that are not to be submitted, with the reasons."""
        query = select(task.c.node, task.c.error).where(
            task.c.action_id == action_id, task.c.status == TaskStatus.WITHHELD
        )
        if group is not None:
            query = query.where(task.c.node.in_(members_of(action_id, group)))
        return self._database.read(lambda tx: {row.node: row.error or "" for row in tx.execute(query)})

    def digests(self, action_id: str, group: str) -> dict[str, str]:
        """Return the version that an action's plan has for each node of a group; nodes without one are left out."""
        query = select(task.c.node, task.c.digest).where(
            task.c.action_id == action_id,
            task.c.phase == Phase.DEPLOY,
            task.c.digest.is_not(None),
            task.c.node.in_(members_of(action_id, group)),
        )
        return self._database.read(lambda tx: {row.node: row.digest for row in tx.execute(query)})

    def readiness(self, action_id: str, group: str) -> Readiness:
        """Return the nodes of a group that were deployed in the action and are to be ready (rule 58)."""
        deployed = (deploy.c.action_id == task.c.action_id, deploy.c.node == task.c.node)
        query = (
            select(task.c.node, task.c.status)
            .join(deploy, and_(*deployed, deploy.c.phase == Phase.DEPLOY, deploy.c.status == TaskStatus.SUCCESS))
            .where(task.c.action_id == action_id, task.c.phase == Phase.READY, task.c.status != TaskStatus.SUCCESS)
            .where(task.c.node.in_(members_of(action_id, group)))
        )

        def work(tx: Connection) -> Readiness:
            stored: dict[str, str] = {row.node: row.status for row in tx.execute(query)}
            not_ready = frozenset(name for name, status in stored.items() if status in TROUBLED)
            return Readiness(frozenset(stored) - not_ready, not_ready)

        return self._database.read(work)

    def left_to_ask(self, op: int) -> list[str]:
        """Return the nodes of an operation of which nothing is known yet, by name."""
        query = select(task.c.node).where(task.c.op == op, task.c.status == TaskStatus.PROCESSING)
        return sorted(self._database.read(lambda tx: tx.scalars(query).all()))

    def unsettled(self, op: int) -> frozenset[str]:
        """Return the nodes of an operation of which nothing was proven yet."""
        unproven = task.c.status.in_((TaskStatus.PROCESSING, TaskStatus.UNKNOWN))
        query = select(task.c.node).where(task.c.op == op, unproven)
        return self._database.read(lambda tx: frozenset(tx.scalars(query)))

    def found_before(self, op: int) -> dict[str, str]:
        """Return what the provisioner said of an operation's nodes before it; of those it was asked about."""
        query = select(task.c.node, task.c.found).where(task.c.op == op, task.c.found.is_not(None))
        return self._database.read(lambda tx: {row.node: row.found for row in tx.execute(query)})

    def as_wanted_before(self, op: int) -> frozenset[str]:
        """Return the nodes of a deploy that are done in the very version that it is to bring about, beyond doubt."""
        query = (
            select(task.c.node)
            .join(action, action.c.id == task.c.action_id)
            .join(node, and_(node.c.site == action.c.site, node.c.name == task.c.node))
            .where(task.c.op == op, node.c.done_digest == task.c.digest, node.c.doubt.is_(None))
        )
        return self._database.read(lambda tx: frozenset(tx.scalars(query)))

    def explain_pending(self, action_id: str, phase: Phase, nodes: Collection[str], why: str | None) -> None:
        """Keep why these nodes are not submitted yet, where they still wait for this phase or step of nodes.

        Parameters
        ----------
        why : a sentence for the report and the description of the action; None when nothing holds them any more. It is
            forgotten when a node is claimed.
        """
        self._database.write(lambda tx: explain_pending(tx, action_id, phase, dict.fromkeys(nodes, why)))

    def any_explained(self, action_id: str) -> bool:
        """Whether a node of an action was not submitted for a reason that is known."""
        unsent = task.c.status.in_((TaskStatus.PENDING, TaskStatus.WITHHELD))
        query = select(task.c.node).where(task.c.action_id == action_id, unsent, task.c.error.is_not(None)).limit(1)
        return self._database.read(lambda tx: tx.execute(query).first() is not None)

    def fail_unsent(
        self, action_id: str, site: str, group: str, attempt: int, reasons: Mapping[str, str]
    ) -> frozenset[str]:
        """Fail nodes that cannot be sent for prepare as they are, each for its reason (rule 11).

        Parameters
        ----------
        action_id, site, group, attempt : who has come to that, as for `Operations.begin`.
        reasons : why, for each node.

        Returns
        -------
        frozenset of str
            Those whose prepare was still pending, and so has failed now.

        Raises
        ------
        StoreError : the action does not hold the site; the group's attempt has its verdict or was replaced.
        """

        def work(tx: Connection) -> frozenset[str]:
            require_site(tx, action_id, site)
            require_attempt(tx, action_id, group, attempt)
            now = self._shared_now(tx)
            prepare = (task.c.action_id == action_id, task.c.phase == Phase.PREPARE)
            failed = frozenset(
                tx.scalars(
                    update(task)
                    .where(*prepare, task.c.status == TaskStatus.PENDING, among(task.c.node, reasons))
                    .values(status=TaskStatus.ERROR, owner_group=group, ended=now)
                    .returning(task.c.node)
                )
            )
            said = {name: reasons[name] for name in sorted(failed)}
            if said:
                why = pairs(said)
                tx.execute(update(task).where(*prepare, task.c.node == why.c.key).values(error=why.c.value))
                fail_nodes(tx, now, site, action_id, said)
            events = [
                NewEvent(EventKind.OUTCOME, f"prepare failure: not sent: {reasons[name]}", group, name)
                for name in sorted(failed)
            ]
            write_events(tx, now, site, action_id, events)
            return failed

        return self._database.write(work)
