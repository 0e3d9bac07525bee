"""Beginning an operation: its intent and its claim on nodes, in one transaction (rules 11 and 12)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, and_, case, exists, func, literal, null, select, true, update

from site_store.nodes.node_status import planned_version, provisioner_owner
from site_store.nodes.site_views import read_version
from site_store.nodes.user_states import left_out_nodes
from site_store.operations.operation_rows import require_attempt, require_site
from site_store.operations.tasks import explain_pending, withhold
from site_store.records import OperationStatus
from site_store.sql import postgresql
from site_store.sql.errors import StoreError
from site_store.sql.home import require_own
from site_store.sql.postgresql import pairs
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, node, operation, task
from site_store.tables.if_newest import NODES
from strategy_lib.node import TaskStatus
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.publication import Version
from strategy_lib.phase import GROUP_PHASES, Phase
from strategy_lib.status.words import Status

_TO_DO = (TaskStatus.PENDING, TaskStatus.ERROR, TaskStatus.UNKNOWN)
_NOT_DONE = {"done_revision": None, "done_digest": None, "done_version": None, "done_at": None, "doubt": None}

#: What a task that is begun again had failed by: the first part of what `fixed` says once it succeeds.
to_be_fixed = case(
    (task.c.status.in_((TaskStatus.ERROR, TaskStatus.UNKNOWN)), func.coalesce(task.c.error, task.c.status)),
    (task.c.status == TaskStatus.PENDING, task.c.fixed),
)


class SiteStateChanged(StoreError):
    """A newer version of the states of the site's nodes was published since this was planned: plan again by that one.

    Attributes
    ----------
    newest : that version.
    """

    def __init__(self, message: str, newest: Version) -> None:
        super().__init__(message)
        self.newest = newest


def reference_of(incarnation: str, action_id: str, op: int) -> str:
    """Return the text that travels to the provisioner and back, by which a task is found again.

    Numbers of operations are given again after a restore: the incarnation tells those of two stores apart (rule 61).
    """
    return f"slipway-{incarnation}-{action_id}-{op}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What an operation is to be begun for, and the nodes that it is to have.

    Attributes
    ----------
    action_id, site : the action, which must hold this site.
    group, attempt : the group and its attempt, which must be open; None and any number for a step without a group.
    phase : what to do.
    nodes : nodes to claim. For prepare only those are taken whose prepare is still pending; for deploy those that
        are prepared and whose deploy is still pending, whichever group prepared them (rule 11); for ready those
        that are deployed and still to be asked, whichever group deployed them (rule 58); for release the same as
        for prepare, and those that are released become pending again; for a step of nodes those that an
        earlier attempt of it has not done, and is not at. None for a step of the whole site.
    design_ref : where the provisioner finds the design.
    found : what the provisioner says of these nodes now (`strategy_lib.outcome.NodeCondition`); one that it does
        not list is left out, and noted as not listed. None: its list was not read. A node that is deployed keeps
        what it is done in until something proves otherwise.
    digests : for new labels: the version of each node's design that has them. For a deploy the action's plan has it.
    number : its round: a group's attempt may have several operations of a phase (`Operation.round`).
    due : nodes that were to be claimed; those that are not are kept as `left_out`.
    again : of the nodes, those that failed before in this attempt: they are tried once more (rule 44).
    site_state : the version of the states of the site's nodes that it was planned with; None: whichever it was.
    """

    action_id: str
    site: str
    group: str | None
    attempt: int
    phase: Phase
    nodes: Collection[str]
    design_ref: str
    found: Mapping[str, str] | None = None
    digests: Mapping[str, str] | None = None
    number: int = 0
    due: Collection[str] = ()
    again: Collection[str] = ()
    site_state: Version | None = None


