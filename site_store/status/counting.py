"""The roll-up (`status_count`): triggers keep it, this compares it with what it counts, and merges its parts.

A record of an action is a row of `task`, a record of a site a row of `node` that is wanted, done or was worked on. Each
counts once for the whole (group "") and once for each of its groups (rule 34). Members of groups that are in trouble
are kept and compared in the same way (`site_trouble`), and so are tasks that failed or are lost (`task_trouble`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    String,
    Table,
    and_,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    true,
    union_all,
)

from site_store.records import Lease
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert, one_at_a_time
from site_store.status.leases import require_lease
from site_store.status.status_records import TOUCH, SitePart, StatusCount
from site_store.tables import (
    MEMBER,
    action,
    group_node,
    node,
    site_group_node,
    site_trouble,
    status_count,
    task,
    task_trouble,
)
from strategy_lib.node import TaskStatus
from strategy_lib.status.words import Status

_KEYS = ("action_id", "site", "group_name", "phase", "owner", "status", "serves")
_TROUBLED = (Status.ERROR.value, Status.UNDEFINED.value)
_FAILED = (TaskStatus.ERROR.value, TaskStatus.UNKNOWN.value)
_COUNTED_TABLES = (task, group_node, node, site_group_node, action)

node_is_counted: ColumnElement[bool] = or_(
    node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None), node.c.status.is_not(None)
)
"""Whether a node belongs to the view of its site: one that only a list ever named does not."""


@dataclass(frozen=True, slots=True)
class CountDifference:
    """A row of the roll-up that is not what it counts. `action_id` is "" in the view of the site."""

    action_id: str
    site: str
    count: StatusCount
    found: int

    def __str__(self) -> str:
        scope = f"action {self.action_id}" if self.action_id else f"site {self.site}"
        where = f"group {self.count.group}" if self.count.group else "the whole"
        serves = f" (serves {self.count.serves})" if self.count.serves else ""
        what = f"{self.count.phase} {self.count.status}{serves}"
        owner = self.count.owner or "nobody"
        return f"{scope}, {where}: {what} of {owner}: the roll-up says {self.count.records}, there are {self.found}"


@dataclass(frozen=True, slots=True)
class Verification:
    """What a comparison found: how many rows were compared, and those that differ."""

    compared: int
    differences: tuple[CountDifference, ...]


class Counts(Repository):
    """The roll-up as a whole. Views of it are read elsewhere."""

    def verify(self) -> Verification:
        """Compare the roll-up with what it counts, all in one snapshot; nothing is changed."""

        def work(tx: Connection) -> Verification:
            kept, found = (_cells_of(tx, query) for query in (_kept_cells(), _all_cells()))
            for cells, queries in ((kept, _kept_troubles()), (found, _found_troubles())):
                for query in queries:
                    cells |= dict.fromkeys(map(tuple, tx.execute(query)), 1)
            keys = sorted(kept.keys() | found.keys())
            differences = (_difference(key, kept.get(key, 0), found.get(key, 0)) for key in keys)
            return Verification(len(keys), tuple(one for one in differences if one.count.records != one.found))

        return self._database.read(work)

    def rebuild(self) -> int:
        """Count everything anew; return how many rows there are then. Others that write wait meanwhile."""
        return self._database.write(rebuild)

    def merge(self, held: Lease | None = None) -> int:
        """Merge what single transactions have left into one row for each cell, and forget cells of nothing.

        What a view reads is the same before and after. Several at once go one after the other.

        Parameters
        ----------
        held : the lease of a controller that does this, without which nothing is written; None: somebody else does it.

        Returns
        -------
        int
            How many rows were merged.

        Raises
        ------
        LeaseLost : the lease is lost.
        """

        def work(tx: Connection) -> int:
            one_at_a_time(tx, "merging the roll-up")
            if held is not None:
                require_lease(tx, held, self._shared_now(tx))
            merged = int(tx.scalar(text(_MERGE)) or 0)
            of_nothing = and_(status_count.c.records == 0, status_count.c.part == 0, status_count.c.phase != TOUCH)
            tx.execute(delete(status_count).where(of_nothing))
            return merged

        return self._database.write(work)


def touch_site(tx: Connection, site: str) -> None:
    """Note in the caller's transaction that what views of a site show has changed: their change token is another one.

    For what no trigger sees: the states of nodes.
    """
    tx.execute(text("SELECT slipway_touch('', :site)"), {"site": site})


# One statement: it sees, takes away and adds the same rows. A part that it sees is that of a transaction that is over.
_MERGE = """
WITH parts AS (DELETE FROM status_count WHERE part <> 0 RETURNING *),
sums AS (
  SELECT action_id, site, group_name, phase, owner, status, serves, sum(records) AS records FROM parts
  GROUP BY action_id, site, group_name, phase, owner, status, serves
),
kept AS (
  INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
  SELECT action_id, site, group_name, phase, owner, status, serves, 0, records FROM sums
  ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
  DO UPDATE SET records = status_count.records + excluded.records
)
SELECT count(*) FROM parts
"""


def rebuild(tx: Connection) -> int:
    """Carry out `Counts.rebuild` in the caller's transaction. The change tokens go on."""
    names = ", ".join(f'"{table.name}"' for table in _COUNTED_TABLES)
    tx.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
    tx.execute(delete(status_count).where(status_count.c.phase != TOUCH))
    counted = _all_cells().subquery()
    columns = [*_KEYS, "part", "records"]
    facts = [*(counted.c[key] for key in _KEYS), literal(0), counted.c.records]
    tx.execute(insert(status_count).from_select(columns, select(*facts).where(true())))
    tx.execute(delete(site_trouble))
    tx.execute(insert(site_trouble).from_select([column.name for column in site_trouble.c], _in_trouble()))
    tx.execute(delete(task_trouble))
    tx.execute(insert(task_trouble).from_select([column.name for column in task_trouble.c], _tasks_in_trouble()))
    # Requests that wait for a change look again.
    touched = insert(status_count).from_select(columns, _touches())
    key = [*_KEYS, "part"]
    more = status_count.c.records + touched.excluded.records
    tx.execute(touched.on_conflict_do_update(index_elements=key, set_={"records": more}))
    kept = select(func.count()).select_from(status_count).where(status_count.c.phase != TOUCH)
    return tx.scalar(kept) or 0


