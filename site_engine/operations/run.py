"""Carry out one stored operation at the provisioner: submit it exactly once, and see it to its end or its timeout.

Knows nothing of groups and criteria. Safe to start again at any point, in any process: the intent is in the store
before anything is sent, the right to submit is a lease, and a task that was submitted is found again by its reference.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerUnavailable,
    SubmissionRefused,
    TaskNotFound,
)
from provisioner_client.protocol import TaskAction, TaskState
from site_engine.operations.death_watch import WHILE_HELD, WHILE_OWN, DeathWatch
from site_engine.operations.lease import LEASE_SECONDS, renewed
from site_engine.operations.polling import PhaseTimes, intervals
from site_engine.stopping import Stopping
from site_store import OperationPhase, OperationStatus, SiteNotHeld
from strategy_lib.outcome import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from provisioner_client.protocol import Provisioner, ProvisionerTask
    from site_engine.clock import Clock
    from site_engine.task_log import TaskLog
    from site_store import Operation, SiteStore

_NEWS_EVERY = 60.0

ACTIONS = {
    OperationPhase.VERIFY_SITE: TaskAction.VERIFY_SITE,
    OperationPhase.PREPARE_SITE: TaskAction.PREPARE_SITE,
    OperationPhase.PREPARE: TaskAction.PREPARE_NODES,
    OperationPhase.DEPLOY: TaskAction.DEPLOY_NODES,
    OperationPhase.RELEASE: TaskAction.DESTROY_NODES,
    OperationPhase.DESTROY: TaskAction.DESTROY_NODES,
    OperationPhase.RELABEL: TaskAction.RELABEL_NODES,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """The provisioner's task is over, gone, or out of time; ``evidence`` is what can be proven about its nodes.

    ``how`` is ``complete``, ``timed_out``, ``gone``, ``dead`` (the provisioner was killed under it), or ``refused``
    (never submitted, ``refusal`` says why). ``task`` is None when the provisioner does not know it.
    """

    how: str
    task: ProvisionerTask | None
    evidence: Evidence
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class StillRunning:
    """The provisioner's task goes on longer than this process should wait: defer, and come back.

    ``times`` are those of the phase; ``give_up``, if set, is the moment to come back whatever the task does.
    """

    op: int
    provisioner_task: str
    times: PhaseTimes
    give_up: datetime | None = None


def status_of(ended: Ended) -> OperationStatus:
    """Return the stored status of an operation that ended this way: a task that is gone will not do anything more."""
    return OperationStatus.TIMED_OUT if ended.how == "timed_out" else OperationStatus.COMPLETE


def _refusal(operation: Operation, message: str) -> Evidence:
    return Evidence(
        over=True,
        reported_failure=frozenset(operation.nodes),
        messages=dict.fromkeys(operation.nodes, message),
    )


def _leased(operation: Operation, now: datetime) -> bool:
    return operation.lease_until is not None and operation.lease_until > now


def _last_in_flight(operation: Operation) -> datetime | None:
    """Return when a request of an operation was in flight at the latest, None when none ever was sent.

    Its sender renewed the lease for as long as it waited for the answer.
    """
    if operation.sending is None:
        return None
    return max(operation.sending, operation.lease_until or operation.sending)


def process_identity() -> str:
    """Return a name of this process for leases: host, process id, and a random part (process ids are reused)."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