def claim(tx: Connection, now: datetime, asked: Claim) -> int:
    """Carry out `Operations.begin` in the caller's transaction; return the operation's number."""
    action_id, site, group, phase, found = asked.action_id, asked.site, asked.group, asked.phase, asked.found
    nodes = sorted(frozenset(asked.nodes))
    key = {"action_id": action_id, "group_name": group, "attempt": asked.attempt, "phase": phase, "round": asked.number}
    same = select(operation.c.op).where(*(operation.c[column] == value for column, value in key.items()))
    known: int | None = tx.scalar(same)
    if known is not None:
        return known
    incarnation = require_own(tx, site)
    require_site(tx, action_id, site)
    if group is not None:
        require_attempt(tx, action_id, group, asked.attempt)
    if asked.site_state is not None:
        _require_newest(tx, site, asked.site_state)
    op: int | None = tx.scalar(
        postgresql.insert(operation)
        .values(**key, site=site, nodes=[], design_ref=asked.design_ref, created=now, status=OperationStatus.INTENDED)
        .on_conflict_do_nothing()
        .returning(operation.c.op)
    )
    if op is None:
        # Another began it since the look above; its commit is what this insert has waited for.
        return int(tx.execute(same).scalar_one())
    claimed = nodes
    if phase.is_node_step:
        left = _left_out(tx, now, action_id, site, nodes)
        claimed = _claim_for_step(tx, now, action_id, phase, op, [name for name in nodes if name not in left])
        _note_found(tx, op, claimed, found)
        explain_pending(tx, action_id, phase, left)
    elif phase.is_of_nodes:
        if asked.again:
            _try_again(tx, now, asked, sorted(frozenset(asked.again).intersection(nodes)))
        # A node that is asked whether it is ready was prepared and deployed.
        phases = (Phase.READY,) if phase is Phase.READY else GROUP_PHASES
        withhold(tx, now, action_id, phases, _left_out(tx, now, action_id, site, nodes))
        claimed = _claim(tx, now, asked, op, nodes)
    if phase.is_of_nodes:
        digests = asked.digests or {}
        _note_digests(tx, op, {name: digests[name] for name in claimed if name in digests})
        if phase.is_node_step:
            wanted = planned_version(site, task.c.node, task.c.digest)
            tx.execute(update(task).where(task.c.op == op).values(wanted_version=wanted))
        # Neither new labels, nor questions, nor the phases change what is deployed on a node; only to destroy it does.
        kept = frozenset(name for name in claimed if _stays(phase, (found or {}).get(name)))
        owner = provisioner_owner(tx.scalar(select(action.c.connection).where(action.c.id == action_id)))
        _touch_nodes(tx, now, site, op, owner, sorted(kept), {})
        undone = _removal() if phase is Phase.DESTROY else _NOT_DONE
        _touch_nodes(tx, now, site, op, owner, [name for name in claimed if name not in kept], undone)
    left_out = sorted(frozenset(asked.due).difference(claimed)) or None
    values: dict[str, Any] = {
        "reference": reference_of(incarnation, action_id, op),
        "nodes": claimed,
        "left_out": left_out,
    }
    if phase.is_of_nodes and not claimed:
        values |= {"status": OperationStatus.COMPLETE, "ended": now, "over": now, "result": "nothing to do"}
    tx.execute(update(operation).where(operation.c.op == op).values(values))
    begun = NewEvent(
        EventKind.OPERATION_BEGUN,
        f"operation {op}: {phase}" + (f" of {len(claimed)} nodes" if phase.is_of_nodes else ""),
        group,
        data={"op": op, "phase": phase, "attempt": asked.attempt, "round": asked.number}
        | ({} if asked.site_state is None else {"site_state": str(asked.site_state)}),
    )
    write_events(tx, now, site, action_id, [begun])
    return op


def _require_newest(tx: Connection, site: str, planned_with: Version) -> None:
    """Refuse a claim that was planned with an older version of the states of nodes; nobody publishes meanwhile."""
    newest = read_version(tx, site, lock=True)
    if newest.replaces(planned_with):
        raise SiteStateChanged(
            f"version {newest} of the states of the nodes of site {site} was published since this was planned with "
            f"{planned_with}: plan again",
            newest,
        )


