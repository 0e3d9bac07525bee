"""Groups of an action: its plan, their attempts and their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, select, update

from site_store.actions.abort import interrupt_groups, interrupt_work, tell_group_failed
from site_store.actions.action_rows import group_state, read_action
from site_store.actions.steps import AIRFLOW_OWNER, end_group_steps, plan_steps
from site_store.groups.new_attempts import start_again
from site_store.groups.plans import NewPlan, criteria_data, judge_idle, read_group, read_groups, write_plan
from site_store.nodes.unsent import write_dependencies
from site_store.operations.tasks import plan_node_step
from site_store.records import GroupRecord, GroupStanding, GroupTurn, StepState
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError
from site_store.sql.postgresql import among
from site_store.sql.rows import columns_of, filled, require_names
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, action_step, group_node, group_run, task
from site_store.tables.if_newest import GROUPS
from strategy_lib.goals.late_results import Event
from strategy_lib.phase import GroupState, Reason
from strategy_lib.strategy import CriterionResult

_BLANK: dict[str, Any] = {"reason": None, "criteria": [], "counts": {}, "ended": None}
_OPEN = (GroupState.PENDING, GroupState.RUNNING)


class PlaceTaken(StoreError):
    """As many groups are at work as may be (rule 8): the group begins once one of them has its verdict."""


def _read_turns(tx: Connection, action_id: str) -> list[GroupTurn]:
    is_over = action_step.c.state.in_((StepState.SUCCESS, StepState.FAILED, StepState.SKIPPED))
    columns = (
        group_run.c.name,
        group_run.c.position,
        group_run.c.state,
        group_run.c.attempt_key,
        group_run.c.map_index,
        group_run.c.definition,
        group_run.c.plan,
        is_over.label("is_over"),
        # A task that is deferred or rescheduled keeps the time at which it started.
        and_(~is_over, action_step.c.started > group_run.c.ended).label("again"),
    )
    its_step = and_(action_step.c.action_id == group_run.c.action_id, action_step.c.group_name == group_run.c.name)
    query = select(*columns).select_from(group_run.outerjoin(action_step, its_step))
    rows = tx.execute(query.where(group_run.c.action_id == action_id).order_by(group_run.c.position))
    found = []
    for row in rows:
        depends_on, plan = frozenset(row.definition.get("depends_on", ())), row.plan or {}
        facts = (row.name, row.position, group_state(row.state), row.attempt_key, row.map_index)
        after = depends_on.union(plan.get("after", ()))
        failed = group_state(row.state) is GroupState.FAILURE
        task = (failed and bool(row.again), failed and bool(row.is_over))
        found.append(GroupTurn(*facts, after, depends_on, bool(plan.get("redeploy")), *task))
    return found


class Groups(Repository):
    """Groups of actions."""

    def save_plan(self, action_id: str, plan: NewPlan) -> bool:
        """Write down what an action is going to do; if it has a plan already, that one stays.

        Returns
        -------
        bool
            Whether the plan was written; False when there was one.

        Raises
        ------
        NotFound : no action has this id.
        ValueRefused : the name of a group or of a node cannot be stored.
        """
        names = [planned.group.name for planned in plan.groups]
        require_names("the group", names)
        require_names("the node", {node for planned in plan.groups for node in planned.nodes} | {*plan.other})

        def work(tx: Connection) -> bool:
            its, now = read_action(tx, action_id), self._shared_now(tx)
            if not write_plan(tx, now, its, plan):
                return False
            if plan.group_step is not None:
                step, place = plan.group_step
                owner = None if its.run_id is None else f"{AIRFLOW_OWNER}{its.dag_id}"
                plan_steps(tx, action_id, owner, {step: place}, names)
                end_group_steps(tx, now, action_id, step, plan.idle)
            for phase, nodes in plan.step_nodes.items():
                plan_node_step(tx, action_id, its.connection, phase, nodes)
            judge_idle(tx, now, its, plan)
            return True

        written = self._database.write(work)
        self._database.refresh_statistics(sum(len(planned.nodes) for planned in plan.groups), task, group_node)
        return written

    def mapped(self, action_id: str, plan_key: str) -> list[str]:
        """Return the groups that Airflow has tasks for, in the order in which it maps them.

        Where a person has cleared the task that plans, the groups that had nothing to submit get tasks too, behind the
        others: one that failed begins a new attempt then, and one that succeeded returns at once (rule 23).

        Parameters
        ----------
        plan_key : as in the plan that was saved.
        """
        its = group_run.c.action_id == action_id

        def work(tx: Connection) -> list[str]:
            rows = tx.execute(
                select(group_run.c.name, group_run.c.map_index, group_run.c.attempt_key)
                .where(its)
                .order_by(group_run.c.position)
                .with_for_update()
            ).all()
            known = sorted((row for row in rows if row.map_index is not None), key=lambda row: row.map_index)
            names: list[str] = [row.name for row in known]
            again = [row.name for row in rows if row.map_index is None and row.attempt_key != plan_key]
            for place, name in enumerate(again, len(names)):
                tx.execute(update(group_run).where(its, group_run.c.name == name).values(map_index=place))
            return [*names, *again]

        return self._database.write(work)

    def of_action(self, action_id: str) -> list[GroupRecord]:
        """Return all groups of an action in processing order; empty before it has a plan."""
        return self._database.read(lambda tx: read_groups(tx, action_id))

    def get(self, action_id: str, name: str) -> GroupRecord:
        """Return one group. Raises `NotFound`: the action's plan has no group of this name."""
        return self._database.read(lambda tx: read_group(tx, action_id, name))

    def states(self, action_id: str, names: Collection[str] | None = None) -> dict[str, GroupState]:
        """Return the state of these groups, or of all; a name that is not in the plan is left out."""

        def work(tx: Connection) -> dict[str, GroupState]:
            query = select(group_run.c.name, group_run.c.state).where(group_run.c.action_id == action_id)
            if names is not None:
                query = query.where(among(group_run.c.name, names))
            return {name: group_state(state) for name, state in tx.execute(query)}

        return self._database.read(work)

    def standings(self, action_id: str) -> list[GroupStanding]:
        """Return how far each group is, in processing order; empty before there is a plan.

        One statement over the groups alone, however many nodes they have: each group's task may ask it.
        """
        query = select(*columns_of(GroupStanding, group_run)).where(group_run.c.action_id == action_id)
        query = query.order_by(group_run.c.position)
        return self._database.read(
            lambda tx: [filled(GroupStanding, row, state=group_state(row.state)) for row in tx.execute(query)]
        )

    def turns(self, action_id: str) -> list[GroupTurn]:
        """Return what decides which groups may begin, in processing order, without their nodes."""
        return self._database.read(lambda tx: _read_turns(tx, action_id))

    def open_attempt(
        self,
        action_id: str,
        group: str,
        attempt_key: str,
        may_begin: Callable[[Sequence[GroupTurn]], bool] | None = None,
        *,
        takes_over: bool = True,
    ) -> GroupRecord:
        """Start a group's task, whether for the first time or again, and say what it has to do (rule 23).

        Without a verdict, the attempt begins or goes on. With the verdict success, or the verdict failure under the
        same key (Airflow repeats a task that is over), the group is returned as it is. With the verdict failure under
        another key (a person cleared the task), a new attempt begins: the group's nodes that failed, are unknown, or
        were left in the middle become `not_started`, prepared ones stay prepared, and what came of them before is
        moved to the history. Nodes that are in the hands of another group's live operation are left alone.

        Reconcile `Operations.unfinished` of the group's nodes first: a provisioner task that is still at work on
        a node does not stop because the node is to be submitted again.

        Parameters
        ----------
        action_id, group : the group.
        attempt_key : what Airflow keeps over its own retries of the task and changes when a person clears it.
        may_begin : says of all groups of the action as they stand now whether this one may begin. It is asked, for a
            group that is not at work, in the same transaction, and nobody takes a place meanwhile. None: it may.
        takes_over : whether an attempt of another key may be gone on with, and another one begin after it.

        Raises
        ------
        NotFound : the action's plan has no group of this name.
        PlaceTaken : it may not begin now.
        StoreError : there was an attempt of another key, and this one does not take over.
        """

        def work(tx: Connection, now: datetime) -> GroupRecord:
            this = (group_run.c.action_id == action_id, group_run.c.name == group)
            # Two that open the same group go one after the other from here; with places to take, all of the action do.
            locked = this if may_begin is None else this[:1]
            tx.execute(select(group_run.c.name).where(*locked).order_by(group_run.c.position).with_for_update()).all()
            found = read_group(tx, action_id, group)
            again = found.state is GroupState.FAILURE
            if found.state is GroupState.SUCCESS or (again and found.attempt_key == attempt_key):
                return found
            is_at_work = found.state is GroupState.RUNNING
            if not takes_over and (again or (is_at_work and found.attempt_key != attempt_key)):
                raise StoreError(f"group {group} of action {action_id}: another attempt has begun")
            if may_begin is not None and not is_at_work and not may_begin(_read_turns(tx, action_id)):
                raise PlaceTaken(f"group {group} of action {action_id} may not begin now: others are at work")
            values: dict[str, Any] = {"state": GroupState.RUNNING, "attempt_key": attempt_key}
            if again:
                start_again(tx, now, read_action(tx, action_id).site, found)
            if found.state is not GroupState.RUNNING:
                values |= {"attempt": found.attempt + 1, "started": now, **_BLANK}
            tx.execute(update(group_run).where(*this, group_run.c.attempt == found.attempt).values(values))
            return read_group(tx, action_id, group)

        return self._transact(work)

    def save_criteria(self, action_id: str, group: str, attempt: int, criteria: Sequence[CriterionResult]) -> bool:
        """Keep criteria that were judged before the verdict, so that a resumed attempt can still report them.

        Returns False when this attempt is not at work, and then nothing has changed.
        """
        query = (
            update(group_run)
            .where(
                group_run.c.action_id == action_id,
                group_run.c.name == group,
                group_run.c.attempt == attempt,
                group_run.c.state == GroupState.RUNNING,
            )
            .values(criteria=criteria_data(criteria))
        )
        return self._database.write(lambda tx: tx.execute(query).rowcount > 0)

    def finish(
        self,
        action_id: str,
        group: str,
        attempt: int,
        state: GroupState,
        reason: Reason | None,
        criteria: Sequence[CriterionResult] = (),
        counts: Mapping[str, int] | None = None,
        blocked: str | None = None,
    ) -> bool:
        """Write a group's verdict. The first verdict of an attempt stays (rule 23).

        Parameters
        ----------
        action_id, group, attempt : which group, and which of its attempts came to the verdict.
        state, reason : the verdict: `SUCCESS` without a reason, or `FAILURE` with one.
        criteria : every criterion of both phases with needed and actual (rule 16).
        counts : numbers of nodes by what became of them, for the report.
        blocked : which group stands in its way, and why; None: none does.

        Returns
        -------
        bool
            Whether this is now the group's verdict: False when the attempt was replaced or judged otherwise before.

        Raises
        ------
        ValueError : the state is no verdict.
        """
        if state in _OPEN:
            raise ValueError(f"{state} is not a verdict of a group")
        data = criteria_data(criteria)

        def work(tx: Connection, now: datetime) -> bool:
            this = (group_run.c.action_id == action_id, group_run.c.name == group, group_run.c.attempt == attempt)
            judged = tx.execute(
                update(group_run)
                .where(*this, GROUPS.take(Event.END, attempt))
                .values(state=state, reason=reason, criteria=data, counts=dict(counts or {}), ended=now)
                .returning(group_run.c.critical)
            ).one_or_none()
            if judged is None:
                same = select(group_run.c.name).where(
                    *this, group_run.c.state == state, group_run.c.reason.is_not_distinct_from(reason)
                )
                return tx.execute(same).one_or_none() is not None
            site = tx.scalars(select(action.c.site).where(action.c.id == action_id)).one()
            message = f"attempt {attempt}: {state}" + (f" ({reason})" if reason else "")
            verdict = NewEvent(EventKind.GROUP_FINISHED, message, group, data={"criteria": data})
            write_events(tx, now, site, action_id, [verdict])
            write_dependencies(tx, now, site, action_id, group, blocked)
            if judged.critical and state is GroupState.FAILURE:
                facts = {"criteria": data, "counts": dict(counts or {})}
                tell_group_failed(tx, now, site, action_id, group, reason, facts)
            return True

        return self._transact(work)

    def interrupt(self, action_id: str, group: str) -> bool:
        """Judge a group whose task ended without a verdict and will not go on: failure, `interrupted`.

        Its nodes still being processed become `unknown`, and its provisioner task stays in `Operations.unfinished`
        until it is seen to be over. A person can have it started again (rule 23).

        Returns
        -------
        bool
            False when it had a verdict, and then nothing has changed.

        Raises
        ------
        NotFound : the action's plan has no group of this name.
        """

        def work(tx: Connection, now: datetime) -> bool:
            read_group(tx, action_id, group)
            site = read_action(tx, action_id).site
            if not interrupt_groups(tx, now, site, action_id, group):
                return False
            interrupt_work(tx, now, action_id, group)
            ended = NewEvent(EventKind.GROUP_FINISHED, "its task ended without a verdict: interrupted", group)
            write_events(tx, now, site, action_id, [ended])
            return True

        return self._transact(work)
