"""What the tasks of nodes say, read by node: its prepare, its deploy, and whether it was ready (rules 10 and 58)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from site_store.node_records import NodeTasks, TaskRecord
from site_store.sql.postgresql import whole_joins
from site_store.tables import group_node, operation, task
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import Phase

prepare = task.alias("prepare")
deploy = task.alias("deploy")

TROUBLED = (TaskStatus.ERROR.value, TaskStatus.UNKNOWN.value)
"""The condition of the index on troubles."""
_FACTS = ("status", "owner_group", "op", "error", "started", "ended")


def both_tasks(query: Select[Any], action_id: str, group: str | None) -> Select[Any]:
    """Join the two tasks of each node of a group, or of the whole action when `group` is None."""
    pair = and_(deploy.c.action_id == prepare.c.action_id, deploy.c.node == prepare.c.node)
    joined = prepare.join(deploy, and_(pair, deploy.c.phase == Phase.DEPLOY))
    query = query.where(prepare.c.action_id == action_id, prepare.c.phase == Phase.PREPARE)
    query = query.select_from(joined)
    if group is None:
        return query
    return query.where(prepare.c.node.in_(members_of(action_id, group)))


def members_of(action_id: str, group: str) -> Select[str]:
    """Return the query of the nodes of a group."""
    members = group_node.alias("members")
    return select(members.c.node).where(members.c.action_id == action_id, members.c.group_name == group)


def read_node_tasks(tx: Connection, action_id: str, group: str | None = None) -> list[NodeTasks]:
    """Return the nodes of an action, or of one of its groups, by name, in three statements."""
    columns = [table.c[fact].label(f"{table.name}_{fact}") for table in (prepare, deploy) for fact in _FACTS]
    # A few operations, but many nodes: their provisioner tasks are looked up here and not joined to every row.
    names = select(operation.c.op, operation.c.provisioner_task).where(operation.c.action_id == action_id)
    provisioner_tasks: dict[int | None, str] = {row.op: row.provisioner_task for row in tx.execute(names)}
    member = select(group_node.c.node, group_node.c.group_name).where(group_node.c.action_id == action_id)
    if group is not None:
        member = member.where(group_node.c.node.in_(members_of(action_id, group)))
    memberships: defaultdict[str, list[str]] = defaultdict(list)
    for member_name, name in tx.execute(member):
        memberships[member_name].append(name)
    with whole_joins(tx):
        rows = tx.execute(both_tasks(select(prepare.c.node, *columns), action_id, group)).all()
    asked = _ready_tasks(tx, action_id, group, provisioner_tasks)
    found = [
        NodeTasks(
            node=row.node,
            groups=tuple(sorted(memberships[row.node])),
            prepare=_task(row, "prepare", provisioner_tasks),
            deploy=_task(row, "deploy", provisioner_tasks),
            state=node_state(
                TaskStatus(row.prepare_status),
                TaskStatus(row.deploy_status),
                asked[row.node].status if row.node in asked else TaskStatus.PENDING,
            ),
            ready=asked.get(row.node),
        )
        for row in rows
    ]
    return sorted(found, key=lambda tasks: tasks.node)


def _ready_tasks(
    tx: Connection, action_id: str, group: str | None, provisioner_tasks: dict[int | None, str]
) -> dict[str, TaskRecord]:
    """Return what came of asking the nodes whether they are ready, of those that some group asks."""
    query = select(task.c.node, *(task.c[fact].label(f"ready_{fact}") for fact in _FACTS))
    query = query.where(task.c.action_id == action_id, task.c.phase == Phase.READY)
    if group is not None:
        query = query.where(task.c.node.in_(members_of(action_id, group)))
    return {row.node: _task(row, "ready", provisioner_tasks) for row in tx.execute(query)}


def only_not_ready(query: Select[Any], action_id: str, group: str | None) -> Select[Any]:
    """Narrow a query of tasks to those in which a node was not ready; the index on troubles finds them."""
    query = query.where(task.c.action_id == action_id, task.c.status.in_(TROUBLED), task.c.phase == Phase.READY)
    return query if group is None else query.where(task.c.node.in_(members_of(action_id, group)))


def read_not_ready(tx: Connection, action_id: str, group: str | None = None) -> dict[str, tuple[NodeState, str | None]]:
    """Return state and error of the nodes of an action, or of a group, that were deployed and not ready in time.

    There are few of them, and mostly none: they are found by the index on troubles, and not by a third join.
    """
    query = only_not_ready(select(task.c.node, task.c.status, task.c.error), action_id, group)
    success = TaskStatus.SUCCESS
    rows = tx.execute(query)
    return {row.node: (node_state(success, success, TaskStatus(row.status)), row.error) for row in rows}


def _task(row: Row[*tuple[Any, ...]], phase: str, provisioner_tasks: dict[int | None, str]) -> TaskRecord:
    facts = {fact: getattr(row, f"{phase}_{fact}") for fact in _FACTS}
    facts["status"] = TaskStatus(facts["status"])
    return TaskRecord(**facts, provisioner_task=provisioner_tasks.get(facts["op"]))