def _in_trouble() -> Select[Any]:
    """Return the query of the members of groups that are in trouble."""
    facts = (node.c.site, site_group_node.c.group_name, node.c.standing, node.c.name.label("node"), node.c.error)
    return select(*facts).select_from(node.join(site_group_node, MEMBER)).where(node.c.standing.in_(_TROUBLED))


def _as_cells(members: Select[Any]) -> Select[Any]:
    """Return members of groups as cells of one record: the node stands for the phase, and its error for the owner."""
    each = members.subquery().c
    said = func.coalesce(each.error, "")
    nothing = literal("", String())
    return select(
        nothing, each.site, each.group_name, "node " + each.node, said, each.standing, nothing.label("serves")
    )


# Built once, like all queries here that are asked again: to build them takes several times as long as to execute them.
@cache
def _kept_troubles() -> tuple[Select[Any], ...]:
    """Return the queries of the cells of one record that are kept."""
    return _as_cells(select(site_trouble)), _as_cells_of_actions(select(task_trouble))


@cache
def _found_troubles() -> tuple[Select[Any], ...]:
    """Return the queries of those that there should be."""
    return _as_cells(_in_trouble()), _as_cells_of_actions(_tasks_in_trouble())


def _tasks_in_trouble() -> Select[Any]:
    """Return the query of the tasks that are in trouble."""
    group = func.coalesce(task.c.owner_group, "").label("owner_group")
    facts = (task.c.action_id, group, task.c.node, task.c.phase, task.c.status)
    return select(*facts).where(task.c.status.in_(_FAILED))


def _as_cells_of_actions(tasks: Select[Any]) -> Select[Any]:
    """Return tasks as cells of one record: the node stands for the owner."""
    each = tasks.subquery().c
    said = "task " + each.phase
    nothing = literal("", String())
    return select(each.action_id, nothing, each.owner_group, said, each.node, each.status, nothing.label("serves"))


