"""What is due next for one node of a task: a table of phases and states of Ironic. Pure.

A mark is written right before each change of state, with the moment of the change before it. A node that has another
moment by now has changed since: so it is told whether a request was taken, whatever became of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from provisioner_client.ironic.node import CLEAN_FAILURE, REBUILD, Mark, Node, claim_of
from provisioner_client.protocol import ACTIONS, ON_ITS_WAY
from strategy_lib.node_condition import IRONIC_WORDS, OWNED_BY
from strategy_lib.phase import Phase


class Act(StrEnum):
    """What is done: a change of state is asked for, what is waited for, or nothing any more.

    `UNCLAIM`: a claim of ours is taken from a node on which nothing is deployed; then it is settled.
    """

    SEND = "send"
    UNCLAIM = "unclaim"
    RELABEL = "relabel"
    WAIT = "wait"
    SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step: which change of state is asked for, or what becomes of a node that is settled by it, and why."""

    act: Act
    target: str = ""
    ok: bool = False
    why: str = ""


TRANSIENT: Final = frozenset(
    state for state, condition in IRONIC_WORDS.items() if condition in ON_ITS_WAY and state != "rescue"
)
"""What Ironic itself ends, most of it within a time limit of its own."""
_FAILURES: Final[Mapping[str, frozenset[str]]] = {
    "manage": frozenset({"enroll"}),
    "inspect": frozenset({"inspect failed"}),
    "provide": frozenset({"clean failed"}),
    "active": frozenset({"deploy failed", "error"}),
    REBUILD: frozenset({"deploy failed", "error"}),
    "deleted": frozenset({"clean failed", "error"}),
}
"""Where a node is that has come to nothing, by what was asked for."""
_ORDER: Final = ("manage", "inspect", "provide")
_PREPARED_FROM: Final[Mapping[str, str]] = {
    "enroll": "manage",
    "inspect failed": "manage",
    "clean failed": "manage",
    "manageable": "provide",
}
NOTHING_ON_IT: Final = frozenset({"enroll", "manageable", "available", "inspect failed"})
_DELETED_FROM: Final = frozenset(
    {
        *("active", "deploy failed", "error", "wait call-back", "deploy hold"),
        *("rescue", "rescue failed", "unrescue failed", "service failed"),
    }
)
_RELEASE_FIRST: Final = "release it first"
_HINTS: Final[Mapping[str, str]] = {
    "deploy failed": _RELEASE_FIRST,
    "error": _RELEASE_FIRST,
    "active": _RELEASE_FIRST,
    "available": _RELEASE_FIRST,
    "rescue": "let it leave rescue mode in Ironic",
    "adopt failed": "look at it in Ironic",
    "enroll": "prepare it first",
    "manageable": "prepare it first",
    "inspect failed": "prepare it first",
    "clean failed": "prepare it first",
}
_OF_A_BMC: Final = ". Correct its driver_info in Ironic, or delete it there, so that it is enrolled anew"
_BUSY: Final = "No free conductor workers available"
"""Ironic's word for a change of state that it took, and took back at once."""


