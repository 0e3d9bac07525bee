"""What is told of a task of Ironic, in the values of the protocol: the task, its tree, and the evidence (rule 13).

All of it is in the nodes as they are now: their states and their marks. A node without the task's mark was not begun.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from provisioner_client.http_errors import one_line
from provisioner_client.ironic.api import HistoryEvent
from provisioner_client.ironic.node import Node, read_time
from provisioner_client.ironic.tasks.next_step import Act, is_changed, is_told, next_step, own_mark
from provisioner_client.piecewise import told
from provisioner_client.protocol import REFERENCE, ProvisionerTask, TaskMessage, TaskTree
from strategy_lib.outcome import Evidence, Lister
from strategy_lib.phase import Phase

NOTHING: Final = "nothing was done"


def verdicts(phase: Phase, reference: str, nodes: Collection[Node]) -> dict[str, tuple[bool | None, str]]:
    """Return for each node with the task's mark whether it came to what was asked for, and why not.

    While a request may be under way that was not taken yet, its state says nothing.
    """
    found: dict[str, tuple[bool | None, str]] = {}
    for node in nodes:
        mark = own_mark(node, reference)
        if mark is not None:
            step = next_step(phase, node, reference)
            is_over = step.act is Act.SETTLE and (not mark.step or is_told(node, mark))
            found[node.name] = (step.ok, step.why) if is_over else (None, "")
    return found


def is_begun(reference: str, nodes: Collection[Node]) -> bool:
    """Whether anything was done to any node, or settled."""
    marks = [mark for node in nodes if (mark := own_mark(node, reference)) is not None]
    return any(mark.step or mark.ok is not None for mark in marks)


def task_of(action: str, reference: str, nodes: Collection[Node]) -> ProvisionerTask:
    """Return the task; its lists are empty until it is over."""
    found = verdicts(told.phase_of(action), reference, nodes)
    over = all(ok is not None for ok, _ in found.values())
    return told.task_of(reference, action, found, over=over, is_begun=is_begun(reference, nodes))


def evidence_of(
    phase: Phase,
    reference: str,
    nodes: Mapping[str, Node],
    sent: Collection[str],
    waits: Mapping[str, str],
    limits: str,
) -> Evidence:
    """Return what is known of the nodes that were sent.

    Parameters
    ----------
    nodes : those of the site, as they are now.
    waits : what nodes wait for that are not over.
    limits : what the site's part of Ironic is, for a message.
    """
    found = verdicts(phase, reference, nodes.values())
    over = all(ok is not None for ok, _ in found.values())
    messages = {name: text for name, (_, text) in found.items() if name in sent and text} | dict(waits)
    for name in set(sent) - found.keys():
        ok, why = _not_begun(phase, reference, name, nodes.get(name), limits)
        messages[name] = why
        if ok is False:
            found[name] = (False, why)
    # How a node is before anything was done to it proves nothing.
    shown = {
        name: node
        for name, node in nodes.items()
        if (mark := own_mark(node, reference)) is None or mark.ok is not None or (mark.step and is_changed(node, mark))
    }
    condition = {name: node.condition for name, node in shown.items()}
    words = {name: node.shown for name, node in shown.items()}
    return told.evidence_of(found, condition, words, messages, {}, Lister.IRONIC, over=over)


def part_of(reference: str, node: Node, ok: bool | None, why: str, events: Sequence[HistoryEvent]) -> TaskTree:
    """Return what a task does to one node, with what Ironic has noted of that."""
    mark = own_mark(node, reference)
    since = read_time(mark.at) if mark is not None else None
    said = [
        TaskMessage(f"{event.kind}: {event.text}", event.is_error, node.name, event.at.isoformat())
        for event in events
        if event.at is not None and since is not None and event.at >= since
    ]
    root = (reference, "" if mark is None else mark.action)
    return told.part_of(root, node.name, ok, why, said, is_begun=mark is not None and bool(mark.step))


def _not_begun(phase: Phase, reference: str, name: str, node: Node | None, limits: str) -> tuple[bool | None, str]:
    """Return what is known of a node without the task's mark: False where certainly nothing was done."""
    if node is None:
        return False, f"Ironic has no node {name} in {limits}: {NOTHING}"
    step = next_step(phase, node, reference)
    if node.mark is not None and not _is_later(reference, node.mark.ref):
        return None, f"another task, {one_line(node.mark.ref)}, has {name} by now: what this one did is not known"
    if step.act is Act.SETTLE and not step.ok:
        return False, f"{step.why}: {NOTHING}"
    if node.mark is None:
        return None, f"{name} has no mark of this task: {NOTHING}, or somebody has taken it away"
    return False, f"{name} could not be marked when its turn came: {NOTHING}"


def _is_later(reference: str, other: str) -> bool:
    """Whether a task was submitted after the other, by the same store."""
    this, that = REFERENCE.fullmatch(reference), REFERENCE.fullmatch(other)
    if this is None or that is None or this["store"] != that["store"]:
        return False
    return (this["action"], int(this["op"])) > (that["action"], int(that["op"]))
