"""The plan of an action: its groups in order, their nodes, and a pending task for each node and phase.

It is written once, and read with how far its groups are. Groups that have nothing to submit are judged with it: Airflow
gets no task for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Text,
    and_,
    bindparam,
    insert,
    literal,
    null,
    select,
    union,
    update,
)

from site_store.actions.abort import tell_group_failed
from site_store.actions.action_rows import group_state
from site_store.actions.steps import AIRFLOW_OWNER
from site_store.nodes.node_status import expect_provisioner, planned_version, provisioner_owner
from site_store.nodes.unsent import number_as_wanted, write_dependencies
from site_store.operations.tasks import withhold
from site_store.records import ActionRecord, GroupRecord, IdleGroup, PlannedGroup
from site_store.sql.errors import NotFound
from site_store.sql.postgresql import among, names, names_parameter, pairs
from site_store.sql.rows import filled
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, group_node, group_run, task
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.node import TaskStatus
from strategy_lib.parsing.strategy_parser import group_from_data
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase, Reason
from strategy_lib.status.leaf import blocked_by
from strategy_lib.strategy import CriterionResult, group_to_data

_STATES, _REASONS = tuple(GroupState), tuple(Reason)


def read_groups(tx: Connection, action_id: str, name: str | None = None) -> list[GroupRecord]:
    """Return the groups of an action in processing order, or the one of this name, in two statements."""
    runs = select(group_run).where(group_run.c.action_id == action_id).order_by(group_run.c.position)
    members = (
        select(group_node.c.group_name, group_node.c.node)
        .where(group_node.c.action_id == action_id)
        .order_by(group_node.c.group_name, group_node.c.node)
    )
    if name is not None:
        runs = runs.where(group_run.c.name == name)
        members = members.where(group_node.c.group_name == name)
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for group_name, node in tx.execute(members):
        nodes[group_name].append(node)
    return [_record(row, tuple(sorted(nodes[row.name]))) for row in tx.execute(runs)]


def read_group(tx: Connection, action_id: str, name: str) -> GroupRecord:
    """Return one group of an action.

    Raises `NotFound`: the action's plan has no group of this name, or the action has no plan.
    """
    found = read_groups(tx, action_id, name)
    if not found:
        raise NotFound(f"action {action_id!r} has no group {name!r} in its plan: name one of its own groups")
    return found[0]


@dataclass(frozen=True, slots=True)
class NewPlan:
    """What an action is going to do.

    Attributes
    ----------
    groups : the groups in processing order, each with its nodes.
    done : nodes that are already as wanted: they count as successful and are never submitted (rule 21).
    digests : the version of each node's design that this action brings about. A node without one can be deployed,
        but is not known to be up to date afterwards.
    other : nodes that the action considers though they are in no group, so that its report can name them (rule 20).
    withheld : nodes that are never submitted though they are not as wanted, each with the reason (rule 21).
    group_step : the step that is carried out for each group, and its place: it stands there as pending for each
        group from now on (rule 31).
    idle : groups that have nothing to submit, with their verdicts, in processing order. Airflow gets no task for
        them; the others are mapped in processing order.
    plan_key : what Airflow keeps over its own retries of the task that plans, and changes when a person clears it.
    step_nodes : the nodes that the plan has found for steps of their own, which are not named by anybody.
    repairs : it brings nodes back to what they were: what fails is no error of an older version (rule 46).
    """

    groups: Sequence[PlannedGroup]
    done: Collection[str]
    digests: Mapping[str, str]
    other: Collection[str] = ()
    withheld: Mapping[str, str] = field(default_factory=dict)
    group_step: tuple[str, int] | None = None
    idle: Sequence[IdleGroup] = ()
    plan_key: str = ""
    step_nodes: Mapping[Phase, Collection[str]] = field(default_factory=dict)
    repairs: bool = False


def write_plan(tx: Connection, now: datetime, its: ActionRecord, plan: NewPlan) -> bool:
    """Write the groups of a plan and their tasks in the caller's transaction; False where there is a plan already."""
    action_id, groups = its.id, plan.groups
    first = tx.execute(
        update(action).where(action.c.id == action_id, action.c.planned.is_(None)).values(planned=now)
    ).rowcount
    if not first:
        return False
    owner = provisioner_owner(its.connection)
    if groups:
        idle = {group.name for group in plan.idle}
        mapped = [item.group.name for item in groups if item.group.name not in idle]
        places = {name: place for place, name in enumerate(mapped)}
        rows = [_group_row(action_id, position, item, places) for position, item in enumerate(groups)]
        tx.execute(insert(group_run), rows)
        members = names_parameter("members")
        tx.execute(
            insert(group_node).from_select(
                ["action_id", "group_name", "node"],
                select(
                    bindparam("the_action", type_=Text()),
                    bindparam("the_group", type_=Text()),
                    members.selected_columns[0],
                ).select_from(*members.get_final_froms()),
            ),
            [
                {
                    "the_action": action_id,
                    "the_group": item.group.name,
                    "members": sorted(frozenset(item.nodes)),
                }
                for item in groups
            ],
        )
    # The rows are made by the database from the membership: nothing but the names travels.
    grouped = select(group_node.c.node).where(group_node.c.action_id == action_id)
    considered = union(grouped, names(plan.other)).subquery()
    versions = pairs(plan.digests)
    # Two simple lookups: a join with the digests would go through all of them for every node.
    versioned = select(versions.c.key, versions.c.value).where(versions.c.key.in_(select(considered.c.node)))
    others = select(considered.c.node, null()).where(considered.c.node.not_in(names(plan.digests)))
    asked = sorted(frozenset(name for item in groups if item.group.ready is not None for name in item.nodes))
    for nodes in (versioned, others):
        _insert_tasks(tx, its, owner, Phase.PREPARE, nodes, repairs=plan.repairs)
        _insert_tasks(tx, its, owner, Phase.DEPLOY, nodes, repairs=plan.repairs)
        if asked:
            ready = nodes.where(among(nodes.selected_columns[0], asked))
            _insert_tasks(tx, its, f"{AIRFLOW_OWNER}{its.dag_id}", Phase.READY, ready, repairs=plan.repairs)
    expect_provisioner(tx, action_id, its.site, its.connection)
    if plan.done:
        tx.execute(
            update(task)
            .where(task.c.action_id == action_id, among(task.c.node, plan.done))
            .values(status=TaskStatus.SUCCESS, started=now, ended=now)
        )
        number_as_wanted(tx, its.site, action_id, GROUP_PHASES, plan.done)
    withhold(tx, now, action_id, GROUP_PHASES, plan.withheld)
    return True


