"""Nodes of a site: what is wanted of each, and what was last done to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, literal, or_, select, true, update

from site_store.sql.database import Repository
from site_store.sql.postgresql import among, insert, pairs
from site_store.sql.rows import filled
from site_store.tables import node, operation, task
from strategy_lib.node import TaskStatus
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow


class Nodes(Repository):
    """Nodes of sites. A commit writes `wanted_*`; `claims.py` and `outcomes.py` write `op` and `done_*`."""

    def record_conditions(
        self, site: str, conditions: Mapping[str, str], left_by: int | None = None, missing: Collection[str] = ()
    ) -> None:
        """Note what the provisioner says of these nodes (`strategy_lib.outcome.NodeCondition`); others stay.

        Parameters
        ----------
        site, conditions : the nodes, and what is said of each now.
        left_by : the operation that is over now, if one is: it has left its nodes so, where it is still their newest.
            What is said at any other time tells only that a node is no longer as it was left, where it says something
            else.
        missing : nodes that were asked about, and that the list does not have: they are not as they were left either.
        """

        def work(tx: Connection) -> None:
            seen = pairs({name: str(condition) for name, condition in conditions.items()})
            rows = insert(node).from_select(
                ["site", "name", "condition"], select(literal(site), seen.c.key, seen.c.value).where(true())
            )
            tx.execute(
                rows.on_conflict_do_update(index_elements=["site", "name"], set_={"condition": rows.excluded.condition})
            )
            seen_now = (node.c.site == site, among(node.c.name, conditions))
            other = node.c.left_as.is_distinct_from(node.c.condition)
            tx.execute(update(node).where(*seen_now, node.c.left_as.is_not(None), other).values(left_as=None))
            if missing:
                gone = (node.c.left_as.is_not(None), among(node.c.name, missing))
                tx.execute(update(node).where(node.c.site == site, *gone).values(left_as=None))
            if left_by is not None:
                tx.execute(update(node).where(*seen_now, node.c.op == left_by).values(left_as=node.c.condition))

        self._database.write(work)

    def of_site(self, site: str) -> list[NodeRow]:
        """Return all nodes that the site has or had, by name."""
        query = select(node).where(node.c.site == site).order_by(node.c.name)
        found = self._database.read(lambda tx: [node_row(row) for row in tx.execute(query)])
        # The database may sort by its own language's rules.
        return sorted(found, key=lambda record: record.name)

    def left_undeployed(self, site: str, nodes: Collection[str]) -> dict[str, NodeCondition]:
        """Return those of these nodes that an operation of ours was about to deploy, and how it left them (rule 11).

        Their newest operation is a deploy that the provisioner took, or a release that failed, and it is over without
        success. A node is left out when the list of nodes did not have it at the end of that operation, or has shown
        anything else of it since: then it may be somebody else's doing.
        """
        left = or_(
            and_(operation.c.phase == Phase.DEPLOY, operation.c.provisioner_task.is_not(None)),
            and_(operation.c.phase == Phase.RELEASE, operation.c.result == "failure"),
        )
        deployed = exists().where(
            task.c.op == node.c.op, task.c.node == node.c.name, task.c.status == TaskStatus.SUCCESS
        )
        query = (
            select(node.c.name, node.c.left_as)
            .join(operation, operation.c.op == node.c.op)
            .where(node.c.site == site, node.c.done_at.is_(None), operation.c.over.is_not(None), left, ~deployed)
            .where(node.c.left_as.is_not(None))
        )

        def work(tx: Connection) -> dict[str, NodeCondition]:
            rows = tx.execute(query.where(among(node.c.name, nodes)))
            return {row.name: NodeCondition(row.left_as) for row in rows}

        return self._database.read(work)


def node_row(row: Row[*tuple[Any, ...]], groups: Iterable[str] = ()) -> NodeRow:
    """Return a row of `node` as a value, with the groups that it is in."""
    return filled(NodeRow, row, groups=tuple(groups))
