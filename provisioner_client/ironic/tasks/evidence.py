"""What is told of a task of Ironic, in the values of the protocol: the task, its tree, and the evidence (rule 13).

All of it is in the nodes as they are now: their states and their marks. A node without the task's mark was not begun.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from provisioner_client.http_errors import one_line
from provisioner_client.ironic.api import HistoryEvent
from provisioner_client.ironic.node import Mark, Node, read_time
from provisioner_client.ironic.tasks.next_step import Act, is_changed, is_told, next_step, own_mark, with_mark
from provisioner_client.piecewise.told import PiecewiseTask, evidence_from
from provisioner_client.protocol import TaskMessage
from provisioner_client.references import REFERENCE
from strategy_lib.outcome import Evidence, Lister
from strategy_lib.phase import Phase

NOTHING: Final = "nothing was done"


class MarkedNodes(PiecewiseTask):
    """A task, as those of some nodes say that have its mark or its claim.

    Parameters
    ----------
    reference : the task's.
    nodes : as they are now.
    """

    def __init__(self, reference: str, nodes: Iterable[Node]) -> None:
        self.histories: Mapping[str, Sequence[HistoryEvent]] = {}
        """What Ironic has noted of nodes, as far as that was asked for."""
        self.marks: dict[str, Mark] = {}
        self.nodes: dict[str, Node] = {}
        for node in (with_mark(one, reference) for one in nodes):
            if (mark := own_mark(node, reference)) is not None:
                self.nodes[node.name], self.marks[node.name] = node, mark
        super().__init__(reference, next((mark.action for mark in self.marks.values()), ""))

    def verdicts(self) -> dict[str, tuple[bool | None, str]]:
        """Return for each node whether it came to what was asked for, and why not.

        While a request may be under way that was not taken yet, its state says nothing.
        """
        found: dict[str, tuple[bool | None, str]] = {}
        phase = self.phase if self.marks else Phase.DESTROY
        for name, mark in self.marks.items():
            step = next_step(phase, self.nodes[name], self.reference)
            is_over = step.act is Act.SETTLE and (not mark.step or is_told(self.nodes[name], mark))
            found[name] = (step.ok, step.why) if is_over else (None, "")
        return found

    def is_begun(self, node: str | None = None) -> bool:
        """Whether anything was done to this node; None: to any, or settled."""
        if node is not None:
            return bool(self.marks[node].step)
        return any(mark.step or mark.ok is not None for mark in self.marks.values())

    def noted(self, node: str) -> Sequence[TaskMessage]:
        """Return what Ironic's history says of a node since the task has it."""
        since = read_time(self.marks[node].at)
        return [
            TaskMessage(f"{event.kind}: {event.text}", event.is_error, node, event.at.isoformat())
            for event in self.histories.get(node, ())
            if event.at is not None and since is not None and event.at >= since
        ]


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
    found = MarkedNodes(reference, nodes.values()).verdicts()
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
    return evidence_from(found, condition, words, messages, {}, Lister.IRONIC)


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
