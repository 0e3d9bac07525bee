"""The plan of an action: its groups in order, their nodes, and a pending task for each node and phase."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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

from site_store.actions import read_action
from site_store.dialects import among, names, names_parameter, names_value, pairs
from site_store.names import require_names
from site_store.node_tasks import withhold
from site_store.part import StorePart
from site_store.records import PlannedGroup
from site_store.tables import action, group_node, group_run, task
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase
from strategy_lib.strategy import group_to_data


class Plans(StorePart):
    """Writing plans. Reading them is `groups.py` and `node_tasks.py`."""

    def save_plan(
        self,
        action_id: str,
        groups: Sequence[PlannedGroup],
        done_nodes: Collection[str],
        digests: Mapping[str, str],
        other_nodes: Collection[str] = (),
        withheld: Mapping[str, str] | None = None,
    ) -> bool:
        """Write down what an action is going to do; if it has a plan already, that one stays.

        Parameters
        ----------
        action_id
            The action.
        groups
            The groups in processing order, each with its nodes.
        done_nodes
            Nodes that are already as wanted: they count as successful and are never submitted (rule 21).
        digests
            The version of each node's design that this action brings about. A node without one can be deployed, but
            is not known to be up to date afterwards.
        other_nodes
            Nodes that the action considers though they are in no group, so that its report can name them (rule 20).
        withheld
            Nodes that are never submitted though they are not as wanted, each with the reason (rule 21).

        Returns
        -------
        bool
            Whether the plan was written; False when there was one.

        Raises
        ------
        ActionNotFound
            No action has this id.
        ValueRefused
            The name of a group or of a node cannot be stored.
        """
        require_names("the group", (planned.group.name for planned in groups))
        require_names("the node", {node for planned in groups for node in planned.nodes} | frozenset(other_nodes))
        return self._database.write(
            lambda tx: self._save(
                tx, action_id, groups, frozenset(done_nodes), digests, frozenset(other_nodes), withheld or {}
            )
        )

    def _save(
        self,
        tx: Connection,
        action_id: str,
        groups: Sequence[PlannedGroup],
        done: frozenset[str],
        digests: Mapping[str, str],
        other: frozenset[str],
        withheld: Mapping[str, str],
    ) -> bool:
        read_action(tx, action_id)
        first = tx.execute(
            update(action).where(action.c.id == action_id, action.c.planned.is_(None)).values(planned=self._now())
        ).rowcount
        if not first:
            return False
        if groups:
            tx.execute(
                insert(group_run), [_group_row(action_id, position, item) for position, item in enumerate(groups)]
            )
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
