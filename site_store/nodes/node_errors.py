"""Errors of nodes: each is of one operation, is written wherever an outcome is, and says how far its report is.

An operation that is under way is `tracked` by its own row; a row of an error begins with the error (rules 45 to 48).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    FromClause,
    Row,
    Select,
    and_,
    case,
    func,
    literal,
    not_,
    null,
    or_,
    select,
    update,
)

from site_store.nodes.chosen_tasks import MOMENT, THIS_ACTION, THIS_OP, THIS_SITE
from site_store.nodes.nodes import require_versions
from site_store.records import Operation, OperationStatus
from site_store.sql.database import Repository
from site_store.sql.postgresql import among, among_parameter, by_code_point, insert, pairs_parameters, pairs_values
from site_store.sql.rows import filled
from site_store.tables import action, is_of_wanted, node, node_error, operation, task
from site_store.tables.if_newest import ERRORS
from strategy_lib.goals.late_results import Event
from strategy_lib.goals.node_errors import ErrorCode, NodeError, ReportState, Standing, read_code, standing_of
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase

REFUSED = "refused"
"""The result of an operation that the provisioner did not take."""
MOST_REPORTS = 1000
"""At most this many reports are in an answer or a notification; the others follow."""
ERROR_FACTS = (*(column.name for column in node_error.c), "wanted_now", "newest_op", "newest_action")
"""What an error is judged by."""
_FAILED = (TaskStatus.ERROR, TaskStatus.UNKNOWN)
_TO_REPORT = (ReportState.FAILED, ReportState.REPORTED)
_CHANGED = ("code", "text", "provisioner_task")
_ANY_OF_OPERATION = (
    select(node_error.c.node).where(node_error.c.action_id == THIS_ACTION, node_error.c.op == THIS_OP).limit(1)
)


@dataclass(frozen=True, slots=True)
class NodeErrorRecord:
    """An error of a node, how far its report is, and whether it still says something about today (rule 46)."""

    error: NodeError
    state: ReportState
    standing: Standing
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None

    @property
    def to_report(self) -> bool:
        """Whether it is to be told: it is shown, and nobody has acknowledged it."""
        return self.standing is Standing.SHOWN and self.state in _TO_REPORT


def write_errors(tx: Connection, now: datetime, *which: ColumnElement[bool]) -> None:
    """Keep in the caller's transaction the errors of these tasks, each under the task's own operation (rule 45).

    Written again with the same words, an error stays as it is. With others, as when the truth is learnt after a
    timeout, it is to be reported anew.

    Parameters
    ----------
    which : conditions on `task` and `node`, of which one finds the tasks by an index.
    """
    tx.execute(_errors_of_tasks(literal(now, node_error.c.time.type), which))


def write_errors_of(
    tx: Connection, now: datetime, this: Operation, nodes: Collection[str], texts: Mapping[str, str]
) -> None:
    """Keep in the caller's transaction the same of an operation's tasks.

    Parameters
    ----------
    nodes : of these alone.
    texts : whole texts of nodes of which the task keeps a part.
    """
    given = {"this_op": this.op, "this_site": this.site, "this_moment": now, "failed": list(nodes)}
    whole = pairs_values("texts", texts) if texts else {}
    tx.execute(_errors_of_operation(bool(texts)), {**given, **whole})


@cache
def _errors_of_operation(whole: bool) -> Executable:
    texts = pairs_parameters("texts") if whole else None
    failed = among_parameter(task.c.node, "failed")
    return _errors_of_tasks(MOMENT, (task.c.op == THIS_OP, node.c.site == THIS_SITE, failed), texts)


def _errors_of_tasks(moment: ColumnElement[Any], which: Iterable[ColumnElement[bool]], whole: Any = None) -> Executable:
    code = case(
        (and_(task.c.status == TaskStatus.UNKNOWN, operation.c.status == OperationStatus.TIMED_OUT), ErrorCode.TIMEOUT),
        (task.c.status == TaskStatus.UNKNOWN, ErrorCode.LOST),
        (operation.c.result == REFUSED, ErrorCode.REFUSED),
        else_=ErrorCode.PROVISIONER,
    )
    source: FromClause = (
        task.join(operation, operation.c.op == task.c.op)
        .join(action, action.c.id == task.c.action_id)
        .join(node, and_(node.c.site == action.c.site, node.c.name == task.c.node))
    )
    said: list[ColumnElement[Any]] = [task.c.error, task.c.phase + " failed"]
    if whole is not None:
        source = source.outerjoin(whole, whole.c.key == task.c.node)
        said.insert(0, whole.c.value)
    facts = {
        "site": node.c.site,
        "node": node.c.name,
        "op": task.c.op,
        "code": code,
        "text": func.coalesce(*said),
        "phase": task.c.phase,
        "action_id": task.c.action_id,
        "provisioner_task": operation.c.provisioner_task,
        "wanted_version": func.coalesce(task.c.wanted_version, node.c.wanted_version),
        "time": moment,
        "state": literal(str(ReportState.FAILED)),
    }
    found = select(*facts.values()).select_from(source).where(*which, task.c.status.in_(_FAILED))
    return _rows_written(facts, found)


def clear_errors(tx: Connection, this: Operation, nodes: Collection[str]) -> None:
    """Note that an operation has succeeded on these nodes after all: only its own errors are over."""
    # There is rarely one, and often very many nodes.
    this_one = {"this_action": this.action_id, "this_op": this.op}
    if nodes and tx.execute(_ANY_OF_OPERATION, this_one).first() is not None:
        own = (node_error.c.action_id == this.action_id, node_error.c.op == this.op)
        theirs = (among(node_error.c.node, nodes), node_error.c.site == this.site)
        tx.execute(update(node_error).where(*own, *theirs).values(state=str(ReportState.CLEARED)))


def write_rows(tx: Connection, facts: Mapping[str, ColumnElement[Any]], found: Select[Any]) -> None:
    """Write errors that a statement selects; one with the same words as before stays as it is.

    That what timed out is lost is no news where nothing else is said of it: what was acknowledged stays so.
    """
    tx.execute(_rows_written(facts, found))


def _rows_written(facts: Mapping[str, ColumnElement[Any]], found: Select[Any]) -> Executable:
    rows = insert(node_error).from_select(list(facts), found)
    own, new = node_error.c, rows.excluded
    changed = {name: own[name].is_distinct_from(new[name]) for name in _CHANGED}
    lost = and_(own.code == str(ErrorCode.TIMEOUT), new.code == str(ErrorCode.LOST))
    news = or_(*(changed[name] for name in _CHANGED if name != "code"), and_(changed["code"], not_(lost)))
    told = {name: case((news, new[name]), else_=own[name]) for name in ("time", "state")}
    kept = {name: case((news, null()), else_=own[name]) for name in ("acknowledged_at", "acknowledged_by")}
    values = {**{name: new[name] for name in _CHANGED}, **told, **kept}
    return rows.on_conflict_do_update(index_elements=["site", "node", "op"], set_=values, where=or_(*changed.values()))


class NodeErrors(Repository):
    """Errors of nodes, and their reports to readers outside."""

    def acknowledge(
        self, site: str, ops: Mapping[str, int], by: str, versions: Mapping[str, int] | None = None
    ) -> dict[str, bool]:
        """Note that a reader has taken note of errors, each by node and operation (rule 48).

        Parameters
        ----------
        versions : the versions that records of nodes are to have, where the reader has seen them.

        Returns
        -------
        dict
            For each node whether the error of this very operation is cleared now; another one stays as it is.

        Raises
        ------
        VersionChanged : a record has another version by now; nothing was written.
        """

        def work(tx: Connection, now: datetime) -> dict[str, bool]:
            require_versions(tx, site, versions)
            cleared: dict[str, bool] = {}
            for name, op in sorted(ops.items()):
                this = (node_error.c.site == site, node_error.c.node == name)
                done = tx.execute(
                    update(node_error)
                    .where(*this, ERRORS.take(Event.ACKNOWLEDGE, op))
                    .values(state=str(ReportState.CLEARED), acknowledged_at=now, acknowledged_by=by)
                ).rowcount
                known = select(node_error.c.state).where(*this, node_error.c.op == op)
                cleared[name] = bool(done) or tx.scalar(known) == ReportState.CLEARED
                if done:
                    changed = update(node).where(node.c.site == site, node.c.name == name)
                    tx.execute(changed.values(version=node.c.version + 1))
            return cleared

        return self._transact(work)


def read_reports(
    tx: Connection,
    site: str,
    after: str = "",
    limit: int = MOST_REPORTS,
    states: Collection[ReportState] = _TO_REPORT,
) -> list[NodeErrorRecord]:
    """Return in the caller's transaction the errors of a site in these states that are to be told, by node."""
    if limit <= 0:
        return []
    by_name = by_code_point(node_error.c.node)
    query = (
        _with_standing()
        .where(node_error.c.site == site, node_error.c.state.in_([str(state) for state in states]))
        # What is older is history or superseded; there may be years of it.
        .where(or_(node.c.op.is_(None), node_error.c.op >= node.c.op))
        .where(is_of_wanted(node_error.c.wanted_version))
        .order_by(by_name, node_error.c.op)
    )
    if after:
        query = query.where(by_name > after)
    found: list[NodeErrorRecord] = []
    for row in tx.execute(query):
        record = error_record(row)
        if record.to_report:
            found.append(record)
            if len(found) == limit:
                break
    return found