def _left_out(tx: Connection, now: datetime, action_id: str, site: str, nodes: list[str]) -> dict[str, str]:
    """Return nodes that an administrator has taken out of use, whatever the caller believed (rules 51 and 54)."""
    kind: str = tx.scalars(select(action.c.kind).where(action.c.id == action_id)).one()
    return left_out_nodes(tx, now, site, kind, nodes)


def _claim(tx: Connection, now: datetime, asked: Claim, op: int, nodes: list[str]) -> list[str]:
    """Take the nodes that are still eligible at this moment, and return them by name.

    A release has the nodes' prepare: nobody may prepare them meanwhile, and one that fails or is lost decides it.
    What the provisioner said of each before this operation is kept with it, in the same statement.
    """
    action_id, phase, found = asked.action_id, asked.phase, asked.found
    before = task.alias("before")
    comes_after = {Phase.DEPLOY: Phase.PREPARE, Phase.READY: Phase.DEPLOY}.get(phase)
    eligible = [
        task.c.action_id == action_id,
        task.c.phase == (Phase.PREPARE if phase is Phase.RELEASE else phase),
        task.c.status == TaskStatus.PENDING,
    ]
    condition: Any = None
    if found is None or not nodes:
        eligible.append(postgresql.among(task.c.node, nodes))
    else:
        word = pairs({name: _condition_of(name, found) for name in nodes})
        eligible.append(task.c.node == word.c.key)
        condition = word.c.value
    if comes_after is not None:
        eligible.append(
            exists().where(
                and_(
                    before.c.action_id == action_id,
                    before.c.node == task.c.node,
                    before.c.phase == comes_after,
                    before.c.status == TaskStatus.SUCCESS,
                )
            )
        )
    claimed = tx.scalars(
        update(task)
        .where(*eligible)
        .values(op=op, owner_group=asked.group, status=TaskStatus.PROCESSING, found=condition)
        .values(started=now, ended=None, error=None, held=None)
        .returning(task.c.node)
    ).all()
    return sorted(claimed)


def _try_again(tx: Connection, now: datetime, asked: Claim, nodes: list[str]) -> None:
    """Have nodes that failed wait for their phase again, each with one try more; what came of them is kept (rule 44).

    A node that failed to be deployed is prepared again first.
    """
    these = (task.c.action_id == asked.action_id, postgresql.among(task.c.node, nodes))
    failed = tx.execute(
        select(task.c.node, task.c.phase, task.c.op, task.c.error, task.c.tries).where(
            *these, task.c.phase.in_(GROUP_PHASES), task.c.status == TaskStatus.ERROR
        )
    ).all()
    fresh = {"status": TaskStatus.PENDING, "op": None, "owner_group": None, "error": None}
    fresh |= {"started": None, "ended": None, "found": None}
    tx.execute(
        update(task)
        .where(*these, task.c.phase.in_(GROUP_PHASES), task.c.status == TaskStatus.ERROR)
        .values(**fresh, tries=task.c.tries + 1, fixed=to_be_fixed)
    )
    tx.execute(
        update(task)
        .where(*these, task.c.phase == Phase.PREPARE, task.c.status == TaskStatus.SUCCESS)
        .values(**fresh, tries=task.c.tries + 1)
    )
    events = [
        NewEvent(
            EventKind.EARLIER_RESULT,
            f"try {row.tries} of {row.phase} failed: {row.error or 'no reason is known'}",
            asked.group,
            row.node,
            {"phase": row.phase, "op": row.op, "try": row.tries, "error": row.error},
        )
        for row in failed
    ]
    write_events(tx, now, asked.site, asked.action_id, events)


