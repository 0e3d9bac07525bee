"""Beginning an operation: its intent and its claim on nodes, in one transaction (rules 11 and 12)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, literal, or_, select, true, update

from site_store import dialects
from site_store.errors import AttemptNotOpen, SiteNotHeld
from site_store.events import EventKind, NewEvent, write_events
from site_store.node_steps import claim_for_step
from site_store.operations import operation_record, read_operation, reference_of
from site_store.part import StorePart
from site_store.records import Operation, OperationStatus
from site_store.tables import group_run, node, operation, site_lock, task
from strategy_lib.node import TaskStatus
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import GroupState, Phase

_NOT_DONE = {"done_revision": None, "done_digest": None, "done_at": None, "doubt": None}


class Claims(StorePart):
    """The beginning of operations."""

    def begin_operation(
        self,
        action_id: str,
        site: str,
        group: str,
        attempt: int,
        phase: Phase,
        nodes: Collection[str],
        design_ref: str,
        found: Mapping[str, str] | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> Operation:
        """Write down the intent to submit something to the provisioner, and claim the nodes for it.

        Asked again for the same action, group, attempt and phase, it returns the operation that there is, whatever
        the other arguments. Of two that ask for one node at the same time, in whatever groups, exactly one gets it.

        Parameters
        ----------
        action_id, site
            The action, which must hold this site.
        group, attempt
            The group and its attempt, which must be open; "" and any number for a step without a group.
        phase
            What to do.
        nodes
            Nodes to claim. For prepare only those are taken whose prepare is still pending; for deploy those that are
            prepared and whose deploy is still pending, whichever group prepared them (rule 11); for release the same as
            for prepare, and those that are released become pending again; for a step of nodes
            those that an earlier attempt of it has not done, and is not at. None for a step of the whole site.
        design_ref
            Where the provisioner finds the design.
        found
            What the provisioner says of these nodes now (`strategy_lib.outcome.NodeCondition`); one that it does not
            list is left out, and noted as not listed. None: its list was not read. A node that is deployed keeps what
            it is done in until something proves otherwise.
        digests
            For new labels: the version of each node's design that has them. For a deploy the action's plan has it.

        Returns
        -------
        Operation
            `nodes` are those that were claimed. When it is of nodes and could claim none it is `COMPLETE` at once and
            must not be submitted.

        Raises
        ------
        SiteNotHeld
            The action does not hold the site.
        AttemptNotOpen
            The group's attempt has its verdict or was replaced.
        """
        wanted = sorted(frozenset(nodes))
        return self._database.write(
            lambda tx: self._begin(tx, action_id, site, group, attempt, phase, wanted, design_ref, found, digests or {})
        )

    def fail_unsent(
        self, action_id: str, site: str, group: str, attempt: int, reasons: Mapping[str, str]
    ) -> frozenset[str]:
        """Fail nodes that cannot be sent for prepare as they are, each for its reason (rule 11).

        Parameters
        ----------
        action_id, site, group, attempt
            Who has come to that, as for `begin_operation`.
        reasons
            Why, for each node.

        Returns
        -------
        frozenset of str
            Those whose prepare was still pending, and so has failed now.

        Raises
        ------
        SiteNotHeld
            The action does not hold the site.
        AttemptNotOpen
            The group's attempt has its verdict or was replaced.
        """

        def work(tx: Connection) -> frozenset[str]:
            _require_site(tx, action_id, site)
            _require_attempt(tx, action_id, group, attempt)
            now = self._now()
            prepare = (task.c.action_id == action_id, task.c.phase == Phase.PREPARE)
            failed = frozenset(
                tx.scalars(
                    update(task)
                    .where(*prepare, task.c.status == TaskStatus.PENDING, dialects.among(tx, task.c.node, reasons))
                    .values(status=TaskStatus.ERROR, owner_group=group, ended=now)
                    .returning(task.c.node)
                )
            )
            if failed:
                tx.execute(
                    update(task).where(*prepare, task.c.node == bindparam("the_node")).values(error=bindparam("why")),
                    [{"the_node": name, "why": reasons[name]} for name in sorted(failed)],
                )
            events = [
                NewEvent(EventKind.OUTCOME, f"prepare failure: not sent: {reasons[name]}", group, name)
                for name in sorted(failed)
            ]
            write_events(tx, now, site, action_id, events)
            return failed

        return self._database.write(work)

    def _begin(
        self,
        tx: Connection,
        action_id: str,
        site: str,
        group: str,
        attempt: int,
        phase: Phase,
        nodes: list[str],
        design_ref: str,
        found: Mapping[str, str] | None,
        digests: Mapping[str, str],
    ) -> Operation:
        key = {"action_id": action_id, "group_name": group, "attempt": attempt, "phase": phase}
        same = select(operation).where(*(operation.c[column] == value for column, value in key.items()))
        known = tx.execute(same).one_or_none()
        if known is not None:
            return operation_record(known)
        _require_site(tx, action_id, site)
        if group:
            _require_attempt(tx, action_id, group, attempt)
        now = self._now()
        op = tx.scalar(
            dialects.insert(tx, operation)
            .values(**key, site=site, nodes=[], design_ref=design_ref, created=now, status=OperationStatus.INTENDED)
            .on_conflict_do_nothing()
            .returning(operation.c.op)
        )
        if op is None:
            # Another began it since the look above; its commit is what this insert has waited for.
            return operation_record(tx.execute(same).one())
        claimed = nodes
        if phase.is_node_step:
            claimed = claim_for_step(tx, now, action_id, phase, op, nodes)
        elif phase.is_of_nodes:
            claimed = _claim(tx, now, action_id, group, phase, op, nodes)
        if phase.is_of_nodes:
            _note_found(tx, op, claimed, found)
            _note_digests(tx, op, {name: digests[name] for name in claimed if name in digests})
            # Neither new labels nor the phases change what is deployed on a node; only to destroy it does.
            kept = frozenset(name for name in claimed if _stays(phase, (found or {}).get(name)))
            _touch_nodes(tx, site, op, sorted(kept), undone=False)
            _touch_nodes(tx, site, op, [name for name in claimed if name not in kept], undone=True)
        values: dict[str, Any] = {"reference": reference_of(action_id, op), "nodes": claimed}
        if phase.is_of_nodes and not claimed:
            values |= {"status": OperationStatus.COMPLETE, "ended": now, "over": now, "result": "nothing to do"}
        tx.execute(update(operation).where(operation.c.op == op).values(values))
        begun = NewEvent(
            EventKind.OPERATION_BEGUN,
            f"operation {op}: {phase}" + (f" of {len(claimed)} nodes" if phase.is_of_nodes else ""),
            group or None,
            data={"op": op, "phase": phase, "attempt": attempt},
        )
        write_events(tx, now, site, action_id, [begun])
        return read_operation(tx, op)


def _require_site(tx: Connection, action_id: str, site: str) -> None:
    """Make sure that the action holds its site, and keep it so until the transaction ends."""
    held = select(site_lock.c.site).where(site_lock.c.site == site, site_lock.c.action_id == action_id)
    if tx.execute(held.with_for_update(read=True)).one_or_none() is None:
        raise SiteNotHeld(
            f"action {action_id} does not hold site {site!r}, so it may start nothing there: acquire the site first"
        )


def _require_attempt(tx: Connection, action_id: str, group: str, attempt: int) -> None:
    """Make sure that this attempt is the one at work, and keep it so until the transaction ends."""
    is_open = select(group_run.c.name).where(
        group_run.c.action_id == action_id,
        group_run.c.name == group,
        group_run.c.attempt == attempt,
        group_run.c.state == GroupState.RUNNING,
    )
    if tx.execute(is_open.with_for_update(read=True)).one_or_none() is None:
        raise AttemptNotOpen(
            f"attempt {attempt} of group {group!r} is over or was replaced: open the group's attempt first"
        )


def _claim(
    tx: Connection, now: datetime, action_id: str, group: str, phase: Phase, op: int, nodes: list[str]
) -> list[str]:
    """Take the nodes that are still eligible at this moment, and return them by name.

    A release has the nodes' prepare: nobody may prepare them meanwhile, and one that fails or is lost decides it.
    """
    prepared = task.alias("prepared")
    eligible = [
        task.c.action_id == action_id,
        task.c.phase == (Phase.PREPARE if phase is Phase.RELEASE else phase),
        task.c.status == TaskStatus.PENDING,
        dialects.among(tx, task.c.node, nodes),
    ]
    if phase is Phase.DEPLOY:
        eligible.append(
            exists().where(
                and_(
                    prepared.c.action_id == action_id,
                    prepared.c.node == task.c.node,
                    prepared.c.phase == Phase.PREPARE,
                    prepared.c.status == TaskStatus.SUCCESS,
                )
            )
        )
    claimed = tx.scalars(
        update(task)
        .where(*eligible)
        .values(op=op, owner_group=group, status=TaskStatus.PROCESSING, started=now, ended=None, error=None)
        .returning(task.c.node)
    )
    return sorted(claimed)


def _stays(phase: Phase, found: str | None) -> bool:
    """Whether an operation leaves what is deployed on a node as it is."""
    if phase in (Phase.DESTROY, Phase.RELEASE):
        return False
    return phase is Phase.RELABEL or found == NodeCondition.DEPLOYED


def _note_found(tx: Connection, op: int, claimed: list[str], found: Mapping[str, str] | None) -> None:
    """Keep with each node what the provisioner said of it before this operation; nothing if it was not asked."""
    by_condition: dict[str, list[str]] = {}
    if found is not None:
        for name in claimed:
            by_condition.setdefault(str(found.get(name, NodeCondition.NOT_LISTED)), []).append(name)
    tx.execute(update(task).where(task.c.op == op).values(found=None))
    for condition, nodes in by_condition.items():
        tx.execute(update(task).where(task.c.op == op, dialects.among(tx, task.c.node, nodes)).values(found=condition))


def _note_digests(tx: Connection, op: int, digests: Mapping[str, str]) -> None:
    """Keep with each node the version that this operation is to bring about."""
    rows = [{"the_node": name, "the_digest": digest} for name, digest in digests.items()]
    if rows:
        noted = update(task).where(task.c.op == op, task.c.node == bindparam("the_node"))
        tx.execute(noted.values(digest=bindparam("the_digest")), rows)


def _touch_nodes(tx: Connection, site: str, op: int, nodes: list[str], *, undone: bool) -> None:
    """Make this the newest operation of its nodes; when `undone`, they count as done in no version from now on."""
    rows = dialects.names(tx, nodes).subquery()
    touched = dialects.insert(tx, node).from_select(
        ["site", "name", "op"], select(literal(site), rows.c.value, literal(op, node.c.op.type)).where(true())
    )
    tx.execute(
        touched.on_conflict_do_update(
            index_elements=["site", "name"],
            set_={"op": touched.excluded.op, "left_as": None, **(_NOT_DONE if undone else {})},
            where=or_(node.c.op.is_(None), node.c.op < touched.excluded.op),
        )
    )