def errors_of_node(site: ColumnElement[str], name: ColumnElement[str], limit: Any) -> Select[Any]:
    """Select the newest errors of a node, newest first: the columns `ERROR_FACTS`."""
    query = _with_standing().where(node_error.c.site == site, node_error.c.node == name)
    return query.order_by(node_error.c.op.desc()).limit(limit)


def _with_standing() -> Select[Any]:
    """Select errors with what decides whether they still say something: the node, and the newest action that has it."""
    newest = (
        select(func.max(task.c.action_id))
        .join(action, action.c.id == task.c.action_id)
        .where(
            action.c.site == node_error.c.site,
            action.c.id > node_error.c.action_id,
            action.c.dry_run.is_(False),
            task.c.node == node_error.c.node,
        )
        .correlate(node_error)
    )
    same = and_(node.c.site == node_error.c.site, node.c.name == node_error.c.node)
    return select(
        node_error,
        node.c.wanted_version.label("wanted_now"),
        node.c.op.label("newest_op"),
        newest.scalar_subquery().label("newest_action"),
    ).outerjoin(node, same)


def error_record(row: Row[*tuple[Any, ...]] | SimpleNamespace) -> NodeErrorRecord:
    """Return the columns `ERROR_FACTS` as a value."""
    code, text = read_code(row.code or "", row.text or "")
    stored = {"phase": Phase(row.phase), "action": row.action_id, "wanted_version": row.wanted_version or 0}
    error = filled(NodeError, row, code=code, text=text, **stored)
    standing = standing_of(
        error,
        wanted_version=row.wanted_now,
        newest_action=row.newest_action or row.action_id,
        newest_op=row.newest_op,
    )
    return NodeErrorRecord(error, ReportState(row.state), standing, row.acknowledged_at, row.acknowledged_by)
