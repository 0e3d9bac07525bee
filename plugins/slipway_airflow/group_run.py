"""Drive one group from wherever it stands to its verdict (rules 11-18, 23). Everything it knows is in the store.

The loop is always the same: read the store, let :class:`strategy_lib.Deployment` say what is next, do it, write it
down. That is why a killed, retried, deferred or cleared task simply starts it again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from slipway_airflow import story
from slipway_airflow.operation_run import Ended, OperationRun, StillRunning, status_of
from strategy_lib.deployment import Deployment, Finished
from strategy_lib.outcome import judge
from strategy_lib.phase import GroupState, Phase

if TYPE_CHECKING:
    from collections.abc import Collection

    from site_store import GroupRecord, Operation, SiteStore
    from slipway_airflow.polling import PhaseTimes
    from strategy_lib.deployment import Deploy, Prepare


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Which group of which action is to be driven, and how.

    ``attempt_key`` tells a retry by Airflow (same key) from a person's clear (another key), rule 23.
    ``force`` submits nodes although an older provisioner task still holds them.
    """

    action_id: str
    site: str
    group: str
    attempt_key: str
    design_ref: str
    times: Mapping[Phase, PhaseTimes]
    force: bool = False


class GroupRun:
    """Drives one group.

    Parameters
    ----------
    store, operations
        Where everything is kept; who carries out one operation.
    request : GroupRequest
    log : logging.Logger
        The Airflow task's log: it tells the story to an operator.
    """

    def __init__(self, store: SiteStore, operations: OperationRun, request: GroupRequest, log: logging.Logger) -> None:
        self.store = store
        self.operations = operations
        self.request = request
        self.log = log
        self._held: dict[str, Operation] = {}

    def advance(self) -> GroupRecord | StillRunning:
        """Go on until the group has its verdict (the record is returned) or a long wait is better deferred.

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            The provisioner could not be reached or refused; starting again resumes here.
        """
        request = self.request
        record = self.store.open_attempt(request.action_id, request.group, request.attempt_key)
        if record.is_judged:
            self.log.info("Group %s already has its verdict: %s. Nothing is submitted.", record.name, record.state)
            return record
        self._greet(record)
        waiting = self._settle_older_operations(record)
        if waiting is not None:
            return waiting
        phases_done = set(record.phases_done)
        verdicts = self.store.group_states(request.action_id, record.definition.depends_on)
        while True:
            deployment = Deployment(
                [record.definition],
                {record.name: record.nodes},
                self.store.node_states(request.action_id, record.name),
                verdicts,
                phases_done=phases_done,
            )
            step = deployment.next()
            if isinstance(step, Finished):
                break
            phase = step.phase
            still_running = self._carry_out(record, step)
            if still_running is not None:
                return still_running
            phases_done.add(phase)
        view = deployment.group(record.name)
        for line in story.criteria(view):
            self.log.info(line)
        assert view.state in (GroupState.SUCCESS, GroupState.FAILURE)
        self.store.finish_group(
            request.action_id, record.name, record.attempt, view.state, view.reason, view.criteria, view.counts
        )
        return self.store.group(request.action_id, record.name)

    def _greet(self, record: GroupRecord) -> None:
        self.log.info(story.opening(record))
        if record.definition.depends_on:
            self.log.info("Depends on: %s.", ", ".join(record.definition.depends_on))

    def _carry_out(self, record: GroupRecord, step: Prepare | Deploy) -> StillRunning | None:
        request, phase = self.request, step.phase
        nodes = [name for name in step.nodes if name not in self._held]
        operation = self.store.begin_operation(
            request.action_id, request.site, record.name, record.attempt, phase, nodes, request.design_ref
        )
        if not operation.nodes:
            self.log.info("%s: none of the nodes can be submitted now.", phase.value.capitalize())
            return None
        self.log.info(story.submission(phase, operation))
        ended = self.operations.carry_out(operation, request.times[phase])
        if isinstance(ended, StillRunning):
            return ended
        self._record(operation, phase, ended)
        return None

    def _record(self, operation: Operation, phase: Phase, ended: Ended) -> None:
        outcome = judge(phase, operation.nodes, ended.evidence)
        superseded = self.store.record_outcome(
            operation.op, outcome, status=status_of(ended), result=ended.task.result if ended.task else ended.how
        )
        for line in story.outcome(phase, operation, ended, outcome, superseded):
            self.log.info(line)

    def _settle_older_operations(self, record: GroupRecord) -> StillRunning | None:
        """See to provisioner tasks of earlier actions and attempts that may still work on nodes of this group.

        A node is never submitted while such a task runs (rule 14, 24): it is waited for, at most as long as a prepare
        may take; after that its nodes are left out, unless the action forces them.
        """
        request = self.request
        times = request.times[Phase.PREPARE]
        for operation in self._older_operations(record):
            self.log.info(story.older_operation(operation))
            give_up = (record.started or self.operations.clock.now()) + timedelta(seconds=times.timeout)
            ended = self.operations.await_older(operation, times, give_up)
            if isinstance(ended, StillRunning):
                return ended
            if ended is not None:
                late = self.store.record_late(
                    operation.op,
                    judge(Phase(operation.phase), operation.nodes, ended.evidence),
                    f"seen late: {ended.how}",
                )
                self.log.info("It is over; now known: %s.", story.names(late))
                continue
            if request.force:
                self.log.warning("It still runs; its nodes are submitted all the same, because the action forces it.")
                continue
            self._hold(operation, record.nodes)
        return None

    def _older_operations(self, record: GroupRecord) -> list[Operation]:
        def own(operation: Operation) -> bool:
            return (operation.action_id, operation.group, operation.attempt) == (
                self.request.action_id,
                record.name,
                record.attempt,
            )

        waiting = self.store.unfinished_operations(self.request.site, record.nodes)
        return [operation for operation in waiting if not own(operation)]

    def _hold(self, operation: Operation, nodes: Collection[str]) -> None:
        held = sorted(set(operation.nodes).intersection(nodes))
        self._held.update(dict.fromkeys(held, operation))
        self.log.warning(
            "Provisioner task %s is still not over; left out: %s. Use force to submit them all the same.",
            operation.provisioner_task,
            story.names(held),
        )
