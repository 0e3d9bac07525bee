"""Results of operations, written only where the operation is still the newest (rules 13, 14 and 24)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Connection, and_, case, func, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from design_rendering.kinds.objects import with_labels_of
from site_store.nodes.chosen_tasks import AGAIN, MOMENT, THIS_OP, Choice, Chosen, chosen
from site_store.nodes.node_status import done_again
from site_store.records import Operation
from site_store.sql.postgresql import among, pairs, pairs_parameters, pairs_values
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, node, task
from site_store.tables.if_newest import TASKS
from strategy_lib.goals.late_results import Event
from strategy_lib.node import TaskStatus
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase

_STATUS = {Event.END: TaskStatus.SUCCESS, Event.ERROR: TaskStatus.ERROR, Event.TIMEOUT: TaskStatus.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Applied:
    """What an outcome has changed: these nodes had not ended yet.

    `succeeded` has those that this proves to have succeeded, `known` those of which something is known by this.
    `superseded` are nodes of the outcome that a newer operation has.
    """

    succeeded: frozenset[str]
    known: frozenset[str]
    superseded: frozenset[str] = frozenset()


def apply_outcome(tx: Connection, now: datetime, this: Operation, outcome: Outcome) -> Applied:
    """Apply an outcome (`Operations.record_outcome`) in the caller's transaction; the caller ends the operation."""
    succeeded = _succeed(tx, now, this, outcome.succeeded, again=done_again(now))
    settled = succeeded | _settle(tx, now, this, Event.ERROR, outcome.failed, notes=outcome.notes)
    settled |= _settle(tx, now, this, Event.TIMEOUT, outcome.unknown, notes=outcome.notes)
    _explain(tx, this, outcome.notes, settled & outcome.succeeded)
    _mark_relabelled(tx, this)
    superseded, contradicted = _left_over(tx, this, outcome, settled)
    summary = NewEvent(
        EventKind.OUTCOME,
        f"operation {this.op}: {len(outcome.succeeded)} succeeded, {len(outcome.failed)} failed, "
        f"{len(outcome.unknown)} unknown",
        this.group,
        data={"op": this.op, "phase": this.phase, "superseded": len(superseded)},
    )
    events = [
        summary,
        *_node_events(EventKind.SUPERSEDED, "a newer operation has it; not applied", this, outcome, superseded),
        *_node_events(EventKind.CONTRADICTION, "it was proven otherwise before", this, outcome, contradicted),
        *_node_events(EventKind.IGNORED, "it was not sent", this, outcome, outcome.ignored),
    ]
    write_events(tx, now, this.site, this.action_id, events)
    return Applied(succeeded, settled, superseded)


def apply_late_outcome(tx: Connection, now: datetime, this: Operation, outcome: Outcome, note: str) -> Applied:
    """Apply an outcome that is known late (`Operations.record_late_outcome`); the caller ends the operation."""
    succeeded = _succeed(tx, now, this, outcome.succeeded)
    _clear_errors(tx, this, succeeded)
    known = succeeded | _settle(tx, now, this, Event.ERROR, outcome.failed, notes=outcome.notes)
    _settle(tx, now, this, Event.TIMEOUT, outcome.unknown, notes=outcome.notes)
    _explain(tx, this, outcome.notes, known & outcome.succeeded)
    # Still unknown: the newest word says why.
    _explain(tx, this, outcome.notes, outcome.unknown, TaskStatus.UNKNOWN)
    _mark_relabelled(tx, this)
    events = _node_events(EventKind.LATE_RESULT, note or "learnt late", this, outcome, known)
    write_events(tx, now, this.site, this.action_id, events)
    return Applied(succeeded, known)


def _succeed(
    tx: Connection, now: datetime, this: Operation, nodes: Collection[str], again: str | None = None
) -> frozenset[str]:
    """Note what has succeeded; a node that was released can be prepared, as if nothing had been sent for it yet.

    Parameters
    ----------
    again : when what had to be repeated succeeded; None where something is merely learnt late.
    """
    if this.phase is not Phase.RELEASE:
        return _settle(tx, now, this, Event.END, nodes, again)
    if not nodes:
        return frozenset()
    return frozenset(
        tx.scalars(
            update(task)
            .where(TASKS.take(Event.END, this.op), among(task.c.node, nodes))
            .values(status=TaskStatus.PENDING, op=None, owner_group=None, error=None, started=None, ended=None)
            .returning(task.c.node)
        ).all()
    )