def _insert_tasks(
    tx: Connection, its: ActionRecord, owner: str, phase: Phase, nodes_with_digests: Any, *, repairs: bool
) -> None:
    node_name, digest = nodes_with_digests.selected_columns
    brought_about = digest if phase is Phase.DEPLOY else null()
    # What fails while a node is brought back is an error of the node as it is wanted today (rule 46).
    version = planned_version(its.site, node_name, null() if repairs else digest)
    constants: list[ColumnElement[str]] = [
        literal(str(text), Text()) for text in (its.id, owner, phase, TaskStatus.PENDING)
    ]
    tx.execute(
        insert(task).from_select(
            ["action_id", "owner", "phase", "status", "node", "digest", "wanted_version"],
            nodes_with_digests.with_only_columns(*constants, node_name, brought_about, version),
        )
    )


def _group_row(action_id: str, position: int, planned: PlannedGroup, places: Mapping[str, int]) -> dict[str, Any]:
    return {
        "action_id": action_id,
        "name": planned.group.name,
        "position": position,
        "map_index": places.get(planned.group.name),
        "critical": planned.group.critical,
        "definition": group_to_data(planned.group),
        "state": GroupState.PENDING,
        "attempt": 0,
        "criteria": [],
        "counts": {},
        "plan": planned.plan.to_data(),
    }


def criteria_data(criteria: Sequence[CriterionResult]) -> list[dict[str, Any]]:
    """Return judged criteria as the store keeps them."""
    return [
        {"phase": c.phase, "criterion": c.criterion, "needed": c.needed, "actual": c.actual, "met": c.met}
        for c in criteria
    ]


def _record(row: Row[*tuple[Any, ...]], nodes: tuple[str, ...]) -> GroupRecord:
    return filled(
        GroupRecord,
        row,
        definition=group_from_data(row.definition),
        nodes=nodes,
        state=group_state(row.state),
        reason=Reason(row.reason) if row.reason in _REASONS else None,
        criteria=tuple(
            CriterionResult(Phase(c["phase"]), c["criterion"], c["needed"], c["actual"], c["met"]) for c in row.criteria
        ),
        plan=GroupPlan.from_data(row.plan),
        unknown_state="" if row.state in _STATES else row.state,
    )


def judge_idle(tx: Connection, now: datetime, its: ActionRecord, plan: NewPlan) -> None:
    """Write the verdicts of groups that have nothing to submit: each is its first attempt."""
    action_id, site, idle = its.id, its.site, plan.idle
    if not idle:
        return
    facts = [
        {
            "of_action": action_id,
            "of_name": group.name,
            "state": group.state,
            "reason": group.reason,
            "criteria": criteria_data(group.criteria),
            "counts": dict(group.counts),
            "attempt": 1,
            "attempt_key": plan.plan_key,
            "started": now,
            "ended": now,
        }
        for group in idle
    ]
    this = and_(group_run.c.action_id == bindparam("of_action"), group_run.c.name == bindparam("of_name"))
    columns = ("state", "reason", "criteria", "counts", "attempt", "attempt_key", "started", "ended")
    tx.execute(update(group_run).where(this).values({name: bindparam(name) for name in columns}), facts)
    verdicts = [
        NewEvent(
            EventKind.GROUP_FINISHED,
            f"nothing to submit: {group.state}" + (f" ({group.reason})" if group.reason else ""),
            group.name,
            data={"criteria": criteria_data(group.criteria)},
        )
        for group in idle
    ]
    write_events(tx, now, site, action_id, verdicts)
    for name, why in _blocked(tx, action_id, idle).items():
        write_dependencies(tx, now, site, action_id, name, why)
    critical = {planned.group.name for planned in plan.groups if planned.group.critical}
    for group in idle:
        if group.state is GroupState.FAILURE and group.name in critical:
            told = {"criteria": criteria_data(group.criteria), "counts": dict(group.counts)}
            tell_group_failed(tx, now, site, action_id, group.name, group.reason, told)


def _blocked(tx: Connection, action_id: str, idle: Sequence[IdleGroup]) -> dict[str, str]:
    """Return the groups that stand behind a failed one, each with the one at the root and why it failed."""
    failed = {group.name: group for group in idle if group.state is GroupState.FAILURE}
    if not any(group.reason is Reason.DEPENDENCY for group in failed.values()):
        return {}
    query = select(group_run.c.name, group_run.c.definition).where(group_run.c.action_id == action_id)
    needed = {row.name: row.definition["depends_on"] for row in tx.execute(query)}
    blocked: dict[str, str] = {}
    for name, group in failed.items():
        if group.reason is Reason.DEPENDENCY:
            first = next((other for other in needed[name] if other in failed), name)
            blocked[name] = blocked.get(first) or blocked_by(first, str(failed[first].reason))
    return blocked
