"""Wait for the end of a provisioner task: what one look shows, how often to look, and until when.

A task may be over while the provisioner's list still shows nodes of it at work: they are waited for too (rule 14).
One look serves all who wait: the task that submitted an operation, the task whose nodes an older operation holds, and
the triggerer, which only sleeps differently. What the end means for nodes is `reconcile`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from provisioner_client.errors import AuthenticationFailed, ProvisionerError, ProvisionerUnavailable, TaskNotFound
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskState
from site_engine.log_messages import TaskLog
from site_engine.operations.judging import WHILE_HELD, WHILE_OWN, DeathWatch, design_source, nodes_at_work
from site_engine.process import Clock, Stopping
from site_store import Operation, OperationStatus, SiteStore, StoreError, SubmissionsHeld
from strategy_lib.outcome import Evidence

_FIRST_INTERVAL = 0.1
# The end of a task is noticed within about an eighth of its time, until the longest interval is reached.
_GROWTH = 1.12
_NEWS_EVERY = timedelta(seconds=60)
# Between tries to read the result of a task, seconds.
_EVIDENCE_PAUSES = (1.0, 2.0, 5.0, 10.0, 10.0)


def intervals(longest: float) -> Iterator[float]:
    """Yield the seconds between polls: short at first, growing to ``longest``.

    Short tasks end in seconds, and a person waits for them; long tasks need no more than the configured interval.
    """
    interval = min(_FIRST_INTERVAL, longest) or 0.05
    while True:
        yield interval
        interval = min(interval * _GROWTH, longest) if longest else interval


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Times of one phase, in seconds: longest poll interval, and the timeout of the provisioner's task (rule 14)."""

    interval: float
    timeout: float
    queue_timeout: float

    def deadline(self, submitted: datetime, running_since: datetime | None) -> datetime:
        """Return when the task is given up: its clock starts when the provisioner starts it, not while it queues."""
        if running_since is None:
            return submitted + timedelta(seconds=self.queue_timeout)
        return running_since + timedelta(seconds=self.timeout)


ONE_LOOK: Final = PhaseTimes(interval=1.0, timeout=0.0, queue_timeout=0.0)
"""The times of those who look once, and wait for nothing."""


class EndKind(StrEnum):
    """How an operation ended. The words are stored as its result where the provisioner gave none.

    `COMPLETE`: the provisioner task was seen to be over. `TIMED_OUT`: it goes on, and nobody waits for it any more.
    `AT_WORK`: it is over, the list of nodes still shows some of it at work, and nobody waits for these any more.
    `GONE`: the provisioner does not know it. `DEAD`: the provisioner was killed under it. `REFUSED`: the provisioner
    did not take it.
    """

    COMPLETE = "complete"
    TIMED_OUT = "timed_out"
    AT_WORK = "at_work"
    GONE = "gone"
    DEAD = "dead"
    REFUSED = "refused"

    @property
    def words(self) -> str:
        """How a log says it of the provisioner task."""
        return _ENDED[self]


_ENDED = {
    EndKind.COMPLETE: "is complete",
    EndKind.GONE: "is not known to the provisioner any more",
    EndKind.DEAD: "is dead, as the provisioner was killed under it",
    EndKind.TIMED_OUT: "ran out of time",
    EndKind.AT_WORK: "is over, with nodes that are still at work",
    EndKind.REFUSED: "was refused",
}


_SAID_AT_END = {
    EndKind.GONE: "The provisioner no longer knows task %s; looking at its nodes instead.",
    EndKind.AT_WORK: "Provisioner task %s is over, and nodes of it were still at work when its time was up.",
    EndKind.TIMED_OUT: "Provisioner task %s ran out of time; looking at what it has done.",
    EndKind.DEAD: "Provisioner task %s is dead: it is said to run, but a newer task has begun since. The provisioner "
    "was killed under it; looking at what it has done.",
}


@dataclass(frozen=True, slots=True)
class OperationEnd:
    """The end of an operation. ``evidence`` is what can be proven about its nodes.

    ``task`` is the provisioner task as it was last seen, None when there is none. ``refusal`` says why it was refused.
    """

    kind: EndKind
    task: ProvisionerTask | None
    evidence: Evidence
    refusal: str = ""

    @property
    def status(self) -> OperationStatus:
        """The stored status of an operation that ended so: only one that timed out may still do anything."""
        timed_out = self.kind in (EndKind.TIMED_OUT, EndKind.AT_WORK)
        return OperationStatus.TIMED_OUT if timed_out else OperationStatus.COMPLETE

    @property
    def result(self) -> str:
        """The stored result: the provisioner's word, else the kind of the end."""
        return self.task.result.value if self.task and self.kind is not EndKind.AT_WORK else self.kind.value