def _claim_for_step(
    tx: Connection, now: datetime, action_id: str, phase: Phase, op: int, nodes: list[str]
) -> list[str]:
    """Take these nodes, except those that the step has done or is at, and return them by name."""
    wanted = postgresql.names(nodes).subquery()
    facts = {
        "op": literal(op, task.c.op.type),
        "status": literal(str(TaskStatus.PROCESSING)),
        "started": literal(now),
        "owner": literal(provisioner_owner(tx.scalar(select(action.c.connection).where(action.c.id == action_id)))),
    }
    rows = postgresql.insert(task).from_select(
        ["action_id", "node", "phase", *facts],
        select(literal(action_id, Text()), wanted.c.value, literal(str(phase), Text()), *facts.values()).where(true()),
    )
    claimed = tx.scalars(
        rows.on_conflict_do_update(
            index_elements=["action_id", "node", "phase"],
            set_={name: rows.excluded[name] for name in facts}
            | {"ended": None, "error": None, "found": None, "fixed": to_be_fixed},
            where=task.c.status.in_(_TO_DO),
        ).returning(task.c.node)
    ).all()
    return sorted(claimed)


def _stays(phase: Phase, found: str | None) -> bool:
    """Whether an operation leaves what is deployed on a node as it is."""
    if phase in (Phase.DESTROY, Phase.RELEASE):
        return False
    return phase in (Phase.RELABEL, Phase.READY) or found == NodeCondition.DEPLOYED


def _condition_of(name: str, found: Mapping[str, str]) -> str:
    return str(found.get(name, NodeCondition.NOT_LISTED))


def _note_found(tx: Connection, op: int, claimed: list[str], found: Mapping[str, str] | None) -> None:
    """Keep with each node what the provisioner said of it before this operation; nothing if it was not asked."""
    if found is not None:
        word = pairs({name: _condition_of(name, found) for name in claimed})
        tx.execute(update(task).where(task.c.op == op, task.c.node == word.c.key).values(found=word.c.value))


def _note_digests(tx: Connection, op: int, digests: Mapping[str, str]) -> None:
    """Keep with each node the version that this operation is to bring about."""
    if digests:
        version = pairs(digests)
        noted = update(task).where(task.c.op == op, task.c.node == version.c.key)
        tx.execute(noted.values(digest=version.c.value))


def _removal() -> dict[str, Any]:
    """Return what a destruction makes of what a node is done in: nothing, where the node is wanted.

    One that left the design keeps it until it is proven destroyed: by that it is still to be removed, and is found in
    the design that has it. Should it be wanted again meanwhile, nobody relies on it.
    """
    wanted = node.c.wanted_digest.is_not(None)
    kept = {fact: case((wanted, null()), else_=node.c[fact]) for fact in _NOT_DONE if fact != "doubt"}
    doubted = and_(~wanted, node.c.done_digest.is_not(None))
    return {**kept, "doubt": case((doubted, literal("its removal was begun")), else_=null())}


def _touch_nodes(
    tx: Connection, now: datetime, site: str, op: int, owner: str, nodes: list[str], done: Mapping[str, Any]
) -> None:
    """Make this the newest operation of its nodes.

    Parameters
    ----------
    done : what becomes of what they are done in: `_NOT_DONE` in no version from now on; nothing: it stays.
    """
    if not nodes:
        return
    rows = postgresql.names(nodes).subquery()
    facts = {
        "op": literal(op, node.c.op.type),
        "status": literal(str(Status.PROCESSING), node.c.status.type),
        "owner": literal(owner, node.c.owner.type),
        "first_updated": literal(now, node.c.first_updated.type),
        "last_updated": literal(now, node.c.last_updated.type),
    }
    touched = postgresql.insert(node).from_select(
        ["site", "name", *facts], select(literal(site), rows.c.value, *facts.values()).where(true())
    )
    new: dict[str, Any] = {fact: touched.excluded[fact] for fact in facts}
    new["first_updated"] = func.coalesce(node.c.first_updated, touched.excluded.first_updated)
    tx.execute(
        touched.on_conflict_do_update(
            index_elements=["site", "name"],
            set_={**new, "left_as": None, "version": node.c.version + 1, **done},
            where=NODES.start(touched.excluded.op),
        )
    )
