"""Provisioner tasks of earlier actions and attempts that may still work on some nodes (rules 14 and 24).

A node is never submitted while such a task runs: it is waited for, and left out if it does not end in time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from provisioner_client.errors import ProvisionerError
from site_engine import log_messages as story
from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, SettingsError
from site_engine.operations.late_results import record_late_result
from site_engine.operations.polling import PhaseTimes
from site_engine.operations.run import Ended, OperationRun, StillRunning
from site_engine.reports import STEP_WARNING
from site_store import OperationPhase

if TYPE_CHECKING:
    from site_engine.task_log import TaskLog
    from site_store import GroupRecord, Operation, SiteStore
    from strategy_lib.phase import NodeStep, Phase


@dataclass(frozen=True, slots=True)
class Worker:
    """Who is about to submit nodes: an attempt of a group, or of a step on nodes (group "").

    Its own work is not older; with ``attempt`` None it has not begun, and nothing is its own.
    """

    action_id: str
    site: str
    group: str
    attempt: int | None

    @classmethod
    def of_group(cls, record: GroupRecord, site: str) -> Worker:
        """Return a group's present attempt; a group with a verdict is about to begin another."""
        return cls(record.action_id, site, record.name, None if record.is_judged else record.attempt)


@dataclass(frozen=True, slots=True)
class Held:
    """Nodes that an older provisioner task still holds."""

    nodes: frozenset[str]


class OlderWork:
    """What is not over yet on a site, seen by one worker."""

    def __init__(self, store: SiteStore, operations: OperationRun, times: PhaseTimes, log: TaskLog) -> None:
        self.store = store
        self.operations = operations
        self.times = times
        self.log = log

    def look_once(self, worker: Worker, nodes: Collection[str]) -> None:
        """Record what has ended meanwhile, without waiting for anything: a new attempt begins with what is true."""
        for operation in self._of(worker, nodes):
            try:
                ended = self.operations.await_older(operation, self.times, self.operations.clock.now())
            except (ConnectionLookupFailed, SettingsError) as error:
                self.log.warning("It is not known whether operation %s is over: %s", operation.op, error)
                continue
            except ProvisionerError as error:
                self.log.warning("It is not known whether operation %s is over: %s", operation.op, error)
                return
            if isinstance(ended, Ended):
                record_late_result(self.store, operation, ended, self.log)

    def wait(
        self, worker: Worker, phase: Phase | NodeStep, nodes: Collection[str], give_up: datetime
    ) -> Held | StillRunning:
        """Wait until nobody else works on these nodes, at most until ``give_up``.

        What holds a node is kept with it, for the report and the description of the action. An operation whose action's
        connection is deleted, or cannot be used, holds its nodes: nobody can tell whether it is over.

        Parameters
        ----------
        phase
            What the nodes are to be submitted for.

        Returns
        -------
        Held
            Those that are still worked on then; they are not to be submitted.
        StillRunning
            Defer, and come back.

        Raises
        ------
        ConnectionLookupFailed
            It is not known whether the connection of an older action exists: try again.
        """
        held: set[str] = set()
        for operation in self._of(worker, nodes):
            self.log.info(story.older_operation(operation))
            mine = set(operation.nodes).intersection(nodes)
            # What is held by now stays so, with its reason, whatever becomes of this one.
            free = mine - held
            self._explain(worker, phase, free, story.held(operation))
            unreachable = ""
            try:
                ended = self.operations.await_older(operation, self.times, give_up)
            except (ConnectionMissing, SettingsError) as error:
                ended, unreachable = None, str(error)
            # It may have been found, or seen to run, only now.
            operation = self.store.operation(operation.op)
            if isinstance(ended, StillRunning):
                self._explain(worker, phase, free, story.held(operation))
                return ended
            if ended is not None:
                self._explain(worker, phase, free, None)
                record_late_result(self.store, operation, ended, self.log)
                continue
            held |= mine
            why = story.held(operation, unreachable)
            self._explain(worker, phase, free, why)
            self._tell_left_out(worker, phase, operation, mine, why)
        return Held(frozenset(held))

    def _explain(self, worker: Worker, phase: Phase | NodeStep, nodes: Collection[str], why: str | None) -> None:
        if nodes:
            self.store.explain_pending(worker.action_id, OperationPhase(phase.value), nodes, why)

    def _tell_left_out(
        self, worker: Worker, phase: Phase | NodeStep, operation: Operation, nodes: Collection[str], why: str
    ) -> None:
        message = story.left_out(phase, nodes, why)
        self.log.warning("%s.", message)
        group, data = worker.group or None, {"phase": phase.value, "provisioner_task": operation.provisioner_task}
        self.store.add_event(worker.site, STEP_WARNING, message, action_id=worker.action_id, group=group, data=data)

    def warn(self, worker: Worker, nodes: Collection[str]) -> None:
        """Say which nodes are submitted although an older task may hold them, because the action forces it."""
        for operation in self._of(worker, nodes):
            self.log.warning(
                "Provisioner task %s may still work on %s; submitting them all the same: the action forces it.",
                operation.provisioner_task,
                story.names(set(operation.nodes).intersection(nodes)),
            )

    def _of(self, worker: Worker, nodes: Collection[str]) -> list[Operation]:
        """Return operations that may still work on these nodes, but the worker's own."""

        def own(operation: Operation) -> bool:
            mine = (worker.action_id, worker.group, worker.attempt)
            return (operation.action_id, operation.group, operation.attempt) == mine

        unfinished = self.store.unfinished_operations(worker.site, nodes)
        return [operation for operation in unfinished if not own(operation)]
