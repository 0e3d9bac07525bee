"""Nodes of a site: what is wanted of each, and what was last done to it; and the version of each record.

`If-Match` names that version: every write raises it. Several records have one together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, Row, and_, cast, exists, literal, or_, select, true, update

from site_store.sql.database import Repository
from site_store.sql.errors import VersionChanged
from site_store.sql.postgresql import among, insert, pairs
from site_store.sql.rows import filled
from site_store.status.events import EventKind, NewEvent, write_node_events
from site_store.tables import node, operation, task
from strategy_lib.node import TaskStatus
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.reported import UNNAMED_ADVICE
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

    def take_signatures(self, site: str, versions: Mapping[str, int]) -> frozenset[str]:
        """Note by which versions of signatures nodes have answered; return those whose answer does not count.

        They have answered by a newer version before: who answered now does not show that he is the node (rule 63).
        A node that answers by version 1 for the first time is an event.
        """

        def work(tx: Connection, now: datetime) -> frozenset[str]:
            given = pairs({name: str(version) for name, version in versions.items()})
            version = cast(given.c.value, Integer)
            of_node = (node.c.site == site, node.c.name == given.c.key)
            older = tx.scalars(select(node.c.name).where(*of_node, node.c.signed > version)).all()
            newer = or_(node.c.signed.is_(None), node.c.signed < version)
            noted = tx.execute(
                update(node).where(*of_node, newer).values(signed=version).returning(node.c.name, node.c.signed)
            )
            unnamed = sorted(name for name, signed in noted if signed == 1)
            write_node_events(tx, now, site, unnamed, NewEvent(EventKind.NODE_STATE, UNNAMED_ADVICE))
            return frozenset(older)

        # Mostly nothing is new, and nothing is written.
        known = select(node.c.name, node.c.signed).where(node.c.site == site, among(node.c.name, versions))
        rows = self._database.read_once(lambda tx: tx.execute(known).all())
        if all(signed == versions[name] for name, signed in rows):
            return frozenset()
        return self._transact(work)

    def unnamed(self) -> dict[str, list[str]]:
        """Return the wanted nodes whose agents sign by version 1 alone, by their sites (rule 63)."""
        query = select(node.c.site, node.c.name).where(node.c.signed == 1, node.c.wanted_digest.is_not(None))
        found: dict[str, list[str]] = {}
        for site, name in self._database.read_once(lambda tx: tx.execute(query.order_by(*node.primary_key)).all()):
            found.setdefault(site, []).append(name)
        return found

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


def require_versions(tx: Connection, site: str, versions: Mapping[str, int] | None) -> None:
    """Make sure that records of nodes have these versions, and keep them so until the transaction ends.

    Raises `VersionChanged`: one has another.
    """
    if not versions:
        return
    query = select(node.c.name, node.c.version).where(node.c.site == site, among(node.c.name, versions))
    # In one order, so that of two writers one waits for the other.
    found = {row.name: row.version for row in tx.execute(query.order_by(node.c.name).with_for_update())}
    for name, version in sorted(versions.items()):
        if found.get(name) != version:
            raise VersionChanged(f"node {name}", version, found.get(name, 0))


def common_version(versions: Mapping[str, int]) -> str:
    """Return the version of records of nodes together: of one its own, of several a digest of names and versions."""
    if len(versions) == 1:
        return str(next(iter(versions.values())))
    lines = "\n".join(f"{version} {name}" for name, version in sorted(versions.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def words_for(nodes: Collection[str]) -> str:
    """Return what an error calls these nodes."""
    first, *others = sorted(nodes)
    return f"{first} with {len(others)} more" if others else f"node {first}"


def read_versions(tx: Connection, site: str, nodes: Collection[str]) -> dict[str, int]:
    """Return the version of each of these records, as the caller's transaction sees them; of those that are there."""
    query = select(node.c.name, node.c.version).where(node.c.site == site, among(node.c.name, nodes))
    return {row.name: row.version for row in tx.execute(query)}


def read_common_version(tx: Connection, site: str, nodes: Collection[str]) -> str:
    """Return the version that records of nodes have together, as the caller's transaction sees them."""
    return common_version(read_versions(tx, site, nodes))