@dataclass(frozen=True, slots=True)
class StillRunning:
    """The provisioner's task goes on longer than this process should wait: defer, and come back.

    ``times`` are those of the phase; ``give_up``, if set, is the moment to come back whatever the task does.
    ``settling``: the task is over, and the list still shows nodes of it at work.
    """

    op: int
    provisioner_task: str
    times: PhaseTimes
    give_up: datetime | None = None
    settling: bool = False


def last_in_flight(operation: Operation) -> datetime | None:
    """Return when a request of an operation was in flight at the latest, None when none ever was sent.

    It is a time of the database's clock. Its sender renewed the lease for as long as it waited for the answer.
    """
    if operation.sending is None:
        return None
    return max(operation.sending, operation.lease_until or operation.sending)


class TaskWatch:
    """Watches the provisioner task of one operation until its end or its deadline; waits for nothing itself.

    Parameters
    ----------
    store, provisioner, clock, log : where the operation is kept, who does it, time, and the log.
    operation : one that has a provisioner task.
    times : of the operation's phase.
    give_up : set where nobody waits for the operation itself any more, but others for its nodes, or only its truth is
        wanted: the deadline, instead of that of ``times``.
    by_triggerer : another process has checked right before whether the task is dead, and comes back to look at its
        nodes: only the end of the task is asked for. Where nodes were seen at work behind that, these are looked at.
    """

    def __init__(
        self,
        store: SiteStore,
        provisioner: Provisioner,
        clock: Clock,
        log: TaskLog,
        operation: Operation,
        times: PhaseTimes,
        give_up: datetime | None = None,
        *,
        by_triggerer: bool = False,
    ) -> None:
        if operation.provisioner_task is None:
            raise ValueError(f"operation {operation.op} has no provisioner task to watch")
        self.store, self.provisioner, self.clock, self.log = store, provisioner, clock, log
        self.operation, self.times, self.give_up = operation, times, give_up
        self.task_id = operation.provisioner_task
        self.task: ProvisionerTask | None = None
        self.settling = by_triggerer and bool(operation.at_work)
        self.seen: Evidence | None = None
        self._looks_at_nodes = self.settling or not by_triggerer
        self._over: EndKind | None = None
        self._at_work = operation.at_work
        started = clock.now()
        self._submitted = operation.submitted or started
        self._running_since = operation.running_since
        self._noted = operation.running_since is not None
        self._newest: int | None = None
        self._is_held = False
        every = WHILE_OWN if give_up is None else WHILE_HELD
        first = started if give_up is not None else (self._running_since or started) + every
        self._death = DeathWatch(provisioner, clock.now, started + every if by_triggerer else first, every)

    def look(self) -> EndKind | None:
        """Look once; None: the task goes on, or the list shows nodes of it at work; and so does the time.

        An outage ends nothing: asking again is free, and only the deadline ends the waiting. Nor does time pass while
        nothing may be sent: the provisioner may need a request to go on with the task (rule 61).

        Raises `provisioner_client.errors.ProvisionerError`: the task is over, and its result could not be read in full.
        """
        try:
            end = self._over or self._look()
        except TaskNotFound:
            end = EndKind.GONE
        except SubmissionsHeld as held:
            if not self._is_held:
                self.log.warning("Provisioner task %s is not gone on with: %s.", self.task_id, held)
            self._is_held = True
            return None
        except ProvisionerError as error:
            self.log.warning("No answer about provisioner task %s, asking again: %s", self.task_id, error)
            end = None
        if end is not None and self._looks_at_nodes:
            end = self._end_of_nodes(end)
        if end is None and self.clock.now() >= self._deadline():
            return EndKind.TIMED_OUT if self.seen is None else EndKind.AT_WORK
        return end

    def _end_of_nodes(self, end: EndKind) -> EndKind | None:
        """Return the end of the task, None while the list shows nodes of it at work (rule 14).

        What ended it is kept, and so is what was read: it is read once where nothing is at work. What is at work is
        noted in the store: who looks later knows that the task has not left it as it is then (rule 11).
        """
        self._over = end
        try:
            self.seen = self._read(end)
        except ProvisionerError as error:
            if not self.settling:
                raise
            self.log.warning("The nodes of provisioner task %s cannot be read, asking again: %s", self.task_id, error)
            return None
        at_work = nodes_at_work(self.store, self.operation, self.seen)
        if not at_work:
            return end
        if not at_work <= self._at_work:
            said = ", ".join(f"{name} ({self.seen.status_names.get(name, 'at work')})" for name in sorted(at_work)[:10])
            self.log.info(
                "Provisioner task %s is over, but the list of nodes still shows %s of its nodes at work, and they are "
                "looked at again: %s.",
                self.task_id,
                len(at_work),
                said,
            )
            self.store.operations.note_at_work(self.operation.op, at_work)
            self._at_work |= at_work
        self.settling = True
        return None

    def _look(self) -> EndKind | None:
        self.task = self._ask()
        if self.task.state is TaskState.RUNNING and self._is_dead():
            # The check may take minutes: the task may have been alive at its beginning, and over at its end.
            self.task = self._ask()
            return EndKind.COMPLETE if self.task.state is TaskState.COMPLETE else EndKind.DEAD
        if self.task.state is not TaskState.QUEUED:
            self._note_running()
        return EndKind.COMPLETE if self.task.state is TaskState.COMPLETE else None

    def _is_dead(self) -> bool:
        """Whether the task is dead; asked at once where the provisioner was seen to begin a newer operation.

        One that no answer came about is news at the next look, too.
        """
        try:
            newest = self.store.operations.overtaken_by(self.operation.op)
        except StoreError:
            # It is told at the next look.
            newest = self._newest
        found = self._death.says_dead(self.task_id, overtaken=newest is not None and newest != self._newest)
        self._newest = newest
        return found

    def _ask(self) -> ProvisionerTask:
        """Ask after the task; an answer about anything else is trouble, and asked for again.

        A provisioner may do what is due of the task by now, and gets the design for that. Of a task that only others
        wait for, it is to begin nothing more.
        """
        left = None if self.give_up is None else self._left()
        site = self.operation.site
        return self.provisioner.task(self._ref(), left=left, guard=lambda: self.store.home.require_own(site))

    def _ref(self) -> TaskRef:
        operation = self.operation
        return TaskRef(self.task_id, operation.phase, operation.reference, design_source(self.store, operation))

    def _left(self) -> float:
        """Return for how many seconds at least its submission has sent nothing."""
        last = last_in_flight(self.operation)
        return math.inf if last is None else max(0.0, (self.store.now() - last).total_seconds())

    def _note_running(self) -> None:
        """Keep when the clock of rule 14 started; a store that is busy is told at the next look."""
        self._running_since = self._running_since or self.clock.now()
        if not self._noted:
            try:
                self.store.operations.mark_running(self.operation.op, self.clock.now() - self._running_since)
            except StoreError as error:
                self.log.warning("Since when provisioner task %s runs could not be kept: %s", self.task_id, error)
            else:
                self._noted = True

    def _deadline(self) -> datetime:
        return self.give_up or self.times.deadline(self._submitted, self._running_since)

    def wait(self, patience: float, stopping: Stopping) -> EndKind | StillRunning:
        """Look until the task ends or its deadline comes, or ``patience`` seconds are over.

        Raises `TaskStopped`: this process was told to stop.
        """
        started = news = self.clock.now()
        for interval in intervals(self.times.interval):
            stopping.require_not_told()
            end = self.look()
            if end is not None:
                return end
            now = self.clock.now()
            if now - started >= timedelta(seconds=patience):
                break
            if now - news >= _NEWS_EVERY:
                news = now
                state = self.task.state.value if self.task else "unknown"
                self.log.info("Provisioner task %s: %s.", self.task_id, state)
            self.clock.sleep(self.times.interval if self.settling else interval)
        return StillRunning(self.operation.op, self.task_id, self.times, self.give_up, self.settling)

    def end(self, kind: EndKind) -> OperationEnd:
        """Gather what is known of the nodes when the task ended so.

        Raises `provisioner_client.errors.ProvisionerError`: the result could not be read in full.
        """
        if kind in _SAID_AT_END:
            self.log.warning(_SAID_AT_END[kind], self.task_id)
        evidence = self._read(kind) if self.seen is None else self.seen
        return OperationEnd(kind, None if kind is EndKind.GONE else self.task, evidence)

    def _read(self, kind: EndKind) -> Evidence:
        evidence = self._evidence(over=kind is EndKind.COMPLETE)
        # A dead one says nothing more, and holds nothing (rule 13).
        return replace(evidence, over=True) if kind is EndKind.DEAD else evidence

    def _evidence(self, *, over: bool) -> Evidence:
        """Read both the task and the node list: both are needed.

        An outage at this very moment must not turn finished nodes into unknown ones, nor a false success into a true
        one.
        """
        operation = self.operation
        if not operation.nodes:
            return Evidence(over=over)
        ref = self._ref()
        for pause in _EVIDENCE_PAUSES:
            try:
                evidence = self.provisioner.evidence(ref, operation.nodes)
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
