"""How the newest operation of each node left it: written from its tasks, in the transaction that changes them.

How a node stands in its site follows from this and from what is wanted and done (`tables.STANDING`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    Update,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    null,
    or_,
    select,
    update,
)

from site_store.nodes.chosen_tasks import AGAIN, MOMENT, THIS_ACTION, THIS_OP, THIS_SITE, Choice, Chosen, chosen
from site_store.nodes.node_errors import clear_errors, write_errors_of
from site_store.nodes.tries import FRESH, count_failures, failed_tasks
from site_store.nodes.unsent import write_unsent
from site_store.records import Operation, OperationStatus
from site_store.sql.postgresql import among, pairs
from site_store.tables import action, node, node_error, operation, task
from strategy_lib.goals.node_errors import ErrorCode
from strategy_lib.node import TaskStatus
from strategy_lib.outcome import UNPROVABLE_BY_DEPLOY, Outcome
from strategy_lib.phase import Phase
from strategy_lib.status.leaf import UnknownCause
from strategy_lib.status.words import Status

#: The connection for all sites that have none of their own; expected where none is decided yet.
DEFAULT_CONNECTION = "slipway_provisioner"
PROVISIONER = "provisioner:"


def provisioner_owner(connection: str | None) -> str:
    """Return who is expected to work on nodes of an action with this connection."""
    return f"{PROVISIONER}{connection or DEFAULT_CONNECTION}"


def planned_version(site: str, name: ColumnElement[str], digest: ColumnElement[Any]) -> ColumnElement[int]:
    """Return which wanted version of a node a task is about that brings it to a digest (NULL: to what is wanted).

    A node that is wanted in another design by now was last wanted in an earlier version: the one before counts, since
    a person who asked for the node again (`touch`) before that version did so before this plan.
    """
    other = and_(digest.is_not(None), node.c.wanted_digest.is_distinct_from(digest))
    version = case((other, node.c.wanted_version - 1), else_=node.c.wanted_version)
    return select(version).where(node.c.site == site, node.c.name == name).scalar_subquery()


def _version_done() -> ColumnElement[Any]:
    """Return the wanted version that a task has brought its node to: of another digest than today's, an earlier one."""
    other = node.c.wanted_digest != task.c.digest
    return func.least(task.c.wanted_version, case((other, node.c.wanted_version - 1), else_=node.c.wanted_version))


def done_again(now: datetime) -> str:
    """Say when something succeeded that had failed before: what stands behind the failure in `fixed`."""
    return f" (succeeded at {now:%Y-%m-%d %H:%M:%S} UTC)"


def follow_operation(
    tx: Connection, now: datetime, this: Operation, outcome: Outcome, settled: frozenset[str], *, late: bool = False
) -> None:
    """Have nodes say how this operation left them, and what they are done in, where no later one has them.

    One that was deployed is done in the version that the action's plan has for it, if the deploy proves that (rule 13).

    Parameters
    ----------
    outcome : names the nodes that something was learnt of.
    settled : of these, those that have succeeded by this: only their errors are over (rule 48).
    late : this corrects what was not known in time: nothing had to be repeated.
    """
    names = outcome.succeeded | outcome.failed | outcome.unknown
    if names:
        _follow_chosen(tx, now, this, outcome, Chosen.of(this, names), late=late)
        clear_errors(tx, this, settled)
        if outcome.failed or outcome.unknown:
            write_errors_of(tx, now, this, outcome.failed | outcome.unknown, outcome.texts)
    if this.phase is Phase.RELEASE:
        # Those that were released have no operation any more: they wait to be prepared.
        held = exists().where(task.c.op == this.op, task.c.node == node.c.name).correlate(node)
        released = (node.c.site == this.site, node.c.op == this.op, node.c.status == str(Status.PROCESSING), ~held)
        members = node.c.name.in_(this.nodes) if len(this.nodes) < 100 else node.c.name.is_not(None)
        tx.execute(update(node).where(*released, members).values(status=None, last_updated=now))


def _follow_chosen(
    tx: Connection, now: datetime, this: Operation, outcome: Outcome, these: Chosen, *, late: bool
) -> None:
    given = {"this_op": this.op, "this_site": this.site, **these.parameters("chosen")}
    count_failures(tx, now, _failed(these.choice), given)
    given |= {"this_moment": now, "this_action": this.action_id}
    proving: Choice | None = None
    if this.phase is Phase.DEPLOY and outcome.succeeded:
        proven = Chosen.of(this, outcome.succeeded)
        given |= proven.parameters("proven")
        proving = proven.choice
    if not late:
        given["done_again"] = done_again(now)
    tx.execute(_followed(this.phase, these.choice, proving, late), given)