class OperationRun:
    """Carries out operations of one store at one provisioner.

    Parameters
    ----------
    store, provisioner, clock
        Where the operation is kept, who does it, and time.
    patience : float
        Seconds to poll in this process before :class:`StillRunning` is returned.
    log : TaskLog
        The task's log; its lines are read by operators.
    stopping : Stopping, optional
        Knows whether this process was told to stop: then it submits nothing more, and waits for nothing.
    elsewhere : callable, optional
        Given an action's id, it returns a new client where this one is not right for that action: it uses another
        connection, or its design has other secrets. Else None.
    """

    def __init__(
        self,
        store: SiteStore,
        provisioner: Provisioner,
        clock: Clock,
        patience: float,
        log: TaskLog,
        stopping: Stopping | None = None,
        elsewhere: Callable[[str], Provisioner | None] = lambda _: None,
    ) -> None:
        self.store = store
        self.provisioner = provisioner
        self.clock = clock
        self.patience = patience
        self.log = log
        self.owner = process_identity()
        self.stopping = stopping or Stopping()
        self.elsewhere = elsewhere

    def carry_out(self, operation: Operation, times: PhaseTimes) -> Ended | StillRunning:
        """Submit the operation unless that was done, wait for its end, and gather what can be proven (rules 12-14).

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            The submission could not be made or its fate could not be learnt; starting again is safe.
        TaskStopped
            This process was told to stop.
        """
        if operation.provisioner_task is None:
            try:
                operation = self._submit(operation)
            except SubmissionRefused as error:
                # Certainly not taken, and never will be: these nodes have failed.
                self.log.error("The provisioner refuses: %s", error)
                return Ended("refused", None, _refusal(operation, str(error)), str(error))
        else:
            self.log.info(
                "Re-joining provisioner task %s (%s), submitted earlier.", operation.provisioner_task, operation.phase
            )
        return self._wait(operation, times)

    def await_older(self, operation: Operation, times: PhaseTimes, give_up: datetime) -> Ended | StillRunning | None:
        """Wait for an operation of an earlier action or attempt to be over, at most until ``give_up``.

        It is asked about over its own action's connection: another provisioner would say that the task is gone.

        Returns
        -------
        Ended
            Its provisioner task is over or gone, or it was never submitted.
        StillRunning
            Defer, and come back.
        None
            It is still not over at ``give_up``.
        """
        other = self.elsewhere(operation.action_id)
        if other is not None:
            try:
                there = OperationRun(self.store, other, self.clock, self.patience, self.log, self.stopping)
                return there.await_older(operation, times, give_up)
            finally:
                other.close()
        while operation.sending is not None and operation.provisioner_task is None:
            if not _leased(operation, self.clock.now()):
                break
            # Its process is submitting it this very moment.
            self.clock.sleep(2.0)
            operation = self.store.operation(operation.op)
        task_id = operation.provisioner_task
        if task_id is None:
            found = self._find_sent(operation, give_up)
            if not isinstance(found, str):
                return found
            task_id = found
            self.store.submitted(operation.op, task_id)
        started = self.clock.now()
        watch = DeathWatch(self.provisioner, self.clock.now, started, WHILE_HELD)
        for interval in intervals(times.interval):
            self.stopping.require_not_told()
            try:
                task = self._task(task_id, operation)
                if task.state is TaskState.RUNNING and watch.says_dead(task_id):
                    return self._died(task_id, operation)
            except TaskNotFound:
                return Ended("gone", None, self._evidence(task_id, operation))
            except ProvisionerError as error:
                self.log.warning("No answer about provisioner task %s, asking again: %s", task_id, error)
            else:
                if task.state is TaskState.COMPLETE:
                    return Ended("complete", task, self._evidence(task_id, operation, over=True))
            now = self.clock.now()
            if now >= give_up:
                return None
            if now - started >= timedelta(seconds=self.patience):
                return StillRunning(operation.op, task_id, times, give_up)
            self.clock.sleep(interval)
        raise AssertionError("unreachable: intervals() is endless")  # pragma: no cover

    def _find_sent(self, operation: Operation, give_up: datetime) -> str | Ended | None:
        """Return the provisioner task of an operation that was sent, though nobody noted what came of it.

        ``gone`` when there is certainly none: it was never sent, or no request of it can take effect any more. None
        when that is still open at ``give_up``.
        """
        while (last := _last_in_flight(operation)) is not None:
            asked = self.clock.now()
            found = self.provisioner.find(operation.reference)
            if found is not None:
                return found.task_id
            remaining = last + timedelta(seconds=self.provisioner.settle) - asked
            if remaining <= timedelta(0):
                break
            if self.clock.now() >= give_up:
                return None
            self.clock.sleep(min(15.0, remaining.total_seconds()))
        return Ended("gone", None, Evidence(over=True))

    def _submit(self, operation: Operation) -> Operation:
        before = self.store.operation(operation.op)
        while not self.store.lease(operation.op, self.owner, LEASE_SECONDS):
            before = self.store.operation(operation.op)
            if before.provisioner_task is not None:
                return before
            if not _leased(before, self.clock.now()):
                raise SiteNotHeld(f"site {operation.site}: nothing may be submitted for operation {operation.op}")
            self.log.info("Another process is submitting operation %s; waiting for it.", operation.op)
            self.clock.sleep(2.0)
        last = _last_in_flight(before)
        with renewed(self.store, operation.op, self.owner):
            task_id = self.provisioner.submit(
                ACTIONS[operation.phase],
                operation.design_ref,
                operation.nodes or None,
                operation.reference,
                guard=lambda: self._begin_sending(operation),
                sent_ago=None if last is None else max(0.0, (self.clock.now() - last).total_seconds()),
            )
            self.store.submitted(operation.op, task_id)
        self.log.info("Provisioner task: %s.", task_id)
        return self.store.operation(operation.op)

    def _begin_sending(self, operation: Operation) -> None:
        """Note that it is sent, if the right to do so still holds: pauses and looks may have taken longer."""
        self.stopping.require_going_on()
        if not self.store.lease(operation.op, self.owner, LEASE_SECONDS, sending=True):
            raise SiteNotHeld(f"operation {operation.op}: the right to submit it was lost; nothing is sent")
        # The store may have taken its time.
        self.stopping.require_not_told()

    def _wait(self, operation: Operation, times: PhaseTimes) -> Ended | StillRunning:
        assert operation.provisioner_task is not None
        task_id = operation.provisioner_task
        started = news = self.clock.now()
        running_since: datetime | None = operation.running_since
        submitted = operation.submitted or started
        task: ProvisionerTask | None = None
        watch = DeathWatch(self.provisioner, self.clock.now, (running_since or started) + WHILE_OWN, WHILE_OWN)
        for interval in intervals(times.interval):
            self.stopping.require_not_told()
            try:
                task = self._task(task_id, operation)
                if task.state is TaskState.RUNNING and watch.says_dead(task_id):
                    return self._died(task_id, operation)
            except TaskNotFound:
                self.log.warning("The provisioner no longer knows task %s; looking at its nodes instead.", task_id)
                return Ended("gone", None, self._evidence(task_id, operation))
            except ProvisionerError as error:
                # Asking again is free; only the deadline ends the waiting.
                self.log.warning("No answer about provisioner task %s, asking again: %s", task_id, error)
            else:
                if task.state is not TaskState.QUEUED and running_since is None:
                    running_since = self.clock.now()
                    self.store.running(operation.op, running_since)
                if task.state is TaskState.COMPLETE:
                    return Ended("complete", task, self._evidence(task_id, operation, over=True))
            now = self.clock.now()
            if now >= times.deadline(submitted, running_since):
                self.log.warning("Provisioner task %s ran out of time; looking at what it has done.", task_id)
                return Ended("timed_out", task, self._evidence(task_id, operation))
            if now - started >= timedelta(seconds=self.patience):
                return StillRunning(operation.op, task_id, times)
            if now - news >= timedelta(seconds=_NEWS_EVERY):
                news = now
                self.log.info("Provisioner task %s: %s.", task_id, task.state.value if task else "unknown")
            self.clock.sleep(interval)
        raise AssertionError("unreachable: intervals() is endless")  # pragma: no cover

    def _died(self, task_id: str, operation: Operation) -> Ended:
        """Gather what is known of the nodes of a dead task: it says nothing more, and holds nothing (rule 13)."""
        # The list of tasks may take minutes: it may have been alive at its beginning, and over at its end.
        task = self._task(task_id, operation)
        if task.state is TaskState.COMPLETE:
            return Ended("complete", task, self._evidence(task_id, operation, over=True))
        self.log.warning(
            "Provisioner task %s is dead: it is said to run, but a newer task has begun since. The provisioner was "
            "killed under it; looking at what it has done.",
            task_id,
        )
        return Ended("dead", task, replace(self._evidence(task_id, operation), over=True))

    def _task(self, task_id: str, operation: Operation) -> ProvisionerTask:
        """Ask after the operation's task; an answer about anything else is trouble, and asked for again."""
        return self.provisioner.task(task_id, action=ACTIONS[operation.phase], reference=operation.reference)

    def _evidence(self, task_id: str, operation: Operation, *, over: bool = False) -> Evidence:
        """Gather what is known of the operation's nodes; both the task and the node list must be read for that.

        An outage at this very moment must not turn finished nodes into unknown ones, nor a false success into a true
        one.
        """
        if not operation.nodes:
            return Evidence(over=over)
        for pause in (1.0, 2.0, 5.0, 10.0, 10.0):
            try:
                evidence = self.provisioner.evidence(
                    task_id, operation.nodes, action=ACTIONS[operation.phase], reference=operation.reference
                )
                if evidence.listed and (evidence.over or not over):
                    return evidence
            except AuthenticationFailed:
                raise
            except ProvisionerError as error:
                self.log.warning("The result could not be read, asking again: %s", error)
            else:
                self.log.warning("The provisioner told only a part of what is known; asking again.")
            self.clock.sleep(pause)
        raise ProvisionerUnavailable("the result of a task could not be read in full")
