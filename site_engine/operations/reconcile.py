"""Reconcile the store with what provisioner tasks have come to: outcomes, late results, unfinished operations.

A node is never submitted while an earlier operation may still work on it (rules 14 and 24): it is waited for, and the
node is left out if that does not end in time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from provisioner_client.errors import ProvisionerError
from provisioner_client.protocol import ListedNode, Provisioner
from site_engine import log_messages
from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, SettingsError
from site_engine.kinds import STEP_WARNING
from site_engine.log_messages import TaskLog
from site_engine.monitoring.metrics import measure_operation
from site_engine.node_lists import read_list
from site_engine.operations.judging import outcome_of
from site_engine.operations.run import LOOK_AGAIN, OperationRun, is_leased
from site_engine.operations.wait import ONE_LOOK, EndKind, OperationEnd, PhaseTimes, StillRunning, last_in_flight
from site_store import GroupRecord, Operation, OperationStatus, SiteStore
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase

_FIND_AGAIN = 15.0


def list_nodes(
    store: SiteStore, provisioner: Provisioner, action_id: str, site: str, nodes: Collection[str]
) -> dict[str, ListedNode]:
    """Return what the node list says of these nodes now, and note it: afterwards only a change proves anything.

    Parameters
    ----------
    action_id, site : the action for which it is read, over that action's connection.
    """
    found = provisioner.nodes(nodes)
    if any(node.condition is NodeCondition.LISTED_TWICE for node in found.values()):
        # In which states it has these is said when they are judged: the list is kept.
        listed = read_list(store, site, store.actions.get(action_id).connection or "", provisioner)
        found = {name: listed[name] for name in nodes if name in listed}
    conditions = {name: node.condition.value for name, node in found.items()}
    store.nodes.record_conditions(site, conditions, missing=set(nodes).difference(found))
    return found


def note_conditions(store: SiteStore, operation: Operation, evidence: Evidence, settled: Collection[str] = ()) -> None:
    """Keep what the node list says now, for the next operation. Call it after the outcome is recorded.

    Parameters
    ----------
    settled : nodes that the list showed at work when the provisioner task was over: another may have left them so.
    """
    conditions = {name: said.value for name, said in evidence.condition.items()}
    if operation.phase in (Phase.DESTROY, Phase.RELEASE) and evidence.over and evidence.listed:
        # Destroying nodes takes them off the list; what it said of them before is not true any more.
        gone = set(operation.nodes).difference(conditions)
        conditions |= dict.fromkeys(gone, NodeCondition.OTHER.value)
    since = {name: said for name, said in conditions.items() if name in settled}
    if since:
        store.nodes.record_conditions(operation.site, since)
    left = {name: said for name, said in conditions.items() if name not in settled}
    store.nodes.record_conditions(operation.site, left, operation.op if evidence.over else None)


def record_end(store: SiteStore, op: int, end: OperationEnd, log: TaskLog, prefix: str = "") -> None:
    """Record what became of each node of an operation that was waited for, and log it.

    Parameters
    ----------
    prefix : begins the note about each node that failed or is unknown.
    """
    operation = store.operations.get(op)
    outcome = outcome_of(store, operation, end.evidence)
    if prefix:
        outcome = replace(outcome, notes={name: f"{prefix}{why}" for name, why in outcome.notes.items()})
    superseded = store.operations.record_outcome(op, outcome, status=end.status, result=end.result)
    measure_operation(store.operations.get(op))
    note_conditions(store, operation, end.evidence, operation.at_work)
    for line in log_messages.outcome(operation.phase, operation, end.kind.words, outcome, superseded):
        line.write(log)


def record_late_result(store: SiteStore, operation: Operation, end: OperationEnd, log: TaskLog) -> None:
    """Record the end of an operation that nobody waits for any more, without touching any verdict (rule 14).

    It is measured here where nobody has seen it end in time.
    """
    if operation.nodes:
        outcome = outcome_of(store, operation, end.evidence)
        known = store.operations.record_late_outcome(
            operation.op, outcome, f"seen late: provisioner task is {end.kind}"
        )
        was_over = operation.result == EndKind.AT_WORK
        at_work = store.operations.get(operation.op).at_work
        note_conditions(store, operation, end.evidence, operation.nodes if was_over else at_work)
        # It corrects what was recorded when nobody waited any more: somebody may have acted on that.
        say = log.warning if known and operation.ended is not None else log.info
        say(
            "Provisioner task %s is over after all; now known: %s.",
            operation.provisioner_task,
            log_messages.names(known),
        )
    else:
        store.operations.finish(operation.op, OperationStatus.COMPLETE, end.kind.value)
    if operation.ended is None:
        measure_operation(store.operations.get(operation.op))


def record_settled(store: SiteStore, operation: Operation, evidence: Evidence) -> None:
    """Record what is proven by now of nodes of an operation that is not over: the list shows others of it at work."""
    outcome = outcome_of(store, operation, evidence)
    open_nodes = store.tasks.unsettled(operation.op)
    succeeded, failed = outcome.succeeded & open_nodes, outcome.failed & open_nodes
    if succeeded or failed:
        known = replace(outcome, succeeded=succeeded, failed=failed, unknown=frozenset())
        store.operations.record_late_outcome(operation.op, known, "seen late", over=False)
        note_conditions(store, operation, evidence, operation.nodes)


def record_late_results(store: SiteStore, operations: OperationRun, action_id: str, log: TaskLog) -> None:
    """Look once at every provisioner task of an action that was not seen to be over, and record those that are.

    Raises `provisioner_client.errors.ProvisionerError`: the provisioner could not be asked.
    """
    site = store.actions.get(action_id).site
    for operation in store.operations.unfinished(site):
        if operation.action_id == action_id:
            end = await_unfinished(operations, operation, ONE_LOOK, operations.clock.now())
            if isinstance(end, OperationEnd):
                record_late_result(store, operation, end, log)


def await_unfinished(
    operations: OperationRun, operation: Operation, times: PhaseTimes, give_up: datetime
) -> OperationEnd | StillRunning | None:
    """Wait for an operation of an earlier action or attempt to be over, at most until ``give_up``.

    It is asked about over its own action's connection: another provisioner would say that the task is gone. Where the
    provisioner is told what to do piece by piece, nothing more of it is begun.

    Returns
    -------
    OperationEnd
        Its provisioner task is over or gone, and the list shows none of its nodes at work; or it was never submitted.
    StillRunning
        Defer, and come back.
    None
        It is still not over at ``give_up``.

    Where its task is over, and only the list shows nodes of it at work, what is proven of the others is recorded.
    """
    other = operations.elsewhere(operation.action_id)
    if other is not None:
        try:
            return await_unfinished(operations.at(other), operation, times, give_up)
        finally:
            other.close()
    store, clock = operations.store, operations.clock
    while operation.sending is not None and operation.provisioner_task is None and is_leased(operation, store.now()):
        # Its process is submitting it this very moment.
        clock.sleep(LOOK_AGAIN)
        operation = store.operations.get(operation.op)
    if operation.provisioner_task is None:
        found = _find_sent(operations, operation, give_up)
        if not isinstance(found, str):
            return found
        store.operations.mark_submitted(operation.op, found)
        operation = replace(operation, provisioner_task=found)
    watch = operations.watch(operation, times, give_up)
    end = watch.wait(operations.patience, operations.stopping)
    is_settling = end is EndKind.AT_WORK or (isinstance(end, StillRunning) and end.settling)
    if is_settling and watch.seen is not None:
        record_settled(operations.store, operation, watch.seen)
    if end in (EndKind.TIMED_OUT, EndKind.AT_WORK):
        return None
    return end if isinstance(end, StillRunning) else watch.end(end)


def _find_sent(operations: OperationRun, operation: Operation, give_up: datetime) -> str | OperationEnd | None:
    """Return the provisioner task of an operation that was sent, though nobody noted what came of it.

    An end when there is certainly none: it was never sent, or no request of it can take effect any more. None when
    that is still open at ``give_up``.
    """
    clock, provisioner = operations.clock, operations.provisioner
    while (last := last_in_flight(operation)) is not None:
        asked = operations.store.now()
        found = provisioner.find(operation.reference)
        if found is not None:
            return found.task_id
        remaining = last + timedelta(seconds=provisioner.settle) - asked
        if remaining <= timedelta(0):
            break
        if clock.now() >= give_up:
            return None
        clock.sleep(min(_FIND_AGAIN, remaining.total_seconds()))
    return OperationEnd(EndKind.GONE, None, Evidence(over=True))


@dataclass(frozen=True, slots=True)
class OperationOwner:
    """Who is about to submit nodes: an attempt of a group, or of a step on nodes (no group).

    Its own operations are not older; with ``attempt`` None it has not begun, and nothing is its own.
    """

    action_id: str
    site: str
    group: str | None
    attempt: int | None

    @classmethod
    def of_group(cls, record: GroupRecord, site: str) -> OperationOwner:
        """Return a group's present attempt; a group with a verdict is about to begin another."""
        return cls(record.action_id, site, record.name, None if record.is_judged else record.attempt)

    def owns(self, operation: Operation) -> bool:
        """Whether this attempt began the operation."""
        mine = (self.action_id, self.group, self.attempt)
        return (operation.action_id, operation.group, operation.attempt) == mine


