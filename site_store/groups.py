"""Groups in an action: where they are and their verdicts. Starting one, also again, is `attempts.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from site_store.dialects import among
from site_store.errors import GroupNotFound
from site_store.events import EventKind, NewEvent, write_events
from site_store.part import StorePart
from site_store.records import GroupRecord, GroupStanding
from site_store.tables import action, group_node, group_run, operation
from strategy_lib.criteria import CriterionResult
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase, Reason
from strategy_lib.strategy_parser import group_from_data

_OPEN = (GroupState.PENDING, GroupState.RUNNING)


def read_groups(tx: Connection, action_id: str, name: str | None = None) -> list[GroupRecord]:
    """Return the groups of an action in processing order, or the one of this name, in three statements."""
    runs = select(group_run).where(group_run.c.action_id == action_id).order_by(group_run.c.position)
    members = (
        select(group_node.c.group_name, group_node.c.node)
        .where(group_node.c.action_id == action_id)
        .order_by(group_node.c.group_name, group_node.c.node)
    )
    ended = select(operation.c.group_name, operation.c.attempt, operation.c.phase).where(
        operation.c.action_id == action_id, operation.c.ended.is_not(None), operation.c.phase.in_(GROUP_PHASES)
    )
    if name is not None:
        runs = runs.where(group_run.c.name == name)
        members = members.where(group_node.c.group_name == name)
        ended = ended.where(operation.c.group_name == name)
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for group_name, node in tx.execute(members):
        nodes[group_name].append(node)
    phases: defaultdict[tuple[str, int], set[Phase]] = defaultdict(set)
    for group_name, attempt, phase in tx.execute(ended):
        phases[group_name, attempt].add(Phase(phase))
    return [
        _record(row, tuple(sorted(nodes[row.name])), frozenset(phases[row.name, row.attempt]))
        for row in tx.execute(runs)
    ]


def read_group(tx: Connection, action_id: str, name: str) -> GroupRecord:
    """Return one group of an action.

    Raises
    ------
    GroupNotFound
        The action's plan has no group of this name, or the action has no plan.
    """
    found = read_groups(tx, action_id, name)
    if not found:
        raise GroupNotFound(f"action {action_id!r} has no group {name!r} in its plan: name one of its own groups")
    return found[0]


class Groups(StorePart):
    """Groups of an action."""

    def plan(self, action_id: str) -> list[GroupRecord]:
        """Return all groups of an action in processing order; empty before it has a plan."""
        return self._database.read(lambda tx: read_groups(tx, action_id))

    def group(self, action_id: str, name: str) -> GroupRecord:
        """Return one group.

        Raises
        ------
        GroupNotFound
            The action's plan has no group of this name.
        """
        return self._database.read(lambda tx: read_group(tx, action_id, name))

    def group_states(self, action_id: str, names: Collection[str] | None = None) -> dict[str, GroupState]:
        """Return the state of these groups, or of all; a name that is not in the plan is left out."""

        def work(tx: Connection) -> dict[str, GroupState]:
            query = select(group_run.c.name, group_run.c.state).where(group_run.c.action_id == action_id)
            if names is not None:
                query = query.where(among(tx, group_run.c.name, names))
            return {name: GroupState(state) for name, state in tx.execute(query)}

        return self._database.read(work)

    def group_standings(self, action_id: str) -> list[GroupStanding]:
        """Return how far each group is, in processing order; empty before there is a plan.

        One statement over the groups alone, however many nodes they have: each group's task may ask it.
        """
        query = (
            select(group_run.c.name, group_run.c.position, group_run.c.state, group_run.c.attempt_key)
            .where(group_run.c.action_id == action_id)
            .order_by(group_run.c.position)
        )
        return self._database.read(
            lambda tx: [
                GroupStanding(row.name, row.position, GroupState(row.state), row.attempt_key)
                for row in tx.execute(query)
            ]
        )

    def note_criteria(self, action_id: str, group: str, attempt: int, criteria: Sequence[CriterionResult]) -> bool:
        """Keep criteria that were judged before the verdict, so that a resumed attempt can still report them.

        Returns
        -------
        bool
            False when this attempt is not at work, and then nothing has changed.
        """
        query = (
            update(group_run)
            .where(
                group_run.c.action_id == action_id,
                group_run.c.name == group,
                group_run.c.attempt == attempt,
                group_run.c.state == GroupState.RUNNING,
            )
            .values(criteria=_criteria_data(criteria))
        )
        return self._database.write(lambda tx: tx.execute(query).rowcount > 0)

    def finish_group(
        self,
        action_id: str,
        group: str,
        attempt: int,
        state: GroupState,
        reason: Reason | None,
        criteria: Sequence[CriterionResult] = (),
        counts: Mapping[str, int] | None = None,
    ) -> bool:
        """Write a group's verdict. The first verdict of an attempt stays (rule 23).

        Parameters
        ----------
        action_id, group, attempt
            Which group, and which of its attempts came to the verdict.
        state, reason
            The verdict: `SUCCESS` without a reason, or `FAILURE` with one.
        criteria
            Every criterion of both phases with needed and actual (rule 16).
        counts
            Numbers of nodes by what became of them, for the report.

        Returns
        -------
        bool
            Whether this is now the group's verdict: False when the attempt was replaced or judged otherwise before.

        Raises
        ------
        ValueError
            The state is no verdict.
        """
        if state in _OPEN:
            raise ValueError(f"{state} is not a verdict of a group")
        data = _criteria_data(criteria)

        def work(tx: Connection) -> bool:
            now = self._now()
            this = (group_run.c.action_id == action_id, group_run.c.name == group, group_run.c.attempt == attempt)
            judged = tx.execute(
                update(group_run)
                .where(*this, group_run.c.state.in_(_OPEN))
                .values(state=state, reason=reason, criteria=data, counts=dict(counts or {}), ended=now)
            ).rowcount
            if not judged:
                same = select(group_run.c.name).where(
                    *this, group_run.c.state == state, group_run.c.reason.is_not_distinct_from(reason)
                )
                return tx.execute(same).one_or_none() is not None
            site = tx.scalars(select(action.c.site).where(action.c.id == action_id)).one()
            message = f"attempt {attempt}: {state}" + (f" ({reason})" if reason else "")
            verdict = NewEvent(EventKind.GROUP_FINISHED, message, group, data={"criteria": data})
            write_events(tx, now, site, action_id, [verdict])
            return True

        return self._database.write(work)


def _criteria_data(criteria: Sequence[CriterionResult]) -> list[dict[str, Any]]:
    return [
        {"phase": c.phase, "criterion": c.criterion, "needed": c.needed, "actual": c.actual, "met": c.met}
        for c in criteria
    ]


def _record(row: Row[*tuple[Any, ...]], nodes: tuple[str, ...], phases_done: frozenset[Phase]) -> GroupRecord:
    return GroupRecord(
        action_id=row.action_id,
        name=row.name,
        position=row.position,
        critical=row.critical,
        definition=group_from_data(row.definition),
        nodes=nodes,
        state=GroupState(row.state),
        reason=None if row.reason is None else Reason(row.reason),
        attempt=row.attempt,
        attempt_key=row.attempt_key,
        criteria=tuple(
            CriterionResult(Phase(c["phase"]), c["criterion"], c["needed"], c["actual"], c["met"]) for c in row.criteria
        ),
        counts=row.counts,
        started=row.started,
        ended=row.ended,
        phases_done=phases_done,
    )
