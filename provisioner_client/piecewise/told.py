"""What is told of a task that is done node by node, in the values of the protocol: the task, its tree, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import ACTIONS, ProvisionerTask, TaskMessage, TaskResult, TaskState, TaskTree
from strategy_lib.outcome import Evidence, Lister, NodeCondition
from strategy_lib.phase import Phase

Verdicts: TypeAlias = Mapping[str, tuple[bool | None, str]]
"""By the name of the node: whether it came to what was asked for (None: it is not over), and why not."""


def phase_of(action: str) -> Phase:
    """Return the phase of a value of `ACTIONS`. Raises `ProvisionerProtocolError`: it is none."""
    for phase, word in ACTIONS.items():
        if word == action and phase is not Phase.RELEASE:
            return phase
    raise ProvisionerProtocolError(f"the action {action} is not known to this version of Slipway")


def task_of(reference: str, action: str, found: Verdicts, *, over: bool, is_begun: bool) -> ProvisionerTask:
    """Return the task; its lists are empty until it is over. "" is the name of what is about the whole site."""
    good = {name for name, (ok, _) in found.items() if ok}
    # Only deploys wait for a place; what waits for the machines themselves is under way.
    is_queued = action == ACTIONS[Phase.DEPLOY] and not is_begun
    said = [
        TaskMessage(one_line(why), error=ok is False, context=name or None, at=None)
        for name, (ok, why) in found.items()
        if why
    ]
    return ProvisionerTask(
        task_id=reference,
        action=action,
        state=TaskState.COMPLETE if over else TaskState.QUEUED if is_queued else TaskState.RUNNING,
        result=_result(len(good), len(found)) if over else TaskResult.INCOMPLETE,
        successes=frozenset(good - {""}) if over else frozenset(),
        failures=frozenset(set(found) - good - {""}) if over else frozenset(),
        messages=tuple(said),
        reference=reference,
    )


def tree_of(
    root: ProvisionerTask,
    found: Verdicts,
    node: str | None,
    waits: Mapping[str, str],
    below: Callable[[str, bool | None, str], TaskTree],
) -> TaskTree:
    """Return the task with one below it for each machine, or for one machine.

    `waits` says what machines wait for that were not acted on yet, by the name of the node; `below` makes the part of
    one.
    """
    found = {**found, **{name: (None, why) for name, why in waits.items() if found.get(name) == (None, "")}}
    names = [name for name in found if name and node in (None, name)]
    kept = tuple(message for message in root.messages if node is None or message.context in (None, node))
    children = tuple(below(name, *found[name]) for name in names)
    return TaskTree(replace(root, messages=kept), frozenset(names), children=children)


def part_of(
    root: tuple[str, str], name: str, ok: bool | None, why: str, told: Sequence[TaskMessage], *, is_begun: bool
) -> TaskTree:
    """Return what a task does to one machine; `root` is the reference and the action of the task."""
    reference, action = root
    if why and not any(message.error for message in told) and ok is not True:
        told = (*told, TaskMessage(one_line(why), error=ok is False, context=name, at=None))
    task = ProvisionerTask(
        task_id=f"{reference}/{name}",
        action=action,
        state=TaskState.COMPLETE if ok is not None else TaskState.RUNNING if is_begun else TaskState.QUEUED,
        result=TaskResult.INCOMPLETE if ok is None else _result(int(ok), 1),
        successes=frozenset({name}) if ok else frozenset(),
        failures=frozenset({name}) if ok is False else frozenset(),
        messages=tuple(told),
        reference=reference,
    )
    times = [message.at for message in told if message.at]
    return TaskTree(task, frozenset({name}), created=times[0] if times else None, updated=times[-1] if times else None)


def evidence_of(
    found: Verdicts,
    condition: Mapping[str, NodeCondition],
    words: Mapping[str, str],
    messages: Mapping[str, str],
    texts: Mapping[str, str],
    lister: Lister,
    *,
    over: bool,
) -> Evidence:
    """Return the evidence: what is proven stands in the task's own lists once it is over, below the task before."""
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
