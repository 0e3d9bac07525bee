"""Run one stored operation at the provisioner: submit it exactly once, then see it to its end or its timeout.

Knows nothing of groups and criteria. Safe to start again at any point, in any process: the intent is in the store
before anything is sent, the right to submit is a lease, and a task that was submitted is found again by its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from provisioner_client.errors import SubmissionRefused
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import RedactingProvisioner
from site_engine.log_messages import TaskLog
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.operations.judging import design_source
from site_engine.operations.wait import EndKind, OperationEnd, PhaseTimes, StillRunning, TaskWatch, last_in_flight
from site_engine.process import Clock, SharedClock, Stopping, process_identity, repeated
from site_engine.provisioners import ProvisionerConnection
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import PATIENCE, shared_by
from site_store import ActionRecord, Operation, SiteStore, StoreError
from strategy_lib.outcome import Evidence

LEASE_SECONDS = 30.0
"""A killed process keeps the others waiting at most this long."""

LOOK_AGAIN = 2.0
"""Seconds between two looks at an operation that another process is submitting."""


@dataclass(frozen=True, slots=True)
class ActionClients:
    """Makes the clients with which an action's operations are carried out, and older ones asked about.

    What a provisioner says is redacted, calls are counted, and long lists are shared.

    Parameters
    ----------
    connection : the one that the action uses.
    connect_to : gives the connection of another action.
    stopping, patience : of who waits for shared lists.
    """

    store: SiteStore
    action: ActionRecord
    connection: ProvisionerConnection
    connect_to: Callable[[SiteStore, ActionRecord], ProvisionerConnection]
    stopping: Stopping | None = None
    patience: float = PATIENCE

    def own(self) -> RedactingProvisioner:
        """Return a new client for the action, which the caller closes."""
        return self._client(self.action, self.connection)

    def elsewhere(self, action_id: str) -> RedactingProvisioner | None:
        """Return a new client for an action with another connection or other secrets; None: `own` is right for it."""
        other = self.store.actions.get(action_id)
        here = other.connection in (None, self.connection.id)
        if here and other.revision == self.action.revision:
            return None
        return self._client(other, self.connection if here else self.connect_to(self.store, other))

    @contextmanager
    def operations(self, log: TaskLog, patience: float = 0.0) -> Iterator[OperationRun]:
        """Give what carries operations out; its client is closed behind that."""
        with closing(self.own()) as client:
            clock, stopping = SharedClock(self.store), self.stopping or Stopping()
            yield OperationRun(self.store, client, clock, patience, log, stopping, self.elsewhere)

    def _client(self, action: ActionRecord, connection: ProvisionerConnection) -> RedactingProvisioner:
        observer = ProvisionerObserver(self.store, connection, self.action.dag_id)
        shared = shared_by(self.store, patience=self.patience, stopping=self.stopping)
        marker = action.context_marker or action.id
        return connection.connect(redact_for_action(self.store, action), marker, observer, shared)


@dataclass
class OperationRun:
    """Runs operations of one store at one provisioner.

    Parameters
    ----------
    store, provisioner, clock : where the operation is kept, who does it, and time.
    patience : seconds to poll in this process before :class:`StillRunning` is returned.
    log : the task's log; its lines are read by operators.
    stopping : knows whether this process was told to stop: then it submits nothing more, and waits for nothing.
    elsewhere : given an action's id, it returns a new client where this one is not right for that action: it uses
        another connection, or its design has other secrets. Else None.
    """

    store: SiteStore
    provisioner: Provisioner
    clock: Clock
    patience: float
    log: TaskLog
    stopping: Stopping = field(default_factory=Stopping)
    elsewhere: Callable[[str], Provisioner | None] = lambda _: None
    lease_owner: str = field(default_factory=process_identity)

    def run(self, operation: Operation, times: PhaseTimes) -> OperationEnd | StillRunning:
        """Submit the operation unless that was done, wait for its end, and gather what can be proven (rules 12-14).

        Raises `provisioner_client.errors.ProvisionerError`: the submission could not be made or its fate could not be
        learnt; starting again is safe. Raises `TaskStopped`: this process was told to stop. Raises
        `site_store.SubmissionsHeld`: nothing may be sent (rule 61).
        """
        if operation.provisioner_task is None:
            try:
                operation = self._submit(operation)
            except SubmissionRefused as error:
                # Certainly not taken, and never will be: these nodes have failed.
                self.log.error("The provisioner refuses: %s", error)
                return _refused(operation, str(error))
        else:
            self.log.info(
                "Re-joining provisioner task %s (%s), submitted earlier.", operation.provisioner_task, operation.phase
            )
        watch = self.watch(operation, times)
        end = watch.wait(self.patience, self.stopping)
        return end if isinstance(end, StillRunning) else watch.end(end)

    def watch(self, operation: Operation, times: PhaseTimes, give_up: datetime | None = None) -> TaskWatch:
        """Return a watch of an operation's provisioner task; ``give_up`` is set where other nodes wait for it."""
        return TaskWatch(self.store, self.provisioner, self.clock, self.log, operation, times, give_up)

    def at(self, provisioner: Provisioner) -> OperationRun:
        """Return the same for operations of another provisioner, or of another design's secrets."""
        return OperationRun(self.store, provisioner, self.clock, self.patience, self.log, self.stopping)

    def _submit(self, operation: Operation) -> Operation:
        before = self.store.operations.get(operation.op)
        while not self.store.operations.acquire_lease(operation.op, self.lease_owner, LEASE_SECONDS):
            before = self.store.operations.get(operation.op)
            if before.provisioner_task is not None:
                return before
            if not is_leased(before, self.store.now()):
                raise StoreError(f"site {operation.site}: nothing may be submitted for operation {operation.op}")
            self.log.info("Another process is submitting operation %s; waiting for it.", operation.op)
            self.clock.sleep(LOOK_AGAIN)
        last = last_in_flight(before)
        with renewed_lease(self.store, operation.op, self.lease_owner):
            task_id = self.provisioner.submit(
                operation.phase,
                design_source(self.store, operation),
                operation.nodes or None,
                operation.reference,
                guard=lambda: self._guard(operation),
                sent_ago=None if last is None else max(0.0, (self.store.now() - last).total_seconds()),
            )
            self.store.operations.mark_submitted(operation.op, task_id)
        self.log.info("Provisioner task: %s.", task_id)
        return self.store.operations.get(operation.op)

    def _guard(self, operation: Operation) -> None:
        """Note that it is sent, if the right to do so still holds: pauses and looks may have taken longer."""
        self.stopping.require_going_on()
        if not self.store.operations.acquire_lease(operation.op, self.lease_owner, LEASE_SECONDS, sending=True):
            raise StoreError(f"operation {operation.op}: the right to submit it was lost; nothing is sent")
        # The store may have taken its time.
        self.stopping.require_not_told()


def _refused(operation: Operation, why: str) -> OperationEnd:
    nodes = operation.nodes
    evidence = Evidence(over=True, reported_failure=frozenset(nodes), messages=dict.fromkeys(nodes, why))
    return OperationEnd(EndKind.REFUSED, None, evidence, why)


def is_leased(operation: Operation, now: datetime) -> bool:
    """Whether a process has the right to submit the operation, and may be doing so; ``now`` is the database's time."""
    return operation.lease_until is not None and operation.lease_until > now


@contextmanager
def renewed_lease(store: SiteStore, op: int, owner: str) -> Iterator[None]:
    """Renew a lease that ``owner`` has, until the block ends: a submission may take minutes when answers are lost."""
    # A database that is busy once is no reason to stop; whether the right still holds is asked before sending.
    renew = partial(store.operations.acquire_lease, op, owner, LEASE_SECONDS)
    with repeated(renew, LEASE_SECONDS / 3, f"lease-{op}"):
        yield
