"""A provisioner in memory, whose tasks take their time by a clock: the contract suite runs against it, too.

It does one task after the other, as Drydock does, and can be told what shall become of a node, and of a request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from provisioner_client.designs import DesignSource, DesignValidation
from provisioner_client.errors import ProvisionerError, ProvisionerProtocolError, SubmissionRefused, TaskNotFound
from provisioner_client.protocol import (
    ACTIONS,
    LONG_AGO,
    ListedNode,
    NodeChanges,
    ProvisionerTask,
    TaskRef,
    TaskState,
    TaskTree,
)
from provisioner_client.references import newest_reference
from site_engine.process import Clock
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import REFUSED_BY_PREPARE, Evidence
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.support.fake_tasks import FakeTask, Script

_STATUS = {
    NodeCondition.NEW: "New",
    NodeCondition.COMMISSIONING: "Commissioning",
    NodeCondition.READY: "Ready",
    NodeCondition.DEPLOYING: "Deploying",
    NodeCondition.DEPLOYED: "Deployed",
    NodeCondition.FAILED_COMMISSIONING: "Failed commissioning",
    NodeCondition.FAILED_DEPLOYMENT: "Failed deployment",
    NodeCondition.ALLOCATED: "Allocated",
    NodeCondition.FAILED_RELEASE: "Releasing failed",
}
_CONDITIONS = {status: condition for condition, status in _STATUS.items()}
_FAILURES = {
    Phase.PREPARE: "Error commissioning node {}",
    Phase.DEPLOY: "Error deploying node {}",
    Phase.DESTROY: "Error Releasing node {}",
    Phase.RELABEL: "Failed to label node {}",
}
_FAILED = {
    Phase.PREPARE: NodeCondition.FAILED_COMMISSIONING,
    Phase.DEPLOY: NodeCondition.FAILED_DEPLOYMENT,
    Phase.DESTROY: NodeCondition.FAILED_RELEASE,
}
_AT_WORK = {Phase.PREPARE: NodeCondition.COMMISSIONING, Phase.DEPLOY: NodeCondition.DEPLOYING}


class FakeProvisioner:
    """A provisioner and its controls.

    Parameters
    ----------
    clock : Clock
        By which its tasks take their time.
    seconds : float
        How long a task takes.
    settle : float
        For how long a request may still take effect.
    at_once : int
        How many tasks it does at the same time.
    """

    def __init__(self, clock: Clock, seconds: float = 1.0, settle: float = 1.0, at_once: int = 1) -> None:
        self.clock = clock
        self.settle = settle
        self.looks = 0
        self.sent = 0
        self.before_sending: Callable[[], object] = lambda: None
        self._seconds = seconds
        self._at_once = at_once
        self._tasks: dict[str, FakeTask] = {}
        self._conditions: dict[str, NodeCondition] = {}
        self._scripts: dict[tuple[str, str], Script] = {}
        self._attempts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._faults: defaultdict[str, list[tuple[ProvisionerError, bool]]] = defaultdict(list)
        self._overlapping: list[tuple[str, str]] = []
        self._free_since: datetime | None = None

    # What Slipway asks of it.

    def check(self) -> str:
        """Say that it can be reached."""
        return "The fake answers, and accepts the credentials."

    def check_names(self, nodes: Collection[str]) -> None:
        """Refuse names that are too long."""
        for name in nodes:
            if len(name) > 32:
                raise SubmissionRefused(f"the node name {name} has more than 32 characters")

    def validate_design(self, design: DesignSource) -> DesignValidation:
        """Accept every design."""
        return DesignValidation(True, ())

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        """Fail: it has machines and no designs, and the contract's tests of selectors ask the simulator."""
        raise NotImplementedError("the provisioner in memory reads no design")

    def submit(
        self,
        phase: Phase,
        design: DesignSource,
        nodes: Sequence[str] | None,
        reference: str,
        *,
        guard: Callable[[], None] | None = None,
        sent_ago: float | None = LONG_AGO,
    ) -> str:
        """Take a task; one of this reference is joined, unless it certainly was never sent."""
        if not nodes and phase.is_of_nodes:
            raise SubmissionRefused(f"{phase} is for named nodes")
        if sent_ago is not None:
            found = self.find(reference)
            if found is not None:
                return found.task_id
        self.check_names(nodes or ())
        self.before_sending()
        if guard is not None:
            guard()
        self.sent += 1
        fault = self._faults["submit"].pop(0) if self._faults["submit"] else None
        if fault is None or fault[1]:
            task_id = self._take(phase, tuple(nodes or ()), reference)
        if fault is not None:
            raise fault[0]
        return task_id

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look through its tasks."""
        self.looks += 1
        self._answer("find")
        return next((task.shown() for task in self._tasks.values() if task.reference == reference), None)

    def newest_reference(self, store: str) -> str | None:
        """Look through all tasks."""
        self._answer("newest_reference")
        return newest_reference((task.reference for task in self._tasks.values()), store)

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Show a task."""
        self._answer("task")
        task = self._known(ref.id)
        is_other = ref.phase is not None and ACTIONS[ref.phase] != ACTIONS[task.phase]
        if is_other or ref.reference not in (None, task.reference):
            raise ProvisionerProtocolError(f"task {ref.id} is another one")
        return task.shown()

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Show a task, and one for each node below it; none for a task of one node."""
        self._answer("task_tree")
        root = self.task(ref)
        task = self._known(ref.id)
        alone = len(task.nodes) < 2
        said = root.messages if alone else ()
        names = [name for name in task.nodes if node in (None, name)]
        below = () if alone else tuple(task.child(root, name) for name in names)
        return TaskTree(replace(root, messages=said), frozenset(task.nodes), children=below)

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Tell what it knows of the nodes."""
        self._answer("evidence")
        task = self._tasks.get(ref.id)
        if task is not None and task.state is TaskState.QUEUED:
            return Evidence(over=False, listed=True)
        conditions = {name: self._conditions[name] for name in sent if name in self._conditions}
        names = {name: _STATUS[condition] for name, condition in conditions.items()}
        if task is None:
            return Evidence(over=True, condition=conditions, status_names=names, listed=True)
        ended = task.state is TaskState.COMPLETE
        return Evidence(
            over=ended,
            reported_success=frozenset(task.succeeded if ended else ()),
            reported_failure=frozenset(task.failed if ended else ()),
            child_success=frozenset(name for name, well in task.children.items() if well),
            child_failure=frozenset(name for name, well in task.children.items() if not well),
            condition=conditions,
            status_names=names,
            messages=dict(task.messages),
            listed=True,
        )

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Say whether it was restarted under a task, and has begun another since."""
        self._answer("is_dead")
        task = self._known(task_id)
        order = list(self._tasks.values())
        newer = order[order.index(task) + 1 :]
        return task.orphaned and any(other.started is not None for other in newer)

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """List the machines that it has seen, but those that were destroyed."""
        self._answer("nodes")
        return {
            name: ListedNode(name, condition, _STATUS[condition], None)
            for name, condition in self._conditions.items()
            if names is None or name in names
        }

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give the whole list."""
        return NodeChanges(self.nodes())

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Refuse all: it knows no power."""
        self._answer("power_on")
        return dict.fromkeys(nodes, "it knows no power")

    def close(self) -> None:
        """Keep everything: it serves all clients of a test."""

    # What a test tells it, and asks it; as `Simulator`.

    def script(self, node: str, phase: str, behaviour: str, *, attempt: int | None = None, factor: float = 1.0) -> None:
        """Say what shall become of a node."""
        self._scripts[node, f"{phase.removesuffix('_nodes')}_nodes"] = Script(behaviour, attempt, factor)

    def fault(self, method: str, error: ProvisionerError, count: int = 1, *, taken: bool = False) -> None:
        """Have the next calls of a method fail; a submission can be ``taken`` in spite of it."""
        self._faults[method] += [(error, taken)] * count

    def release_stuck(self) -> None:
        """Let stuck nodes go on, from now on."""
        self._advance()
        stuck = [key for key, script in self._scripts.items() if script.behaviour == "stuck"]
        assert stuck, "nothing is stuck"
        for key in stuck:
            del self._scripts[key]

    def orphan(self) -> None:
        """Restart it under the task at work, which is said to run for ever."""
        self._advance()
        for task in self._tasks.values():
            if task.state is TaskState.RUNNING:
                task.orphaned = True
                self._free_since = self.clock.now()

    def forget(self, task_id: str) -> None:
        """Lose a task."""
        self._advance()
        del self._tasks[task_id]

    def set_status(self, node: str, status: str) -> None:
        """Bring a machine into a status, by another hand."""
        self._advance()
        self._conditions[node] = _CONDITIONS[status]

    def shown_tasks(self) -> list[ProvisionerTask]:
        """Return all tasks, in order."""
        self._advance()
        return [task.shown() for task in self._tasks.values()]

    def submissions(self) -> list[tuple[str, list[str]]]:
        """Return (action, sorted nodes) of every task that is about named nodes, in order."""
        return [(ACTIONS[task.phase], sorted(task.nodes)) for task in self._tasks.values() if task.nodes]

    def double(self) -> list[tuple[str, str]]:
        """Return (node, action) of every node that was submitted while another task was about it."""
        return self._overlapping

    def _answer(self, method: str) -> None:
        self._advance()
        if self._faults[method]:
            raise self._faults[method].pop(0)[0]

    def _known(self, task_id: str) -> FakeTask:
        if task_id not in self._tasks:
            raise TaskNotFound(f"there is no task {task_id}")
        return self._tasks[task_id]

    def _take(self, phase: Phase, nodes: tuple[str, ...], reference: str) -> str:
        self._advance()
        at_work = [task for task in self._tasks.values() if task.ended is None and not task.orphaned]
        self._overlapping += [(name, ACTIONS[phase]) for task in at_work for name in nodes if name in task.nodes]
        phase = Phase.DESTROY if phase is Phase.RELEASE else phase
        task = FakeTask(f"task-{len(self._tasks) + 1}", phase, reference, nodes, left=list(nodes))
        self._tasks[task.task_id] = task
        self._advance()
        return task.task_id

    def _advance(self) -> None:
        """Bring all tasks up to the present."""
        now = self.clock.now()
        at_work = 0
        for task in self._tasks.values():
            if task.ended is not None or task.orphaned:
                continue
            if task.started is None:
                self._start(task, (self._at_once == 1 and self._free_since) or now)
            if not self._work(task, now):
                at_work += 1
                if at_work == self._at_once:
                    return
                continue
            self._free_since = now

    def _start(self, task: FakeTask, at: datetime) -> None:
        task.started = at
        for name in task.nodes:
            self._attempts[name, ACTIONS[task.phase]] += 1
            if task.phase in _AT_WORK and self._can_be_worked_on(task.phase, name):
                self._conditions[name] = _AT_WORK[task.phase]

    def _work(self, task: FakeTask, now: datetime) -> bool:
        """Bring a task up to the present; return whether it is over."""
        assert task.started is not None
        for name in list(task.left):
            script = self._script(name, task.phase)
            if script.behaviour == "stuck":
                continue
            if now - task.started < timedelta(seconds=self._seconds * script.factor):
                continue
            task.left.remove(name)
            self._finish_node(task, name, script.behaviour)
        if not task.left and now - task.started >= timedelta(seconds=self._seconds):
            task.ended = now
        return task.ended is not None

    def _script(self, name: str, phase: Phase) -> Script:
        key = (name, ACTIONS[phase])
        script = self._scripts.get(key, Script("success", None, 1.0))
        applies = script.attempt in (None, self._attempts[key]) and not (
            script.behaviour == "flaky" and self._attempts[key] > 1
        )
        return script if applies else Script("success", None, 1.0)

    def _can_be_worked_on(self, phase: Phase, name: str) -> bool:
        condition = self._conditions.get(name, NodeCondition.NEW)
        if phase is Phase.PREPARE:
            return condition not in REFUSED_BY_PREPARE | {NodeCondition.DEPLOYED, NodeCondition.DEPLOYING}
        return condition is NodeCondition.READY

    def _finish_node(self, task: FakeTask, name: str, behaviour: str) -> None:
        phase, condition = task.phase, self._conditions.get(name, NodeCondition.NEW)
        if phase in _AT_WORK and condition is NodeCondition.DEPLOYED:
            behaviour = "untouched"
        elif phase in _AT_WORK and condition is not _AT_WORK[phase]:
            behaviour = "refused"
        if behaviour in ("fail", "flaky", "both_lists", "refused", "boot_action"):
            task.failed.add(name)
            task.children[name] = False
            task.messages[name] = _FAILURES[phase].format(name)
        if behaviour in ("success", "slow", "false_success", "both_lists", "untouched"):
            task.succeeded.add(name)
            task.children.setdefault(name, True)
        if behaviour in ("success", "slow", "unreported_done", "boot_action"):
            self._done(phase, name)
        elif phase in _FAILED and behaviour in self._spoils(phase):
            self._conditions[name] = _FAILED[phase]

    @staticmethod
    def _spoils(phase: Phase) -> tuple[str, ...]:
        """Return the behaviours after which a node is worse off."""
        failures = ("fail", "flaky", "both_lists")
        return (*failures, "false_success") if phase in _AT_WORK else failures

    def _done(self, phase: Phase, name: str) -> None:
        if phase is Phase.PREPARE:
            self._conditions[name] = NodeCondition.READY
        elif phase is Phase.DEPLOY:
            self._conditions[name] = NodeCondition.DEPLOYED
        elif phase is Phase.DESTROY:
            self._conditions.pop(name, None)
