"""Drive one group from wherever it stands to its verdict (rules 11-18, 23). Everything it knows is in the store.

The loop is always the same: read the store, let :class:`strategy_lib.Deployment` say what is next, do it, write it
down. That is why a killed, retried, deferred or cleared task simply starts it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from site_engine import log_messages as story
from site_engine.group_release import GroupRelease, begun_operation
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations, list_nodes, record_end
from site_engine.operations.wait import StillRunning
from site_engine.planning import judge_deployed
from site_store import OperationPhase
from strategy_lib.deployment import Deployment, Finished
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import GroupState, Phase

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from site_engine.operations.run import OperationRun
    from site_engine.operations.wait import PhaseTimes
    from site_engine.task_log import TaskLog
    from site_store import GroupRecord, SiteStore
    from strategy_lib.criteria import CriterionResult
    from strategy_lib.deployment import Deploy, Prepare


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Which group of which action is to be driven, and how.

    ``attempt_key`` tells a retry by Airflow (same key) from a person's clear (another key), rule 23.
    ``release_times`` are those of releasing nodes before they are prepared. ``force`` submits nodes although an older
    provisioner task still holds them.
    """

    action_id: str
    site: str
    group: str
    attempt_key: str
    design_ref: str
    times: Mapping[Phase, PhaseTimes]
    release_times: PhaseTimes
    redo_done: bool = False
    ignore_older_tasks: bool = False


