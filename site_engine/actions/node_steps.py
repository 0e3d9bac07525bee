"""A step on named nodes (destroy_nodes, relabel_nodes): what it sends, and its verdict: is each node proven done?

Rule 25. `operations.resume` drives it, as it drives groups; every node counts. Nodes that wait for others are destroyed
before them, in an operation of their own (rule 40).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from site_engine import log_messages
from site_engine.operations.reconcile import OperationOwner, list_nodes
from site_engine.operations.resume import NextOperation, begun_operation
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes
from site_store import TaskRecord
from strategy_lib.groups.waves import removal_waves
from strategy_lib.node import TaskStatus
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.strategy import EVERY_NODE, CriterionResult
from strategy_lib.verdict import evaluate

_NAMED = 5


@dataclass(frozen=True, slots=True)
class NodeStepRequest:
    """Which step on which nodes of which action.

    ``attempt`` differs when a person cleared the step, so that what is not done is tried again (rule 23). ``since`` is
    when this attempt began: older provisioner tasks are waited for as long as the step may take, from then on.
    ``ignore_older_tasks`` submits nodes although an older provisioner task still holds them. ``digests``: for new
    labels, the version of each node's design that has them. ``waits_for``: for a removal, node to the nodes that it
    waits for when it is deployed: these go after it (rule 40). ``design_refs``: where the provisioner reads the design
    of nodes that the action's design does not have.
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
    waits_for: Mapping[str, Sequence[str]] = field(default_factory=dict)
    design_refs: Mapping[str, str] = field(default_factory=dict)

    @property
    def waves(self) -> Sequence[Sequence[str]]:
        """The nodes in the order in which they are sent: together, or those first that wait for others (rule 40).

        Nodes of different designs are not sent together.
        """
        waves = removal_waves(self.nodes, self.nodes, self.waits_for) if self.waits_for else [self.nodes]
        if not self.design_refs:
            return waves
        return [part for wave in waves for part in self._by_design(wave)]

    def _by_design(self, wave: Sequence[str]) -> list[list[str]]:
        parts: dict[str, list[str]] = {}
        for name in wave:
            parts.setdefault(self.design_refs.get(name, self.design_ref), []).append(name)
        return list(parts.values())


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
        self._waves = request.waves
        # Waves of which nothing can be submitted in this attempt.
        self._over: set[int] = set()

    def has_begun(self) -> bool:
        """Whether this attempt has something under way, or done: a pause does not hold it back any more."""
        begun = self._store.operations.of_action(self.request.action_id)
        return any(self.owner.owns(one) and one.phase is self.request.phase for one in begun)

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
        """Return the operation of one wave after the other until each has ended; then judge."""
        request, not_done = self.request, set(self._not_done())
        for number, wave in enumerate(self._waves):
            operation = begun_operation(self._store, self.owner, request.phase, number)
            if operation is not None and operation.ended is None:
                return NextOperation(request.phase, operation.nodes, request.times, number=number)
            nodes = [name for name in wave if name in not_done]
            if operation is None and nodes and number not in self._over:
                nodes = self._without_held(nodes, not_done)
                if nodes:
                    return NextOperation(
                        request.phase,
                        nodes,
                        request.times,
                        digests=request.digests,
                        number=number,
                        design_ref=request.design_refs.get(nodes[0]),
                    )
        if not not_done and not self.has_begun():
            self._log.info("All of them are done already. Nothing is submitted.")
        return self._judge()

    def prepare(
        self, due: NextOperation, free: Sequence[str], seen: Mapping[str, NodeCondition]
    ) -> NextOperation | None:
        """Return the operation with the free nodes that are not done; None without any."""
        # What was waited for may have been an earlier attempt of this very step.
        not_done = set(self._not_done())
        nodes = [name for name in free if name in not_done]
        if not nodes:
            self._over.add(due.number)
            return None
        found = None
        if self.request.phase is Phase.DESTROY:
            request = self.request
            provisioner = self._operations.provisioner
            listed = list_nodes(self._store, provisioner, request.action_id, request.site, request.nodes)
            found = {name: node.condition for name, node in listed.items()}
        return replace(due, nodes=nodes, found=found)

    def _without_held(self, nodes: Sequence[str], not_done: Collection[str]) -> list[str]:
        """Return the nodes without those that others still wait for, which are not done; why is kept (rule 40)."""
        held = {
            other: name
            for name, others in self.request.waits_for.items()
            if name in not_done
            for other in others
            if other in nodes
        }
        for other, name in sorted(held.items()):
            why = f"comes after {name}, which waits for it and is not proven done"
            self._store.tasks.explain_pending(self.request.action_id, self.request.phase, [other], why)
        return [name for name in nodes if name not in held]

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