def next_step(phase: Phase, node: Node | None, reference: str, *, inspect: bool = False) -> NextStep:
    """Say what is due, or what came of it.

    Parameters
    ----------
    node : as it is now, with its mark; None: the site has no such node.
    reference : the task's. A node without its mark is one to which nothing was done.
    inspect : nodes are inspected before they are made available.
    """
    if node is None:
        return refused("the node is not, or no longer, in the site's part of Ironic")
    mark = own_mark(node, reference)
    if mark is not None and mark.ok is not None:
        return NextStep(Act.SETTLE, ok=mark.ok, why=mark.why)
    target = "" if mark is None else mark.step
    taken = mark is not None and bool(mark.step) and is_changed(node, mark)
    ended = _ended(phase, node, target, reference) if taken else None
    if ended is not None:
        return ended
    if node.stranger:
        whose = f"{node.state}{OWNED_BY}{node.stranger}"
        return refused(f"{node.name} is {whose} in Ironic, and is left alone")
    if node.state not in IRONIC_WORDS:
        unknown = "a state that this version of Slipway does not know, and waits for"
        return NextStep(Act.WAIT, why=f"{node.name} is {node.state or 'in no state'} in Ironic, {unknown}")
    if node.state in TRANSIENT and not (is_release(phase) and node.state in _DELETED_FROM):
        return NextStep(Act.WAIT, why=f"{node.name} is {node.state} in Ironic, which is waited for")
    if phase is Phase.RELABEL:
        return NextStep(Act.RELABEL)
    aside = _put_aside(phase, node)
    if aside:
        return refused(f"{node.name} is {node.state} in Ironic and {aside}, and is left alone")
    if node.reservation:
        return NextStep(Act.WAIT, why=f"{node.name} is locked by the conductor {node.reservation}, which is waited for")
    if phase is Phase.PREPARE:
        return _prepare(node, target, inspect=inspect, taken=taken)
    if phase is Phase.DEPLOY:
        return _deploy(node, reference)
    if is_release(phase):
        return _release(node)
    raise ValueError(f"{phase} is not for nodes")


def is_release(phase: Phase) -> bool:
    """Whether a phase takes from a node what is deployed on it."""
    return phase in (Phase.DESTROY, Phase.RELEASE)


def own_mark(node: Node, reference: str) -> Mark | None:
    """Return the mark of this task on a node; None: it has none, or a later task's."""
    return node.mark if node.mark is not None and node.mark.ref == reference else None


def with_mark(node: Node, reference: str) -> Node:
    """Return a node; one whose claim is this task's, and whose mark somebody has taken away, has a mark again."""
    if node.mark is not None or node.instance_uuid != claim_of(reference, node.name):
        return node
    lost = Mark(reference, ACTIONS[Phase.DEPLOY], step="active", since="lost", claim=reference)
    return replace(node, mark=lost)


def is_changed(node: Node, mark: Mark) -> bool:
    """Whether a node has changed its state since its mark was written."""
    return node.moment != mark.since


def is_told(node: Node, mark: Mark | None) -> bool:
    """Whether what became of a node stands in its mark, or its state says it: the step of the mark was taken.

    What is concluded of others is to be written down, or the next look may conclude something else.
    """
    if mark is None or node.stranger:
        # Nothing is written on a stranger's.
        return mark is not None
    return mark.ok is not None or (bool(mark.step) and is_changed(node, mark))


def refused(why: str) -> NextStep:
    """Return the step of a node that fails, and is left as it is."""
    return NextStep(Act.SETTLE, ok=False, why=why)


def _ended(phase: Phase, node: Node, target: str, reference: str) -> NextStep | None:
    """Return what became of a change of state that was taken; None: it is under way, or was taken back."""
    if is_release(phase):
        return _released(node)
    is_kept = node.is_ours if target == REBUILD else node.instance_uuid == claim_of(reference, node.name)
    if phase is Phase.DEPLOY and not is_kept:
        if node.stranger:
            return None
        return refused(f"{node.name} is {node.state} in Ironic: somebody released it after it was deployed")
    if node.state in _FAILURES.get(target, ()) and not is_taken_back(node):
        return refused(_failure(node))
    if phase is Phase.DEPLOY and node.state == "active":
        if target == REBUILD and is_taken_back(node):
            return refused(
                f"Ironic had no free worker, and does not show whether {node.name} was rebuilt: deploy it anew"
            )
        return NextStep(Act.SETTLE, ok=True)
    if phase is Phase.PREPARE and node.state == "available" and not node.stranger:
        return NextStep(Act.SETTLE, ok=True)
    return None