class GroupRun:
    """Drives one group.

    Parameters
    ----------
    store, operations
        Where everything is kept; who carries out one operation.
    request : GroupRequest
    log : TaskLog
        The Airflow task's log: it tells the story to an operator.
    """

    def __init__(self, store: SiteStore, operations: OperationRun, request: GroupRequest, log: TaskLog) -> None:
        self.store = store
        self.operations = operations
        self.request = request
        self.log = log
        self.unfinished = UnfinishedOperations(operations, request.times[Phase.PREPARE])
        self.release = GroupRelease(store, operations, request.site, request.design_ref, request.release_times, log)

    def advance(self) -> GroupRecord | StillRunning:
        """Go on until the group has its verdict (the record is returned) or a long wait is better deferred.

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            The provisioner could not be reached or refused; starting again resumes here.
        """
        request = self.request
        record = self.store.group(request.action_id, request.group)
        if not self._is_final(record):
            self.unfinished.look_once(OperationOwner.of_group(record, request.site), record.nodes)
        record = self.store.open_attempt(request.action_id, request.group, request.attempt_key)
        if record.is_judged:
            self.log.info("Group %s already has its verdict: %s. Nothing is submitted.", record.name, record.state)
            return record
        self._greet(record)
        phases_done = set(record.phases_done)
        judged = list(record.criteria)
        while True:
            # Built anew each time: the store may know more than this process (late results, superseded nodes).
            deployment = self._deployment(record, phases_done)
            step = deployment.next()
            view = deployment.group(record.name)
            if isinstance(step, Finished):
                break
            if view.criteria:
                judged = list(view.criteria)
                self._note(record, judged)
            if step.phase is Phase.PREPARE:
                released = self.release.resume(record)
                if isinstance(released, StillRunning):
                    return released
                if released:
                    continue
            still_running = self._carry_out(record, step)
            if still_running is not None:
                return still_running
            phases_done.add(step.phase)
        fresh = {result.phase for result in view.criteria}
        criteria = [*(result for result in judged if result.phase not in fresh), *view.criteria]
        for result in view.criteria:
            self.log.info(story.criterion(result))
        self.log.info(story.verdict(view))
        self.store.finish_group(
            request.action_id, record.name, record.attempt, view.state, view.reason, criteria, asdict(view.counts)
        )
        return self.store.group(request.action_id, record.name)

    def _deployment(self, record: GroupRecord, phases_done: Collection[Phase]) -> Deployment:
        return Deployment(
            [record.definition],
            {record.name: record.nodes},
            self.store.attempt_states(record.action_id, record.name, record.attempt),
            self.store.group_states(record.action_id, record.definition.depends_on),
            phases_done=phases_done,
            withheld=self.store.withheld(record.action_id, record.name),
        )

    def _note(self, record: GroupRecord, judged: Sequence[CriterionResult]) -> None:
        """Keep what was judged after prepare: the nodes move on, and a report after a crash must say the same."""
        for result in judged:
            self.log.info(story.criterion(result))
        self.store.note_criteria(record.action_id, record.name, record.attempt, judged)

    def _is_final(self, record: GroupRecord) -> bool:
        """Whether the verdict stays: success always, failure unless a person has cleared the task (rule 23)."""
        failed_again = record.state is GroupState.FAILURE and record.attempt_key == self.request.attempt_key
        return record.state is GroupState.SUCCESS or failed_again

    def _greet(self, record: GroupRecord) -> None:
        self.log.info(story.opening(record))
        if record.definition.depends_on:
            self.log.info("Depends on: %s.", ", ".join(record.definition.depends_on))

    def _carry_out(self, record: GroupRecord, step: Prepare | Deploy) -> StillRunning | None:
        request, phase = self.request, step.phase
        nodes = self._free_nodes(record, step)
        if isinstance(nodes, StillRunning):
            return nodes
        found: dict[str, NodeCondition] | None = None
        if begun_operation(self.store, record, OperationPhase(phase.value)) is None:
            listed = list_nodes(self.store, self.operations.provisioner, request.site, nodes)
            if phase is Phase.PREPARE:
                released = self.release.release(record, listed)
                if isinstance(released, StillRunning):
                    return released
                if released:
                    listed = list_nodes(self.store, self.operations.provisioner, request.site, nodes)
            found = {name: node.condition for name, node in listed.items()}
            nodes = self._without_deployed(record, phase, nodes, found)
        operation = self.store.begin_operation(
            request.action_id, request.site, record.name, record.attempt, phase, nodes, request.design_ref, found
        )
        if not operation.nodes:
            self.log.info("%s: none of the nodes can be submitted now.", story.word(phase))
            return None
        self.log.info(story.submission(phase, operation))
        ended = self.operations.run(operation, request.times[phase])
        if isinstance(ended, StillRunning):
            return ended
        record_end(self.store, operation.op, ended, self.log)
        return None

    def _free_nodes(self, record: GroupRecord, step: Prepare | Deploy) -> list[str] | StillRunning:
        """Return the step's nodes that no older provisioner task holds, once those have had their time to end."""
        if begun_operation(self.store, record, OperationPhase(step.phase.value)) is not None:
            return list(step.nodes)
        if self.request.ignore_older_tasks:
            self.unfinished.warn(OperationOwner.of_group(record, self.request.site), step.nodes)
            return list(step.nodes)
        # From the beginning of the attempt, so that coming back later does not start the clock again.
        since = record.started or self.operations.clock.now()
        give_up = since + timedelta(seconds=self.request.times[Phase.PREPARE].timeout)
        held = self.unfinished.wait(OperationOwner.of_group(record, self.request.site), step.phase, step.nodes, give_up)
        if isinstance(held, StillRunning):
            return held
        return [name for name in step.nodes if name not in held.nodes]

    def _without_deployed(
        self, record: GroupRecord, phase: Phase, nodes: list[str], found: Mapping[str, NodeCondition]
    ) -> list[str]:
        """Return the nodes that can be submitted: not those that are deployed by now, but for `redo_done` (rule 21)."""
        if self.request.redo_done or NodeCondition.DEPLOYED not in found.values():
            return nodes
        digests = self.store.wanted_digests(record.action_id, record.name)
        wanted = {name: digests.get(name, "") for name in nodes}
        deployed = judge_deployed(wanted, self.store.node_records(self.request.site), found)
        self.store.settle_deployed(record.action_id, phase, deployed.as_wanted, deployed.withheld)
        if deployed.as_wanted:
            self.log.info("As wanted by now, not submitted: %s.", story.names(deployed.as_wanted))
        for line in story.withheld(deployed.withheld):
            self.log.warning("%s", line)
        return [name for name in nodes if name not in deployed.as_wanted and name not in deployed.withheld]