@cache
def _failed(choice: Choice) -> Select[Any]:
    """Select what `count_failures` counts of an operation."""
    these = (task.c.op == THIS_OP, node.c.site == THIS_SITE, *chosen(choice, "chosen"))
    return failed_tasks(*these, node.c.op == task.c.op)


@cache
def _followed(phase: Phase, choice: Choice, proving: Choice | None, late: bool) -> Update:
    """Have nodes say how tasks of an operation stand, and what those are done in that are proven."""
    proven = None
    if proving is not None:
        provable = func.coalesce(task.c.found, "").not_in(UNPROVABLE_BY_DEPLOY)
        proven = and_(task.c.status == TaskStatus.SUCCESS, provable, *chosen(proving, "proven"))
    # Looked up once, and not for each node.
    revision = select(action.c.revision).where(action.c.id == THIS_ACTION).scalar_subquery()
    ended_as = select(operation.c.status).where(operation.c.op == THIS_OP).scalar_subquery()
    which = (task.c.op == THIS_OP, node.c.site == THIS_SITE, *chosen(choice, "chosen"))
    return _following(which, MOMENT, None if late else AGAIN, phase, revision, ended_as, proven)


def follow_tasks(tx: Connection, now: datetime, *which: ColumnElement[bool]) -> None:
    """Have nodes say how these tasks of several operations stand, where that of the task is the newest of the node.

    Parameters
    ----------
    which : conditions on `task` and `node`, of which one finds the tasks by an index.
    """
    joins = (operation.c.op == task.c.op, action.c.id == task.c.action_id, node.c.site == action.c.site)
    count_failures(tx, now, failed_tasks(*which, node.c.op == task.c.op))
    moment, again = literal(now, node.c.done_at.type), literal(done_again(now), Text())
    tx.execute(_following((*which, *joins), moment, again, None, action.c.revision, operation.c.status, None))


def _following(
    which: Collection[ColumnElement[bool]],
    moment: ColumnElement[Any],
    again: ColumnElement[str] | None,
    phase: Phase | None,
    revision: ColumnElement[Any],
    ended_as: ColumnElement[Any],
    proven: ColumnElement[bool] | None,
) -> Update:
    """Have nodes say how tasks stand, where the operation of the task is the newest of the node.

    Parameters
    ----------
    which : conditions on `task` and `node`.
    moment : now.
    again : when what had failed before has succeeded; None: nothing had to be repeated.
    phase : of all the tasks; None: of several.
    revision, ended_as : the revision of the action, and the status of the operation.
    proven : whether a task has brought its node to the version that it names; None: none has.
    """
    lost = case((ended_as == OperationStatus.TIMED_OUT, str(UnknownCause.TIMEOUT)), else_=str(UnknownCause.LOST))
    said = case(
        (task.c.status == TaskStatus.UNKNOWN, lost + func.coalesce(literal(": ") + task.c.error, "")),
        (task.c.status == TaskStatus.ERROR, func.coalesce(task.c.error, task.c.phase + " failed")),
    )
    failed = task.c.status.in_((TaskStatus.UNKNOWN, TaskStatus.ERROR))
    done, succeeded, destroyed, spoilt = _ends(phase)
    ended = or_(succeeded, destroyed)
    # The error of a drift names no action.
    own = and_(ended, node.c.error_action == task.c.action_id)
    drifted = and_(succeeded, node.c.error_action.is_(None))
    repeated = and_(or_(own, drifted), node.c.error.is_not(None))
    fixed = [] if again is None else [(repeated, node.c.error + again)]
    values: dict[str, Any] = {
        fact: case((destroyed, null()), else_=node.c[fact])
        for fact in ("done_revision", "done_digest", "done_version", "done_at", "doubt")
    }
    if proven is not None:
        values = {
            "done_revision": case((proven, revision), else_=node.c.done_revision),
            "done_digest": case((proven, task.c.digest), else_=node.c.done_digest),
            "done_version": case((proven, _version_done()), else_=node.c.done_version),
            "done_at": case((proven, moment), else_=node.c.done_at),
            "doubt": case((proven, null()), else_=node.c.doubt),
        }
    return (
        update(node)
        .where(*which, node.c.name == task.c.node, node.c.op == task.c.op)
        .values(
            status=case(
                (task.c.status == TaskStatus.PROCESSING, str(Status.PROCESSING)),
                (failed, str(Status.ERROR)),
                (spoilt, str(Status.ERROR)),
                (done, str(Status.SUCCESS)),
                (destroyed, str(Status.DELETED)),
                else_=null(),
            ),
            error=case((failed, said), (ended, null()), else_=node.c.error),
            error_revision=case((failed, revision), (ended, null()), else_=node.c.error_revision),
            error_version=case((failed, task.c.wanted_version), (ended, null()), else_=node.c.error_version),
            error_action=case((failed, task.c.action_id), (ended, null()), else_=node.c.error_action),
            fixed=case(*fixed, (ended, null()), else_=node.c.fixed),
            **{fact: case((succeeded, fresh), else_=node.c[fact]) for fact, fresh in FRESH.items()},
            version=node.c.version + 1,
            first_updated=func.coalesce(node.c.first_updated, moment),
            last_updated=moment,
            **values,
        )
    )