def _released(node: Node) -> NextStep | None:
    if node.is_ours:
        # Ironic takes the claim away with the deployment: this one was taken back.
        return refused(_failure(node)) if node.state == "error" and not is_taken_back(node) else None
    if node.state in _FAILURES["deleted"]:
        return refused(_failure(node))
    # Who has it by now has got it free.
    return None if node.state in TRANSIENT and not node.instance_uuid else NextStep(Act.SETTLE, ok=True)


def is_taken_back(node: Node) -> bool:
    """Whether the last change of state was taken and taken back at once, as its last error says."""
    return _BUSY in node.last_error


def _failure(node: Node) -> str:
    said = node.last_error.replace(f"node {node.uuid}", node.name).replace(node.uuid, node.name)
    said += _OF_A_BMC if said and node.state == "enroll" else ""
    return f"{node.state}: {said}" if said else f"{node.name} is {node.state} in Ironic, which does not say why"


def _put_aside(phase: Phase, node: Node) -> str:
    """Say why a node must not be touched; "": it may be."""
    if node.protected:
        return "protected"
    if node.retired:
        return "retired"
    if not node.maintenance:
        return ""
    why = node.maintenance_reason or node.fault
    said = f"in maintenance{f' ({why})' if why else ''}"
    if not node.fault:
        return said
    # Ironic's own maintenance: after a cleaning that failed it is cleaned again; of others it says what is broken.
    is_cleaned = phase is Phase.PREPARE and node.fault == CLEAN_FAILURE
    return "" if is_cleaned or is_release(phase) else said


def _prepare(node: Node, done: str, *, inspect: bool, taken: bool) -> NextStep:
    if node.rebuild:
        return NextStep(Act.SETTLE, ok=True, why="it is rebuilt when it is deployed: it needs no preparation")
    if node.state == "available":
        if node.instance_uuid:
            return _unfit(node, "prepared")
        return NextStep(Act.SETTLE, ok=True, why="it was available: it is prepared already")
    target = _PREPARED_FROM.get(node.state)
    if target is None:
        return _unfit(node, "prepared")
    if target == "provide" and inspect and not (done == "provide" or (done == "inspect" and taken)):
        target = "inspect"
    if taken and not is_taken_back(node) and _ORDER.index(target) <= _ORDER.index(done):
        return refused(f"{node.name} is {node.state} in Ironic again: somebody stopped what Slipway began ({done})")
    return NextStep(Act.SEND, target)


def _deploy(node: Node, reference: str) -> NextStep:
    if node.state == "available" and node.instance_uuid in ("", claim_of(reference, node.name)):
        return NextStep(Act.SEND, "active")
    if node.rebuild:
        return NextStep(Act.SEND, REBUILD)
    if node.state == "active" and node.is_ours:
        return NextStep(Act.SETTLE, ok=True, why="it was active already; nothing was done")
    return _unfit(node, "deployed")


def _release(node: Node) -> NextStep:
    if not node.instance_uuid and node.state in NOTHING_ON_IT:
        return NextStep(Act.SETTLE, ok=True, why=f"nothing is deployed on it: it was {node.state}")
    if node.is_ours and node.state in NOTHING_ON_IT:
        return NextStep(Act.UNCLAIM)
    # A release that failed has taken our claim away, and left its mark.
    half = node.state == "error" and not node.instance_uuid and node.mark is not None and bool(node.mark.claim)
    if node.state in _DELETED_FROM and (node.is_ours or half):
        return NextStep(Act.SEND, "deleted")
    if node.state == "clean failed":
        return refused(f"nothing is deployed on {node.name}, and it is not clean: {_failure(node)}. Prepare it")
    if not node.instance_uuid:
        return refused(f"{node.name} is {node.state} in Ironic without a claim of Slipway's, and is left alone")
    return _unfit(node, "released")


def _unfit(node: Node, done: str) -> NextStep:
    claimed = ", claimed by an earlier deploy," if node.state == "available" and node.instance_uuid else ""
    hint = _HINTS.get(node.state, "")
    return refused(f"{node.name} is {node.state}{claimed} in Ironic and cannot be {done}{f': {hint}' if hint else ''}")