def _settle(
    tx: Connection,
    now: datetime,
    this: Operation,
    event: Event,
    nodes: Collection[str],
    again: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> frozenset[str]:
    """Apply what is told of these nodes where the operation is still the newest; return those that took it.

    Parameters
    ----------
    notes : the provisioner's word on nodes, which is kept with them.
    """
    if not nodes:
        return frozenset()
    given = {"this_op": this.op, "this_moment": now} | ({} if again is None else {"done_again": again})
    said = {name: notes[name] for name in sorted(nodes) if name in notes} if notes else {}
    silent = frozenset(nodes).difference(said)
    settled: set[str] = set()
    if silent:
        these = Chosen.of(this, silent)
        told = _told(event, again is not None, these.choice)
        settled.update(tx.scalars(told, given | these.parameters("chosen")).all())
    if said:
        told = _told(event, again is not None, None)
        settled.update(tx.scalars(told, given | pairs_values("said", said)).all())
    return frozenset(settled)


@cache
def _told(event: Event, again: bool, choice: Choice | None) -> ReturningUpdate[str]:
    """Have tasks of an operation say how they ended.

    Parameters
    ----------
    again : keep what had to be repeated.
    choice : which tasks; None: those that something is said of, which is kept with them.
    """
    fixed = task.c.fixed + AGAIN if again else None
    told = update(task).where(TASKS.take(event, THIS_OP)).values(status=_STATUS[event], ended=MOMENT, fixed=fixed)
    if choice is not None:
        return told.where(*chosen(choice, "chosen")).returning(task.c.node)
    word = pairs_parameters("said")
    return told.where(task.c.node == word.c.key).values(error=word.c.value).returning(task.c.node)


def _explain(
    tx: Connection,
    this: Operation,
    notes: Mapping[str, str],
    settled: frozenset[str],
    status: TaskStatus = TaskStatus.SUCCESS,
) -> None:
    """Keep the provisioner's word on each node that stands so."""
    said = {name: why for name, why in sorted(notes.items()) if name in settled}
    if said:
        word = pairs(said)
        explained = update(task).where(task.c.op == this.op, task.c.status == status, task.c.node == word.c.key)
        tx.execute(explained.values(error=word.c.value))


def _clear_errors(tx: Connection, this: Operation, nodes: frozenset[str]) -> None:
    """Forget why these nodes were unknown: they are no longer."""
    if nodes:
        tx.execute(update(task).where(task.c.op == this.op, among(task.c.node, nodes)).values(error=None))


def _mark_relabelled(tx: Connection, this: Operation) -> None:
    """Note with each node that has new labels that it is done in these, unless a later operation has the node.

    Where a person has asked for the node again, what is done keeps its version: labels do not end the wish (rule 37).
    """
    if this.phase is not Phase.RELABEL:
        return
    asked_again = node.c.touched > func.coalesce(node.c.done_version, 0)
    query = (
        select(
            node.c.name,
            node.c.done_digest,
            case((asked_again, node.c.done_version), else_=task.c.wanted_version).label("version"),
            task.c.digest,
            action.c.revision,
        )
        .select_from(task)
        .join(action, action.c.id == task.c.action_id)
        .join(node, and_(node.c.site == action.c.site, node.c.name == task.c.node, node.c.op == task.c.op))
        .where(
            task.c.op == this.op,
            task.c.status == TaskStatus.SUCCESS,
            task.c.digest.is_not(None),
            node.c.done_digest.is_not(None),
        )
    )
    for row in tx.execute(query).all():
        done = with_labels_of(row.done_digest, row.digest)
        # With the design's labels it is what the design of this revision makes, if nothing else differs.
        revision = {}
        if done == row.digest:
            revision = {"done_revision": row.revision, "done_version": row.version}
        tx.execute(
            update(node)
            .where(node.c.site == this.site, node.c.name == row.name, node.c.op == this.op)
            .values(done_digest=done, **revision)
        )


def _left_over(
    tx: Connection, this: Operation, outcome: Outcome, settled: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return which results were not applied: superseded ones, and those that contradict what is proven."""
    sent = outcome.succeeded | outcome.failed | outcome.unknown
    rest = sent - settled
    if not rest or not this.phase.is_of_nodes:
        return frozenset(), frozenset()
    held = select(task.c.node, task.c.status).where(task.c.op == this.op, among(task.c.node, rest))
    own: dict[str, str] = {row.node: row.status for row in tx.execute(held)}
    contradicted = {
        name
        for name, status in own.items()
        if (name in outcome.succeeded and status == TaskStatus.ERROR)
        or (name in outcome.failed and status == TaskStatus.SUCCESS)
    }
    return frozenset(rest - own.keys()), frozenset(contradicted)


def _node_events(
    kind: EventKind, why: str, this: Operation, outcome: Outcome, nodes: Collection[str]
) -> list[NewEvent]:
    """Return one event for each node, with the result that it is about."""
    events = []
    for name in sorted(nodes):
        if name in outcome.succeeded:
            word = "success"
        elif name in outcome.failed:
            word = "failure"
        else:
            word = "unknown"
        said = outcome.notes.get(name)
        message = f"{this.phase} {word}: {why}" + (f" ({said})" if said else "")
        events.append(NewEvent(kind, message, this.group, name, {"op": this.op, "result": word}))
    return events
