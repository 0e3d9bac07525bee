"""The tasks of an action's nodes as they are shown: cells of the roll-up, and single leaves (rules 28, 30 and 34)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from typing import NamedTuple

from site_engine.groups.approvals import refusal
from site_engine.trees.action_steps import PENDING, Steps
from site_engine.trees.waiting import which_try, why_waiting
from site_store import ApprovalAnswer, ApprovalRecord, GroupFacts, LeafFacts, OperationStatus, StatusCount
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, SUBMITTED_PHASES, GroupState, Phase, Reason
from strategy_lib.status.entry import Blame, Entry, Role
from strategy_lib.status.leaf import OwnerRecord, Shown, UnknownCause, status_of_task
from strategy_lib.status.tree import GroupStanding, blame_groups, task_entry
from strategy_lib.status.words import Status
from strategy_lib.strategy import ApprovalMoment

_UNBLAMED = GroupState.RUNNING
_BEGUN = (GroupState.RUNNING, GroupState.SUCCESS)
JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)
"""States of a group that has its verdict."""
# To go through an enumeration takes long: this is asked of each group.
_STATES, _REASONS = (frozenset(word.value for word in known) for known in (GroupState, Reason))
_GATE_MOMENTS, _ANSWERS = (frozenset(word.value for word in known) for known in (ApprovalMoment, ApprovalAnswer))
_UNDER_WAY = (TaskStatus.PENDING, TaskStatus.PROCESSING)


class Tally(NamedTuple):
    """How many nodes show which status, and for each status the first sentence that explains it."""

    numbers: Mapping[Status, int]
    explained: Mapping[Status, str]


class _Standstill(NamedTuple):
    """Why the pending nodes of a group do not begin: what blocks them, and why they never will; "" where nothing."""

    blocked: str
    never: str


@dataclass(frozen=True)
class Tasks:
    """Judges the tasks of one action: those of its groups, and those of its step on nodes (the group "")."""

    steps: Steps
    _judged: dict[Hashable, Shown] = field(default_factory=dict)
    _judged_by: dict[tuple[str, str], int] = field(default_factory=dict)
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _not_begun: dict[tuple[str, str], Hashable] = field(default_factory=dict)
    _waits: dict[tuple[str, str], str] = field(default_factory=dict)
    _standing_still: dict[str, _Standstill] = field(default_factory=dict)
    _tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)

    @cached_property
    def blames(self) -> Mapping[str, Blame]:
        """Why groups fail: culprits, and those behind them."""
        return blame_groups(
            GroupStanding(
                group.name,
                group.depends_on,
                # What nobody knows blames nobody, and blocks nobody.
                GroupState(group.state or GroupState.PENDING) if self.unknown_of(group.name) is None else _UNBLAMED,
                Reason(group.reason) if group.reason in _REASONS else None,
                _explanation(group, self.gates.get(group.name)),
            )
            for group in self.steps.facts.groups
        )

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], Sequence[StatusCount]]:
        """The roll-up by group and phase."""
        found: defaultdict[tuple[str, str], list[StatusCount]] = defaultdict(list)
        for cell in self.steps.facts.counts:
            found[cell.group, cell.phase].append(cell)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, GroupFacts]:
        """The groups by their names."""
        return {group.name: group for group in self.steps.facts.groups}

    @cached_property
    def leaves(self) -> Mapping[tuple[str, str], Sequence[LeafFacts]]:
        """The nodes that were read, by group and phase."""
        found: defaultdict[tuple[str, str], list[LeafFacts]] = defaultdict(list)
        for leaf in self.steps.facts.leaves:
            found[leaf.group, leaf.phase].append(leaf)
        return found

    @cached_property
    def gates(self) -> Mapping[str, ApprovalRecord]:
        """What each group has asked a person last."""
        found: dict[str, ApprovalRecord] = {}
        for gate in sorted(self.steps.facts.approvals, key=lambda gate: (gate.attempt, gate.asked)):
            found[gate.group] = gate
        return found

    def unknown_of(self, group: str) -> str | None:
        """Return what is stored of a group, or of what it asked a person, and this version does not know."""
        return self._unknown.get(group)

    @cached_property
    def _unknown(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for gate in self.gates.values():
            _note_unknown(found, gate.group, (gate.answer, _ANSWERS), (gate.moment, _GATE_MOMENTS))
        for facts in self.steps.facts.groups:
            _note_unknown(found, facts.name, (facts.reason, _REASONS), (facts.state, _STATES))
        return found

    @cached_property
    def turn(self) -> str | None:
        """The group whose turn it is to begin; None where one is at work, or the plan is not made yet."""
        for group in self.steps.facts.groups:
            if group.state == GroupState.RUNNING:
                return None
            if group.state == GroupState.PENDING and group.name not in self.blames:
                return group.name
        return None

    @cached_property
    def at_work(self) -> str | None:
        """The first group that is at work."""
        return next((group.name for group in self.steps.facts.groups if group.state == GroupState.RUNNING), None)

    def is_waiting(self, group: str) -> bool:
        """Whether a group waits by design: for a person's answer, or because the action is paused before it."""
        if not self._may_wait:
            return False
        gate = self.gates.get(group)
        asked = gate is not None and gate.answered is None
        facts = self.by_name.get(group)
        paused = self.steps.facts.action.paused is not None
        return asked or (paused and facts is not None and facts.state == GroupState.PENDING)

    @cached_property
    def _may_wait(self) -> bool:
        return bool(self.gates) or self.steps.facts.action.paused is not None

    @cached_property
    def over(self) -> bool:
        """Whether the action is over."""
        return self.steps.over

    def names_nodes(self, group: str, phase: Phase) -> bool:
        """Whether single nodes are known of a group or of a phase, so that its entry is like no other's."""
        facts = self.by_name.get(group)
        known = (group, phase) in self.leaves or (group, phase) in self.steps.facts.fixed
        return known or (facts is not None and bool(facts.troubles))

    def judged_by(self, group: str, phase: Phase) -> int:
        """Return a number for all that the entry of a phase is judged by where no single nodes are known."""
        found = self._judged_by.get((group, phase))
        if found is None:
            cells = tuple([cell[2:] for cell in self.cells.get((group, phase), ())])
            all_of_it = cells, self.standstill(group), self._not_begun_by(group, phase)
            # A number in its place, which is compared many times.
            found = self._judged_by[group, phase] = self._numbers.setdefault(all_of_it, len(self._numbers))
        return found

    def tally(self, group: str, phase: Phase) -> Tally:
        """Return how the nodes of a group stand in a phase."""
        known = self._tallies.get((group, phase))
        if known is not None:
            return known
        numbers: dict[Status, int] = {}
        explained: dict[Status, str] = {}
        for cell in self.cells.get((group, phase), ()):
            shown = self.judge_cell(cell)
            numbers[shown.status] = numbers.get(shown.status, 0) + cell.records
            if shown.message:
                explained.setdefault(shown.status, shown.message)
        found = self._tallies[group, phase] = Tally(numbers, explained)
        return found

    def judge_cell(self, cell: StatusCount) -> Shown:
        """Return what is shown of the records of a cell."""
        # What is shown of most cells is the same in all groups that nothing blocks.
        not_begun = self._not_begun_by(cell.group, cell.phase) if cell.status == TaskStatus.PENDING else None
        key = (cell.status, cell.owner, self.standstill(cell.group), not_begun)
        shown = self._judged.get(key)
        if shown is None:
            shown = self._judged[key] = self.judge(cell.group, cell.phase, cell.status, cell.owner)
        return shown

    def _not_begun_by(self, group: str, phase: str) -> Hashable:
        """Return what pending nodes are judged by beside the standstill of their group; None where that decides."""
        facts = self.by_name.get(group)
        # Before its turn no phase is due, and all wait for the same.
        key = group, phase if facts is None or facts.state == GroupState.RUNNING else ""
        if key not in self._not_begun:
            found = None
            if not self.over and not any(self.standstill(group)):
                found = self.is_due(group, phase), self.is_waiting(group), self.why_waiting(group, phase)
            self._not_begun[key] = found
        return self._not_begun[key]

    def why_waiting(self, group: str, phase: str) -> str:
        """Say what the pending nodes of a group wait for in a phase; "" where nothing holds them."""
        facts = self.by_name.get(group)
        at_work = facts is None or facts.state == GroupState.RUNNING
        # Before its turn it waits for the same in each phase.
        key = (group, phase if at_work else "")
        found = self._waits.get(key)
        if found is None:
            found = self._waits[key] = why_waiting(self, group, phase)
        return found

    def standstill(self, group: str) -> _Standstill:
        """Return why pending nodes of a group do not begin."""
        known = self._standing_still.get(group)
        if known is not None:
            return known
        facts = self.by_name.get(group)
        blame = self.blames.get(group)
        # The task of a blocked group opens an attempt too, only to judge it.
        begun = facts is None or (facts.reason != Reason.DEPENDENCY and (facts.state in _BEGUN or bool(facts.started)))
        blocked = blame.message if blame is not None and blame.role is Role.VICTIM and not begun else ""
        never = ""
        if self.over:
            never = self.steps.why_over()
        elif facts is not None and facts.state in JUDGED:
            never = f"its group ended with {facts.state}"
        found = self._standing_still[group] = _Standstill(blocked, never)
        return found

    def judge(
        self,
        group: str,
        phase: str,
        stored: str,
        owner: str,
        note: str = "",
        unknown_because: UnknownCause = UnknownCause.LOST,
        as_wanted: bool = False,
        done_for: int | None = None,
    ) -> Shown:
        """Return what is shown of a stored status of nodes of a group, or ("") of a step on nodes."""
        blocked, never = self.standstill(group)
        if self.over and stored == TaskStatus.PROCESSING:
            return Shown(Status.ERROR, f"interrupted: {never}")
        shown = status_of_task(
            stored,
            note=note,
            blocked=blocked,
            never_begins=never,
            as_wanted=as_wanted,
            done_for=done_for,
            unknown_because=unknown_because,
        )
        if self.over:
            return shown
        if shown.status is Status.PENDING and not shown.message:
            shown = Shown(Status.PENDING, self.why_waiting(group, phase))
        expected, owners = owner or self.steps.provisioner, self.steps.owners
        if owners.is_there(expected):
            # What is under way there needs Airflow too: nobody else than its task reads what comes of it.
            return owners.judge(self.steps.airflow, shown) if shown.status is Status.PROCESSING else shown
        pending = shown.status is Status.PENDING
        turn = not pending or self.is_due(group, phase)
        return owners.judge(expected, shown, turn=turn, waiting=pending and self.is_waiting(group))

    def phases(self, group: str) -> Sequence[Phase]:
        """Return what a group goes through; of the group "" what is to be known of all nodes."""
        facts = self.by_name.get(group)
        return SUBMITTED_PHASES if facts is not None and not facts.asks_ready else GROUP_PHASES

    def is_due(self, group: str, phase: str) -> bool:
        """Whether it is the turn of a phase: its group has begun, and nothing of the phase before it is to be done."""
        facts = self.by_name.get(group)
        if facts is not None and facts.state != GroupState.RUNNING:
            return False
        if phase == Phase.PREPARE:
            return True
        if phase in (Phase.DEPLOY, Phase.READY):
            before = self.cells.get((group, Phase.PREPARE if phase == Phase.DEPLOY else Phase.DEPLOY), ())
            return not any(cell.records and cell.status in _UNDER_WAY for cell in before)
        step = self.steps.of_action().get(phase)
        return step is not None and step.state != PENDING

    def leaf_entry(self, leaf: LeafFacts) -> Entry:
        """Return the entry of a node in a phase."""
        owner = leaf.owner or self.steps.provisioner
        shown = self.judge(
            leaf.group,
            leaf.phase,
            leaf.status,
            owner,
            leaf.message or "",
            unknown_because=cause_of(leaf.operation_status),
            # Nothing was submitted for a node that was as wanted already (rule 21).
            as_wanted=leaf.op is None and leaf.phase in GROUP_PHASES,
            done_for=leaf.done_revision,
        )
        if leaf.not_prepared is not None:
            # Its own error says more than what its group or its action ended with.
            why = f"its prepare did not succeed: {leaf.not_prepared}"
            shown = Shown(shown.status, f"not started: {why}" if shown.status is Status.ERROR else why)
        unresponsive = shown.status is Status.UNRESPONSIVE
        stored: str | None = shown.status.value
        if shown.status is Status.PENDING or (unresponsive and leaf.status == TaskStatus.PENDING):
            stored = None
        elif unresponsive:
            stored = leaf.status
        said = (shown.message, which_try(leaf.tries, leaf.fixed, shown.status))
        decided = self._decided(leaf.group) if shown.status is Status.ERROR and leaf.started is None else None
        record = OwnerRecord(
            owner,
            stored,
            alive=not unresponsive,
            messages=tuple(words for words in said if words),
            first_updated=leaf.started or decided,
            last_updated=leaf.ended or leaf.started or decided,
        )
        elsewhere = leaf.owner_group if leaf.owner_group not in (None, leaf.group) else None
        gone = [self.steps.airflow] if unresponsive and not self.steps.owners.is_there(self.steps.airflow) else []
        return task_entry(
            leaf.node,
            [record],
            processed_by=elsewhere if leaf.group else None,
            owners=tuple(self.steps.owners.seen(name, shown.status) for name in (owner, *gone) if name),
            op=leaf.op if leaf.op is not None else leaf.done_op,
            provisioner_task=leaf.provisioner_task,
            tries=leaf.tries,
            fixed=leaf.fixed or "",
        )

    def _decided(self, group: str) -> datetime | None:
        """Return when it was decided that the rest of a group is not begun: with its own end, or its culprit's."""
        blame, facts = self.blames.get(group), self.by_name.get(group)
        culprit = self.by_name.get(blame.culprit) if blame is not None else None
        ends = [one.ended for one in (facts, culprit) if one is not None and one.ended is not None]
        return ends[0] if ends else self.steps.facts.action.ended