class UnfinishedOperations:
    """Operations on a site that are not over yet, as one owner sees them: all but its own.

    Parameters
    ----------
    operations : who waits for them.
    times : how often they are looked at.
    """

    def __init__(self, operations: OperationRun, times: PhaseTimes) -> None:
        self.operations = operations
        self.store = operations.store
        self.log = operations.log
        self.times = times

    def look_once(self, owner: OperationOwner, nodes: Collection[str]) -> None:
        """Record what has ended meanwhile, without waiting for anything: a new attempt begins with what is true."""
        for operation in self._of(owner, nodes):
            try:
                end = await_unfinished(self.operations, operation, self.times, self.operations.clock.now())
            except (ConnectionLookupFailed, SettingsError) as error:
                self.log.warning("It is not known whether operation %s is over: %s", operation.op, error)
                continue
            except ProvisionerError as error:
                self.log.warning("It is not known whether operation %s is over: %s", operation.op, error)
                return
            if isinstance(end, OperationEnd):
                record_late_result(self.store, operation, end, self.log)

    def wait(
        self, owner: OperationOwner, phase: Phase, nodes: Collection[str], give_up: datetime
    ) -> frozenset[str] | StillRunning:
        """Wait until nobody else works on these nodes, at most until ``give_up``.

        What holds a node is kept with it, for the report and the description of the action. An operation whose action's
        connection is deleted, or cannot be used, holds its nodes: nobody can tell whether it is over.

        Parameters
        ----------
        phase : what the nodes are to be submitted for.

        Returns
        -------
        frozenset
            The nodes that are still worked on then; they are not to be submitted.
        StillRunning
            Defer, and come back.

        Raises
        ------
        ConnectionLookupFailed : it is not known whether the connection of an older action exists: try again.
        """
        held: set[str] = set()
        for operation in self._of(owner, nodes):
            self.log.info(log_messages.older_operation(operation))
            mine = self._held(operation, nodes)
            # What is held by now stays so, with its reason, whatever becomes of this one.
            free = mine - held
            self._explain(owner, phase, free, log_messages.held(operation))
            unreachable = ""
            try:
                end = await_unfinished(self.operations, operation, self.times, give_up)
            except (ConnectionMissing, SettingsError) as error:
                end, unreachable = None, str(error)
            # It may have been found, or seen to run, only now.
            operation = self.store.operations.get(operation.op)
            if isinstance(end, OperationEnd):
                self._explain(owner, phase, free, None)
                record_late_result(self.store, operation, end, self.log)
                continue
            still = self._held(operation, mine)
            self._explain(owner, phase, free - still, None)
            if not still:
                continue
            why = log_messages.held(operation, unreachable)
            self._explain(owner, phase, free & still, why)
            mine = still
            if isinstance(end, StillRunning):
                return end
            held |= mine
            self._report_left_out(owner, phase, operation, mine, why)
        return frozenset(held)

    def warn(self, owner: OperationOwner, nodes: Collection[str]) -> None:
        """Say which nodes are submitted although an older task may hold them, because the action forces it."""
        for operation in self._of(owner, nodes):
            self.log.warning(
                "Provisioner task %s may still work on %s; submitting them all the same: the action forces it.",
                operation.provisioner_task,
                log_messages.names(self._held(operation, nodes)),
            )

    def _explain(self, owner: OperationOwner, phase: Phase, nodes: Collection[str], why: str | None) -> None:
        if nodes:
            self.store.tasks.explain_pending(owner.action_id, phase, nodes, why)

    def _report_left_out(
        self, owner: OperationOwner, phase: Phase, operation: Operation, nodes: Collection[str], why: str
    ) -> None:
        message = log_messages.left_out(phase, nodes, why)
        self.log.warning("%s.", message)
        data = {"phase": phase.value, "provisioner_task": operation.provisioner_task}
        self.store.events.add(
            owner.site, STEP_WARNING, message, action_id=owner.action_id, group=owner.group, data=data
        )

    def _of(self, owner: OperationOwner, nodes: Collection[str]) -> list[Operation]:
        """Return operations that may still work on these nodes, but the owner's own.

        Those that a group beside this one waits for are that group's to see to their end (rule 11).
        """
        others = (
            one
            for one in self.store.operations.unfinished(owner.site, nodes)
            if not owner.owns(one) and not _is_of_group_beside(owner, one)
        )
        return [one for one in others if self._held(one, nodes)]

    def _held(self, operation: Operation, nodes: Collection[str]) -> set[str]:
        """Return those of the nodes that an operation holds: where its task is over, only what is not settled yet."""
        mine = set(operation.nodes).intersection(nodes)
        return mine & self.store.tasks.unsettled(operation.op) if operation.at_work else mine


def _is_of_group_beside(owner: OperationOwner, operation: Operation) -> bool:
    beside = operation.group not in (None, owner.group) and owner.group is not None
    return beside and operation.action_id == owner.action_id and operation.status is OperationStatus.SUBMITTED
