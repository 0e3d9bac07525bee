"""The tasks of the provisioner in memory, and what a test has scripted of their nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from provisioner_client.protocol import (
    ACTIONS,
    ProvisionerTask,
    TaskMessage,
    TaskResult,
    TaskState,
    TaskTree,
)
from strategy_lib.phase import Phase


@dataclass
class FakeTask:
    """A task. ``left`` are its nodes that nothing has become of yet."""

    task_id: str
    phase: Phase
    reference: str
    nodes: tuple[str, ...]
    started: datetime | None = None
    ended: datetime | None = None
    orphaned: bool = False
    left: list[str] = field(default_factory=list)
    succeeded: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    children: dict[str, bool] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> TaskState:
        if self.started is None:
            return TaskState.QUEUED
        return TaskState.RUNNING if self.ended is None else TaskState.COMPLETE

    def shown(self) -> ProvisionerTask:
        """Return it as a provisioner shows it."""
        ended = self.state is TaskState.COMPLETE
        result = TaskResult.INCOMPLETE
        if ended:
            good = not self.failed and (self.succeeded or not self.nodes)
            bad = TaskResult.PARTIAL_SUCCESS if self.succeeded else TaskResult.FAILURE
            result = TaskResult.SUCCESS if good else bad
        return ProvisionerTask(
            self.task_id,
            ACTIONS[self.phase],
            self.state,
            result,
            frozenset(self.succeeded if ended else ()),
            frozenset(self.failed if ended else ()),
            tuple(TaskMessage(text, True, name, None) for name, text in self.messages.items()),
            self.reference,
        )

    def child(self, root: ProvisionerTask, name: str) -> TaskTree:
        """Return the task of one of its nodes, below its own as that is shown."""
        well = self.children.get(name)
        child = replace(
            root,
            task_id=f"{root.task_id}-{name}",
            state=root.state if well is None else TaskState.COMPLETE,
            result=TaskResult.INCOMPLETE if well is None else TaskResult.SUCCESS if well else TaskResult.FAILURE,
            successes=frozenset({name} if well else ()),
            failures=frozenset({name} if well is False else ()),
            messages=tuple(message for message in root.messages if message.context == name),
        )
        return TaskTree(child, frozenset({name}))


@dataclass
class Script:
    """What becomes of a node, in all attempts or one of them; ``factor`` times as late as of others."""

    behaviour: str
    attempt: int | None
    factor: float
