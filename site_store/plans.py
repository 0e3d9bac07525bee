"""The plan of an action: its groups in order, their nodes, and a pending task for each node and phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    bindparam,
    insert,
    literal,
    null,
    select,
    union,
    update,
)

from site_store.dialects import among, names, names_parameter, names_value, pairs
from site_store.records import PlannedGroup
from site_store.tables import action, group_node, group_run, task
from site_store.tasks import withhold
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase
from strategy_lib.strategy import group_to_data


def write_plan(
    tx: Connection,
    now: datetime,
    action_id: str,
    groups: Sequence[PlannedGroup],
    done: frozenset[str],
    digests: Mapping[str, str],
    other: frozenset[str],
    withheld: Mapping[str, str],
) -> bool:
    """Carry out `Groups.save_plan` in the caller's transaction."""
    first = tx.execute(
        update(action).where(action.c.id == action_id, action.c.planned.is_(None)).values(planned=now)
    ).rowcount
    if not first:
        return False
    if groups:
        tx.execute(insert(group_run), [_group_row(action_id, position, item) for position, item in enumerate(groups)])
        members = names_parameter(tx, "members")
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
                    "members": names_value(tx, sorted(frozenset(item.nodes))),
                }
                for item in groups
            ],
        )
    # The rows are made by the database from the membership: nothing but the names travels.
    considered = union(
        select(group_node.c.node).where(group_node.c.action_id == action_id), names(tx, other)
    ).subquery()
    versions = pairs(tx, digests)
    # Two simple lookups: a join with the digests would go through all of them for every node.
    versioned = select(versions.c.key, versions.c.value).where(versions.c.key.in_(select(considered.c.node)))
    others = select(considered.c.node, null()).where(considered.c.node.not_in(names(tx, digests)))
    _insert_tasks(tx, action_id, Phase.PREPARE, select(considered.c.node, null()))
    _insert_tasks(tx, action_id, Phase.DEPLOY, versioned)
    _insert_tasks(tx, action_id, Phase.DEPLOY, others)
    if done:
        tx.execute(
            update(task)
            .where(task.c.action_id == action_id, among(tx, task.c.node, done))
            .values(status=TaskStatus.SUCCESS)
        )
    withhold(tx, action_id, GROUP_PHASES, withheld)
    return True


def _insert_tasks(tx: Connection, action_id: str, phase: Phase, nodes_with_digests: Any) -> None:
    node_name, digest = nodes_with_digests.selected_columns
    constants: list[ColumnElement[str]] = [
        literal(str(text), Text()) for text in (action_id, phase, TaskStatus.PENDING)
    ]
    tx.execute(
        insert(task).from_select(
            ["action_id", "phase", "status", "node", "digest"],
            nodes_with_digests.with_only_columns(*constants, node_name, digest),
        )
    )


def _group_row(action_id: str, position: int, planned: PlannedGroup) -> dict[str, Any]:
    return {
        "action_id": action_id,
        "name": planned.group.name,
        "position": position,
        "critical": planned.group.critical,
        "definition": group_to_data(planned.group),
        "state": GroupState.PENDING,
        "attempt": 0,
        "criteria": [],
        "counts": {},
    }