def _note_unknown(found: dict[str, str], group: str, *told: tuple[str | None, frozenset[str]]) -> None:
    """Note a word of a group that is none of the known ones; of several the one that is told last."""
    for word, known in told:
        if word is not None and word not in known:
            found[group] = word


@cache
def stored_status(word: str) -> Status:
    """Return what the stored word of a task says by itself."""
    return status_of_task(word).status


def cause_of(operation_status: str | None) -> UnknownCause:
    """Return why a task is unknown, by how its operation ended."""
    return UnknownCause.TIMEOUT if operation_status == OperationStatus.TIMED_OUT else UnknownCause.LOST


def _explanation(group: GroupFacts, gate: ApprovalRecord | None) -> str:
    """Say why a group failed: who refused it, or which criteria it missed; "" where its reason says it all."""
    if group.reason == Reason.APPROVAL and gate is not None and (refused := refusal([gate])):
        return f"not approved: {refused}"
    if group.reason == Reason.CANARY:
        # Before its canaries have succeeded a group begins no others.
        lost = dict.fromkeys(trouble.node for trouble in group.troubles)
        why = f"canaries failed: {', '.join(lost)}" if lost else "a canary did not succeed"
        return f"{why}; no other node was begun"
    missed = [
        f"{criterion['phase']}: {criterion['criterion']} needed {criterion['needed']}, actual {criterion['actual']}"
        for criterion in group.criteria
        if not criterion["met"]
    ]
    return "; ".join(missed)
