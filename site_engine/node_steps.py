"""A step on named nodes (destroy_nodes, relabel_nodes): what it sends, and its verdict: is each node proven done?

Rule 25. `operations.resume` drives it, as it drives groups; there is one operation, and every node counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from site_engine import log_messages
from site_engine.operations.reconcile import OperationOwner, list_nodes
from site_engine.operations.resume import NextOperation, begun_operation
from strategy_lib.criteria import EVERY_NODE, evaluate
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from site_engine.operations.run import OperationRun
    from site_engine.operations.wait import PhaseTimes
    from site_store import Operation, TaskRecord
    from strategy_lib.criteria import CriterionResult

_NAMED = 5


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
    phase: Phase
    nodes: tuple[str, ...]
    attempt: int
    design_ref: str
    times: PhaseTimes
    since: datetime
    ignore_older_tasks: bool = False
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeStepVerdict:
    """How the step ended: its one criterion, and what is said of the nodes that are not proven done."""

    criterion: CriterionResult
    failure: str


class NodeStepSubject:
    """One attempt of a step on nodes, as `SubjectDriver` drives it."""

    def __init__(self, operations: OperationRun, request: NodeStepRequest) -> None:
        self.request = request
        self.owner = OperationOwner(request.action_id, request.site, None, request.attempt)
        self.since = request.since
        self.times_of_others = request.times
        self._operations = operations
        self._store = operations.store
        self._log = operations.log
        # Set once nothing of this attempt can be submitted.
        self._over = False

    def has_begun(self) -> bool:
        """Whether this attempt has something under way, or done: a pause does not hold it back any more."""
        return self._operation() is not None

    def unsettled_nodes(self) -> Sequence[str]:
        """Return all nodes of the step before it has begun: what came late need not be done again."""
        return () if self.has_begun() else self.request.nodes

    def open(self) -> None:
        """Say what is to be done, unless it has begun."""
        if not self.has_begun():
            request = self.request
            nodes = f"{log_messages.count(len(request.nodes), 'node')}: {log_messages.names(request.nodes)}"
            self._log.info("%s %s.", log_messages.word(request.phase), nodes)

    def next(self) -> NextOperation | NodeStepVerdict:
        """Return the step's operation until it has ended; then judge."""
        operation = self._operation()
        if operation is not None:
            if operation.ended is None:
                return NextOperation(self.request.phase, operation.nodes, self.request.times)
            return self._judge()
        nodes = self._not_done()
        if not nodes:
            self._log.info("All of them are done already. Nothing is submitted.")
        if self._over or not nodes:
            return self._judge()
        return NextOperation(self.request.phase, nodes, self.request.times, digests=self.request.digests)

    def prepare(self, due: NextOperation, free: Sequence[str]) -> NextOperation | None:
        """Return the operation with the free nodes that are not done; None without any."""
        # What was waited for may have been an earlier attempt of this very step.
        not_done = set(self._not_done())
        nodes = [name for name in free if name in not_done]
        if not nodes:
            self._over = True
            return None
        found = None
        if self.request.phase is Phase.DESTROY:
            request = self.request
            provisioner = self._operations.provisioner
            listed = list_nodes(self._store, provisioner, request.action_id, request.site, request.nodes)
            found = {name: node.condition for name, node in listed.items()}
        return replace(due, nodes=nodes, found=found)

    def _operation(self) -> Operation | None:
        return begun_operation(self._store, self.owner, self.request.phase)

    def _tasks(self) -> dict[str, TaskRecord]:
        tasks = self._store.tasks.of_step(self.request.action_id, self.request.phase)
        return {name: record for name, record in tasks if not record.is_untouched}

    def _not_done(self) -> list[str]:
        done = {name for name, record in self._tasks().items() if record.status is TaskStatus.SUCCESS}
        return [name for name in self.request.nodes if name not in done]

    def _judge(self) -> NodeStepVerdict:
        verdict = judge_node_step(self.request.phase, self.request.nodes, self._tasks())
        log_messages.judged(verdict.criterion).write(self._log)
        return verdict


def judge_node_step(phase: Phase, nodes: Sequence[str], tasks: Mapping[str, TaskRecord]) -> NodeStepVerdict:
    """Return the verdict of a step on these nodes, of which every one must be proven done (rule 25).

    Parameters
    ----------
    tasks : what came of each node that was submitted, by name.
    """
    missing = {
        name: (tasks[name].error or tasks[name].status.value) if name in tasks else "not submitted"
        for name in nodes
        if name not in tasks or tasks[name].status is not TaskStatus.SUCCESS
    }
    (criterion,) = evaluate(EVERY_NODE, phase, len(nodes), len(nodes) - len(missing))
    return NodeStepVerdict(criterion, _failure(phase, missing) if missing else "")


def _failure(phase: Phase, missing: Mapping[str, str]) -> str:
    """Say which nodes are not proven done, and why; the first ones of many."""
    said = "; ".join(f"{name}: {missing[name]}" for name in sorted(missing)[:_NAMED])
    more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"{phase}: {log_messages.count(len(missing), 'node')} not proven done: {said}{more}"
