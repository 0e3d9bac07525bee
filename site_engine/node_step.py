"""Drive a step on named nodes (destroy_nodes, relabel_nodes) to its verdict: is each of them proven done (rule 25)?

Like a group it knows everything from the store, so that a killed, retried, deferred or cleared task starts it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from site_engine import log_messages as story
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations, list_nodes, record_end
from site_engine.operations.wait import StillRunning
from site_store import OperationPhase
from strategy_lib.criteria import EVERY_NODE, evaluate
from strategy_lib.phase import NodeStep
from strategy_lib.task_state import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from site_engine.operations.run import OperationRun
    from site_engine.operations.wait import PhaseTimes
    from site_engine.task_log import TaskLog
    from site_store import Operation, SiteStore
    from strategy_lib.criteria import CriterionResult
    from strategy_lib.outcome import NodeCondition

_SAID = 5


@dataclass(frozen=True, slots=True)
class NodeStepRequest:
    """Which step on which nodes of which action.

    ``attempt`` differs when a person cleared the step, so that what is not done is tried again (rule 23). ``since`` is
    when this attempt began: older provisioner tasks are waited for as long as the step may take, from then on.
    ``ignore_older_tasks`` submits nodes although an older provisioner task still holds them. ``digests``: for new
    labels, the version of each node's design that has them.
    """

    action_id: str
    site: str
    step: NodeStep
    nodes: tuple[str, ...]
    attempt: int
    design_ref: str
    times: PhaseTimes
    since: datetime
    ignore_older_tasks: bool = False
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def phase(self) -> OperationPhase:
        """The step as the store calls it."""
        return OperationPhase(self.step.value)


@dataclass(frozen=True, slots=True)
class NodeStepVerdict:
    """How the step ended: its one criterion, and what is said of the nodes that are not proven done."""

    criterion: CriterionResult
    failure: str


class NodeStepRun:
    """Drives one step.

    Parameters
    ----------
    store, operations
        Where everything is kept; who carries out one operation.
    request : NodeStepRequest
    log : TaskLog
        The Airflow task's log: it tells the story to an operator.
    """

    def __init__(self, store: SiteStore, operations: OperationRun, request: NodeStepRequest, log: TaskLog) -> None:
        self.store = store
        self.operations = operations
        self.request = request
        self.log = log
        self.unfinished = UnfinishedOperations(operations, request.times)
        self.owner = OperationOwner(request.action_id, request.site, "", request.attempt)

    def has_begun(self) -> bool:
        """Whether this attempt has something under way, or done: a pause does not hold it back any more."""
        return self._operation() is not None

    def advance(self) -> NodeStepVerdict | StillRunning:
        """Go on until the step has its verdict, or a long wait is better deferred.

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            The provisioner could not be reached or refused; starting again resumes here.
        """
        operation = self._operation()
        if operation is None:
            begun = self._begin()
            if isinstance(begun, StillRunning):
                return begun
            operation = begun
        if operation is not None and operation.ended is None:
            ended = self.operations.run(operation, self.request.times)
            if isinstance(ended, StillRunning):
                return ended
            record_end(self.store, operation.op, ended, self.log)
        return self._judge()

    def _operation(self) -> Operation | None:
        """Return the operation of this attempt."""
        request = self.request
        found = [
            operation
            for operation in self.store.operations(request.action_id, "")
            if (operation.attempt, operation.phase) == (request.attempt, request.phase)
        ]
        return found[0] if found else None

    def _begin(self) -> Operation | StillRunning | None:
        """Claim what is not done and not held by older provisioner tasks; None when there is nothing to submit."""
        request, word = self.request, story.word(self.request.step)
        self.log.info("%s %s: %s.", word, story.count(len(request.nodes), "node"), story.names(request.nodes))
        self.unfinished.look_once(self.owner, request.nodes)
        wanted = self._not_done()
        if not wanted:
            self.log.info("All of them are done already. Nothing is submitted.")
            return None
        if request.ignore_older_tasks:
            self.unfinished.warn(self.owner, wanted)
        else:
            give_up = request.since + timedelta(seconds=request.times.timeout)
            held = self.unfinished.wait(self.owner, request.step, wanted, give_up)
            if isinstance(held, StillRunning):
                return held
            # What was waited for may have been an earlier attempt of this very step.
            wanted = [name for name in self._not_done() if name not in held.nodes]
        if not wanted:
            return None
        found: dict[str, NodeCondition] | None = None
        if request.step is NodeStep.DESTROY:
            listed = list_nodes(self.store, self.operations.provisioner, request.site, request.nodes)
            found = {name: node.condition for name, node in listed.items()}
        operation = self.store.begin_operation(
            request.action_id,
            request.site,
            "",
            request.attempt,
            request.phase,
            wanted,
            request.design_ref,
            found,
            request.digests,
        )
        if operation.nodes:
            self.log.info(story.submission(request.step, operation))
        return operation

    def _not_done(self) -> list[str]:
        done = {name for name, status in self._statuses().items() if status is TaskStatus.SUCCESS}
        return [name for name in self.request.nodes if name not in done]

    def _statuses(self) -> dict[str, TaskStatus]:
        tasks = self.store.step_tasks(self.request.action_id, self.request.phase)
        return {name: record.status for name, record in tasks}

    def _judge(self) -> NodeStepVerdict:
        request = self.request
        tasks = dict(self.store.step_tasks(request.action_id, request.phase))
        missing = {
            name: (tasks[name].error or tasks[name].status.value) if name in tasks else "not submitted"
            for name in request.nodes
            if name not in tasks or tasks[name].status is not TaskStatus.SUCCESS
        }
        total = len(request.nodes)
        (criterion,) = evaluate(EVERY_NODE, request.step, total, total - len(missing))
        self.log.info(story.criterion(criterion))
        return NodeStepVerdict(criterion, _failure(request.step, missing) if missing else "")


def _failure(step: NodeStep, missing: dict[str, str]) -> str:
    """Say which nodes are not proven done, and why; the first ones of many."""
    shown: Sequence[str] = sorted(missing)[:_SAID]
    said = "; ".join(f"{name}: {missing[name]}" for name in shown)
    more = f"; and {len(missing) - _SAID} more" if len(missing) > _SAID else ""
    return f"{step}: {story.count(len(missing), 'node')} not proven done: {said}{more}"