def _touches() -> Select[Any]:
    """Return a touch for each scope that was ever touched."""
    scopes = select(status_count.c.action_id, status_count.c.site).where(status_count.c.phase == TOUCH).distinct()
    each = scopes.subquery()
    facts = [literal(""), literal(TOUCH), literal(""), literal(""), literal(""), literal(0), literal(1)]
    return select(each.c.action_id, each.c.site, *facts).where(true())


def _cells_of(tx: Connection, query: Select[Any] | CompoundSelect[Any]) -> dict[tuple[Any, ...], int]:
    return {tuple(row)[:-1]: int(row.records) for row in tx.execute(query) if row.records}


@cache
def _kept_cells() -> Select[Any]:
    """Return the query of what is counted in the roll-up."""
    query = select(*(status_count.c[key] for key in _KEYS), func.sum(status_count.c.records).label("records"))
    return query.where(status_count.c.phase != TOUCH).group_by(*(status_count.c[key] for key in _KEYS))


@cache
def _all_cells() -> CompoundSelect[Any]:
    """Return the query that counts everything from scratch."""
    tasks, nodes = _task_facts(), _node_facts()
    grouped_task = and_(group_node.c.action_id == task.c.action_id, group_node.c.node == task.c.node)
    in_part = literal(str(SitePart.GROUPED), String())
    return union_all(
        _cells(tasks, literal("", String()), {}, task),
        _cells(tasks, group_node.c.group_name, {}, task, group_node, grouped_task),
        _cells(nodes, literal("", String()), {}, node),
        _cells(nodes, site_group_node.c.group_name, {"phase": in_part}, node, site_group_node, MEMBER),
    )


def _task_facts() -> dict[str, ColumnElement[Any]]:
    return {
        "action_id": task.c.action_id,
        "site": action.c.site,
        "phase": task.c.phase,
        "owner": func.coalesce(task.c.owner, ""),
        "status": task.c.status,
        "serves": literal("", String()),
    }


def _node_facts() -> dict[str, ColumnElement[Any]]:
    has_group = exists().where(MEMBER)
    return {
        "action_id": literal("", String()),
        "site": node.c.site,
        "phase": case(
            (node.c.wanted_digest.is_(None), str(SitePart.TO_BE_REMOVED)),
            (has_group.correlate(node), str(SitePart.GROUPED)),
            else_=str(SitePart.NO_GROUP),
        ),
        "owner": func.coalesce(node.c.owner, ""),
        "status": node.c.standing,
        "serves": node.c.serves,
    }


def _cells(
    facts: Mapping[str, ColumnElement[Any]],
    group: ColumnElement[str],
    instead: Mapping[str, ColumnElement[Any]],
    table: Table,
    members: Table | None = None,
    membership: ColumnElement[bool] | None = None,
) -> Select[Any]:
    """Return the query that counts the rows of a table, for the whole or for each group."""
    columns = {**facts, "group_name": group, **instead}
    made = select(*(columns[key].label(key) for key in _KEYS)).select_from(table)
    if table is task:
        made = made.join(action, action.c.id == task.c.action_id)
    else:
        made = made.where(node_is_counted)
    if members is not None and membership is not None:
        made = made.join(members, membership)
    each = made.subquery()
    keys = [each.c[key] for key in _KEYS]
    return select(*keys, func.count().label("records")).group_by(*keys)


def _difference(key: tuple[Any, ...], kept: int, found: int) -> CountDifference:
    action_id, site, group, phase, owner, status, serves = key
    return CountDifference(action_id, site, StatusCount(group, phase, owner, status, serves, kept), found)


def nodes_of(site: Any) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on the cells of the roll-up that count each node of a site once."""
    cell = status_count.c
    return (cell.action_id == "", cell.site == site, cell.group_name == "", cell.phase != TOUCH)


def changes(action_id: Any, site: Any) -> ColumnElement[int]:
    """Select how often a scope was changed."""
    return (
        select(func.coalesce(func.sum(status_count.c.records), 0))
        .where(
            status_count.c.action_id == action_id,
            status_count.c.site == site,
            status_count.c.group_name == "",
            status_count.c.phase == TOUCH,
        )
        .scalar_subquery()
    )
