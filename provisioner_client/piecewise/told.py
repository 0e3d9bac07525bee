"""What is told of a task that is done node by node, in the values of the protocol: the task, its tree, the evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import (
    ACTIONS,
    ProvisionerTask,
    TaskMessage,
    TaskRef,
    TaskResult,
    TaskState,
    TaskTree,
    require_action,
)
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence, Lister
from strategy_lib.phase import Phase

Verdicts: TypeAlias = Mapping[str, tuple[bool | None, str]]
"""By the name of the node: whether it came to what was asked for (None: it is not over), and why not."""


class PiecewiseTask(ABC):
    """A task that is done node by node, as its backend has just read it.

    Parameters
    ----------
    reference : ours, which is its id, too.
    action : a value of `protocol.ACTIONS`.
    """

    def __init__(self, reference: str, action: str) -> None:
        self.reference, self.action = reference, action

    @property
    def phase(self) -> Phase:
        """The phase of its action. Raises `ProvisionerProtocolError`: none that is known."""
        return phase_of(self.action)

    @abstractmethod
    def verdicts(self) -> Verdicts:
        """Return what became of each of its nodes; "" is the name of what is about the whole site."""

    @abstractmethod
    def is_begun(self, node: str | None = None) -> bool:
        """Whether anything was done to this node; None: to any, or settled."""

    @abstractmethod
    def noted(self, node: str) -> Sequence[TaskMessage]:
        """Return what the provisioner has noted of what the task did to a node."""

    def require(self, ref: TaskRef) -> None:
        """Make sure that it is the task that is meant. Raises `ProvisionerProtocolError`."""
        if self.reference != ref.id or ref.reference not in (None, self.reference):
            raise ProvisionerProtocolError(f"the answer for task {ref.reference or ref.id} is about {self.reference}")
        require_action(ref, self.action)

    def task(self) -> ProvisionerTask:
        """Return it as it is now; its lists are empty until it is over."""
        return task_of(self.reference, self.action, self.verdicts(), is_begun=self.is_begun())

    def tree(self, node: str | None, waits: Mapping[str, str]) -> TaskTree:
        """Return it with one below it for each node, or for one node.

        `waits` says what nodes wait for that are not over, by their names.
        """
        found, root = dict(self.verdicts()), self.task()
        found |= {name: (None, why) for name, why in waits.items() if found.get(name) == (None, "")}
        names = [name for name in found if name and node in (None, name)]
        kept = tuple(message for message in root.messages if node is None or message.context in (None, node))
        below = tuple(self._part(name, *found[name]) for name in names)
        return TaskTree(replace(root, messages=kept), frozenset(names), children=below)

    def _part(self, node: str, ok: bool | None, why: str) -> TaskTree:
        """Return what it does to one node."""
        said = tuple(self.noted(node))
        if why and not any(message.error for message in said) and ok is not True:
            said = (*said, TaskMessage(one_line(why), error=ok is False, context=node, at=None))
        task = ProvisionerTask(
            task_id=f"{self.reference}/{node}",
            action=self.action,
            state=TaskState.COMPLETE if ok is not None else _under_way(is_begun=self.is_begun(node)),
            result=TaskResult.INCOMPLETE if ok is None else _result(int(ok), 1),
            successes=frozenset({node}) if ok else frozenset(),
            failures=frozenset({node}) if ok is False else frozenset(),
            messages=said,
            reference=self.reference,
        )
        times = [message.at for message in said if message.at]
        return TaskTree(
            task, frozenset({node}), created=times[0] if times else None, updated=times[-1] if times else None
        )


def phase_of(action: str) -> Phase:
    """Return the phase of a value of `ACTIONS`. Raises `ProvisionerProtocolError`: it is none."""
    for phase, word in ACTIONS.items():
        if word == action and phase is not Phase.RELEASE:
            return phase
    raise ProvisionerProtocolError(f"the action {action} is not known to this version of Slipway")


def is_over(found: Verdicts) -> bool:
    """Whether every node has come to its end."""
    return all(ok is not None for ok, _ in found.values())


def task_of(reference: str, action: str, found: Verdicts, *, is_begun: bool) -> ProvisionerTask:
    """Return a task; its lists are empty until it is over."""
    over, good = is_over(found), {name for name, (ok, _) in found.items() if ok}
    said = [
        TaskMessage(one_line(why), error=ok is False, context=name or None, at=None)
        for name, (ok, why) in found.items()
        if why
    ]
    return ProvisionerTask(
        task_id=reference,
        action=action,
        # Only deploys wait for a place; what waits for the machines themselves is under way.
        state=TaskState.COMPLETE if over else _under_way(is_begun=is_begun or action != ACTIONS[Phase.DEPLOY]),
        result=_result(len(good), len(found)) if over else TaskResult.INCOMPLETE,
        successes=frozenset(good - {""}) if over else frozenset(),
        failures=frozenset(set(found) - good - {""}) if over else frozenset(),
        messages=tuple(said),
        reference=reference,
    )


def _under_way(*, is_begun: bool) -> TaskState:
    return TaskState.RUNNING if is_begun else TaskState.QUEUED


def evidence_from(
    found: Verdicts,
    condition: Mapping[str, NodeCondition],
    words: Mapping[str, str],
    messages: Mapping[str, str],
    texts: Mapping[str, str],
    lister: Lister,
) -> Evidence:
    """Return the evidence: what is proven stands in the task's own lists once it is over, below the task before."""
    over = is_over(found)
    good = frozenset(name for name, (ok, _) in found.items() if ok and name)
    bad = frozenset(name for name, (ok, _) in found.items() if ok is False and name)
    return Evidence(
        over=over,
        reported_success=good if over else frozenset(),
        reported_failure=bad if over else frozenset(),
        child_success=frozenset() if over else good,
        child_failure=frozenset() if over else bad,
        condition=condition,
        status_names=words,
        messages={name: one_line(text) for name, text in messages.items()},
        texts=texts,
        listed=True,
        lister=lister,
    )


def _result(good: int, of: int) -> TaskResult:
    if good == of:
        return TaskResult.SUCCESS
    return TaskResult.PARTIAL_SUCCESS if good else TaskResult.FAILURE