def _ends(
    phase: Phase | None,
) -> tuple[ColumnElement[bool], ColumnElement[bool], ColumnElement[bool], ColumnElement[bool]]:
    """Return whether a task did what is wanted, mended what had failed, destroyed its node, or has left an error.

    Parameters
    ----------
    phase : of the operation of all the tasks: most of them need not be asked of each task then; None: of several.
    """
    success, never = task.c.status == TaskStatus.SUCCESS, false()
    if phase in (Phase.DEPLOY, Phase.READY):
        return success, success, never, never
    if phase in (Phase.PREPARE, Phase.RELEASE):
        return never, never, never, never
    # New labels mend what failed as labels; another error stays, as the node is not deployed anew (rule 46).
    of_labels = exists().where(
        node_error.c.site == node.c.site,
        node_error.c.node == node.c.name,
        node_error.c.action_id == node.c.error_action,
        node_error.c.phase == Phase.RELABEL,
    )
    mended = or_(node.c.error.is_(None), of_labels)
    relabelled = and_(success, task.c.phase == Phase.RELABEL)
    labelled = and_(task.c.phase == Phase.RELABEL, node.c.done_digest.is_not(None), mended)
    done = and_(success, or_(task.c.phase.in_((Phase.DEPLOY, Phase.READY)), labelled))
    destroyed = and_(success, task.c.phase == Phase.DESTROY)
    return done, or_(done, and_(relabelled, mended)), destroyed, and_(relabelled, ~mended)


def fail_nodes(tx: Connection, now: datetime, site: str, action_id: str, reasons: Mapping[str, str]) -> None:
    """Note with nodes that nothing could be sent for them, each with its reason."""
    if not reasons:
        return
    write_unsent(tx, now, site, action_id, Phase.PREPARE, reasons, ErrorCode.REFUSED)
    unsent = (task.c.action_id == action_id, task.c.phase == Phase.PREPARE, among(task.c.node, reasons))
    count_failures(tx, now, failed_tasks(node.c.site == site, *unsent))
    why = pairs(reasons)
    revision = select(action.c.revision).where(action.c.id == action_id).scalar_subquery()
    planned = select(task.c.wanted_version).where(*unsent, task.c.node == node.c.name).scalar_subquery()
    tx.execute(
        update(node)
        .where(node.c.site == site, node.c.name == why.c.key)
        .values(
            status=str(Status.ERROR),
            error=why.c.value,
            error_revision=revision,
            error_version=func.coalesce(planned, node.c.wanted_version),
            error_action=literal(action_id, Text()),
            version=node.c.version + 1,
            first_updated=func.coalesce(node.c.first_updated, now),
            last_updated=now,
        )
    )


def expect_provisioner(tx: Connection, action_id: str, site: str, connection: str | None) -> None:
    """Write who is expected to work on the tasks of an action and on the nodes of its site."""
    name = provisioner_owner(connection)
    tx.execute(
        update(task)
        # Whether nodes are ready is the group's own task to find out (rule 58).
        .where(task.c.action_id == action_id, task.c.phase != Phase.READY, task.c.owner.is_distinct_from(name))
        .values(owner=name)
    )
    tx.execute(update(node).where(node.c.site == site, node.c.owner.is_distinct_from(name)).values(owner=name))
