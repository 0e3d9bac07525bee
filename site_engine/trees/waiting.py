"""What pending nodes wait for, at which try of an action a node is, and how far batches are (rules 28, 39, 44, 59)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from site_engine.trees.action_steps import Steps
from site_store import ApprovalRecord, GroupFacts, StatusCount
from strategy_lib.groups.batch_words import BatchesSoFar, batches_so_far
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase
from strategy_lib.status.words import Status

_SENT = (TaskStatus.PROCESSING, TaskStatus.SUCCESS, TaskStatus.ERROR, TaskStatus.UNKNOWN)


class Tasks(Protocol):
    """The tasks of an action, as `action_tasks.Tasks` judges them."""

    @property
    def steps(self) -> Steps:
        """Judges the steps of the action."""

    @property
    def by_name(self) -> Mapping[str, GroupFacts]:
        """The groups by their names."""

    @property
    def gates(self) -> Mapping[str, ApprovalRecord]:
        """What each group has asked a person last."""

    @property
    def cells(self) -> Mapping[tuple[str, str], Sequence[StatusCount]]:
        """The roll-up by group and phase."""

    @property
    def turn(self) -> str | None:
        """The group whose turn it is to begin."""

    @property
    def at_work(self) -> str | None:
        """The first group that is at work."""

    def is_due(self, group: str, phase: str) -> bool:
        """Whether it is the turn of a phase."""


def waits_for_person(gate: ApprovalRecord | None) -> str:
    """Say what a group waits for that asks a person, with the command that answers; "" where it asks nobody."""
    if gate is None or gate.answered is not None:
        return ""
    return f"waits for approval: {approve_command(gate.action_id, gate.group)}: {gate.text}"


def approve_command(action_id: str, group: str) -> str:
    """Return the command that answers a group that waits for a person."""
    return f"slipway approve action/{action_id} --group {shlex.quote(group)}"


def why_waiting(tasks: Tasks, group: str, phase: str) -> str:
    """Say what the pending nodes of a group wait for in a phase; "" where nothing holds them.

    For which other node a node waits is stored with it, and goes before this.
    """
    facts = tasks.by_name.get(group)
    if facts is None:
        ahead = tasks.steps.turn()
        return f"waits for the step {ahead}" if ahead is not None and ahead != phase else ""
    asked = waits_for_person(tasks.gates.get(group))
    if asked:
        return asked
    if facts.state != GroupState.RUNNING:
        return _before_its_turn(tasks, facts)
    if phase == Phase.PREPARE:
        # All but those of later batches were sent together.
        begun = any(cell.records and cell.status in _SENT for cell in tasks.cells.get((group, phase), ()))
        return _waits_for_batch(tasks, facts) if begun else ""
    if phase == Phase.READY:
        return "" if tasks.is_due(group, phase) else "waits until it is deployed"
    return "" if tasks.is_due(group, phase) else "waits until it is prepared"


def _waits_for_batch(tasks: Tasks, group: GroupFacts) -> str:
    """Say how many nodes of a group are under way meanwhile, and how many may be (rule 59)."""
    if group.max_in_flight is None and group.canary is None:
        return "waits for its batch"
    cells = [cell for phase in GROUP_PHASES for cell in tasks.cells.get((group.name, phase), ())]
    under_way = sum(cell.records for cell in cells if cell.status == TaskStatus.PROCESSING)
    said = f"waits for its batch: {under_way} {'node is' if under_way == 1 else 'nodes are'} under way"
    found = batches_of(group, tasks.cells.get((group.name, Phase.PREPARE), ()))
    if found is None:
        return said
    said += f", of at most {found.most}" if found.most is not None else ""
    return f"{said}; canaries go first" if found.canaries and found.begun <= found.canaries else said


def _before_its_turn(tasks: Tasks, group: GroupFacts) -> str:
    if tasks.steps.facts.action.paused is not None:
        return "waits until the action goes on: it is paused"
    known = (tasks.by_name.get(name) for name in group.depends_on)
    needed = next((one.name for one in known if one is not None and one.state != GroupState.SUCCESS), None)
    if needed is not None:
        return f"waits for group {needed}"
    first = tasks.turn if tasks.at_work is None else tasks.at_work
    return f"waits for its turn: group {first} goes first" if first not in (None, group.name) else ""


def which_try(tries: int, cause: str | None, status: Status) -> str:
    """Say which try of an action a node is at, or ended with; "" for the first one, and for a success.

    Parameters
    ----------
    tries : the number of the try, from 1.
    cause : why the try before failed; None where that is not known.
    """
    if tries < 2 or status is Status.SUCCESS:
        return ""
    if status is Status.ERROR:
        return f"this was try {tries}"
    return f"try {tries}; the one before failed: {cause}" if cause else f"try {tries}"


def batches_of(group: GroupFacts, prepares: Iterable[StatusCount], *, over: bool = False) -> BatchesSoFar | None:
    """Return how far a group is; None where it does not go in batches.

    Parameters
    ----------
    prepares : the roll-up of its nodes in the phase prepare.
    over : its action is over: a group without a verdict was interrupted.
    """
    if not group.has_batches:
        return None
    cells = list(prepares)
    total = sum(cell.records for cell in cells)
    left = sum(cell.records for cell in cells if cell.status == TaskStatus.PENDING)
    state = GroupState.FAILURE if over and group.state == GroupState.RUNNING else group.state
    return batches_so_far(group.max_in_flight, group.canary, total, state, group.batches, group.begun, left)


def batches_to_dict(found: BatchesSoFar | None) -> dict[str, Any] | None:
    """Return the same as plain data."""
    if found is None:
        return None
    at = found.batches or None
    return {"most": found.most, "canaries": found.canaries, "at": at, "of": found.of, "text": found.text}
