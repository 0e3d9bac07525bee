"""The groups of an action, their phases and nodes, as entries of its tree (rules 28, 30 and 34)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from site_engine.actions.kinds import DEPLOY_GROUP
from site_engine.trees.action_steps import LEFT_OUT, PENDING, Steps
from site_store import OperationStatus, StepState
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase, Reason
from strategy_lib.status.entry import Blame, Entry, EntryKind, GroupDetails, Role
from strategy_lib.status.leaf import OwnerRecord, Shown, UnknownCause, status_of_record, status_of_task
from strategy_lib.status.tree import (
    MOST_MESSAGES,
    GroupStanding,
    blame_groups,
    parent_entry,
    task_entry,
    unrecorded_entry,
)
from strategy_lib.status.words import Status, highest, status_of_parent

if TYPE_CHECKING:
    from site_store import ApprovalRecord, GroupFacts, LeafFacts, StatusCount

_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)
_BEGUN = (GroupState.RUNNING, GroupState.SUCCESS)
_WORST = tuple(sorted(Status, key=lambda status: -status.rank))


@dataclass(frozen=True)
class Groups:
    """Judges the groups of one action, and the nodes of its step on nodes (the group "")."""

    steps: Steps

    @cached_property
    def blames(self) -> Mapping[str, Blame]:
        """Why groups fail: culprits, and those behind them."""
        return blame_groups(
            GroupStanding(
                group.name,
                group.depends_on,
                GroupState(group.state or GroupState.PENDING),
                None if group.reason is None else Reason(group.reason),
                _explanation(group),
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

    @cached_property
    def turn(self) -> str | None:
        """The group whose turn it is to begin; None where one is at work, or the plan is not made yet."""
        for group in self.steps.facts.groups:
            if group.state == GroupState.RUNNING:
                return None
            if group.state == GroupState.PENDING and group.name not in self.blames:
                return group.name
        return None

    def is_waiting(self, group: str) -> bool:
        """Whether a group waits by design: for a person's answer, or because the action is paused before it."""
        gate = self.gates.get(group)
        asked = gate is not None and gate.answered is None
        facts = self.by_name.get(group)
        paused = self.steps.facts.action.paused is not None
        return asked or (paused and facts is not None and facts.state == GroupState.PENDING)

    def stage(self, steps: Mapping[str, Any]) -> Entry:
        """Return the stage of the groups."""
        facts = self.steps.facts
        own = steps.get(DEPLOY_GROUP)
        if facts.action.dry_run:
            children = tuple(
                unrecorded_entry(EntryKind.GROUP, group.name, LEFT_OUT, group=self.details(group))
                for group in facts.groups
            )
            return unrecorded_entry(EntryKind.STAGE, DEPLOY_GROUP, LEFT_OUT, children=children)
        if not facts.groups and (own is None or own.state == PENDING):
            step = self.steps.entry(DEPLOY_GROUP)
            return (
                step
                if step.status is None
                else parent_entry(
                    EntryKind.STAGE, DEPLOY_GROUP, (), own=self.steps.records(DEPLOY_GROUP, own)[0], owners=step.owners
                )
            )
        per_group = self.steps.of_groups()
        children = tuple(self.entry(group, per_group.get(group.name)) for group in facts.groups)
        stage = parent_entry(EntryKind.STAGE, DEPLOY_GROUP, children, counts=self.counts(children))
        whole = sum(cell.records for phase in GROUP_PHASES for cell in self.cells.get(("", phase.value), ()))
        leaves = min(stage.leaves, whole)
        return replace(stage, leaves=leaves, own_leaves=leaves)

    def entry(self, group: GroupFacts, step: Any) -> Entry:
        """Return the entry of a group, with its phases."""
        phases = tuple(
            self.phase_entry(group.name, phase) for phase in GROUP_PHASES if (group.name, phase.value) in self.cells
        )
        blame = self.blames.get(group.name)
        if blame is not None and blame.role is Role.CULPRIT and group.state != GroupState.FAILURE:
            blame = None
        records = self.own_records(group, step, phases)
        own = records[0] if records else None
        counts = self.node_counts(group.name)
        return parent_entry(
            EntryKind.GROUP,
            group.name,
            phases,
            own=own,
            blame=blame,
            counts=counts,
            owners=tuple(self.steps.owners.seen(record.owner, status_of_record(record)) for record in records)
            or self.expected(step),
            group=self.details(group),
        )

    def expected(self, step: Any) -> tuple[Any, ...]:
        """Return who is expected to drive a group, where nothing is to be said of it."""
        name = (step.owner if step is not None else None) or self.steps.airflow
        return (self.steps.owners.seen(name),)

    def own_records(self, group: GroupFacts, step: Any, phases: Sequence[Entry]) -> list[OwnerRecord]:
        """Return what Airflow's task of a group adds to its nodes: nothing once it is judged, or waits for them."""
        if self.steps.over or group.state in _JUDGED or group.name in self.blames:
            if step is not None and step.state == StepState.FAILED and group.state not in _JUDGED:
                return self.steps.records(DEPLOY_GROUP, step, turn=False)
            return []
        at_work = group.state == GroupState.RUNNING or (step is not None and step.state not in (PENDING, "success"))
        turn = self.turn == group.name
        waiting = self.is_waiting(group.name)
        shown = Shown(Status.PENDING)
        if at_work and (step is None or step.state == PENDING or step.state == StepState.SKIPPED):
            shown = Shown(Status.PROCESSING)
        elif at_work:
            shown = self.steps.shown(DEPLOY_GROUP, step)
        gate = self.gates.get(group.name)
        if waiting and gate is not None and gate.answered is None:
            shown = Shown(Status.PROCESSING, f"waits for approval: {gate.text}")
        name = (step.owner if step is not None else None) or self.steps.airflow
        started = group.started
        record = self.steps.owners.record(name, shown, turn=turn, waiting=waiting, first=started, last=started)
        below = {phase.status for phase in phases}
        if shown.status is Status.PROCESSING and record.alive and below & {Status.PROCESSING, Status.UNRESPONSIVE}:
            return []
        return [record]

    def phase_entry(self, group: str, phase: Phase) -> Entry:
        """Return the entry of a phase of a group from the roll-up, with the nodes that were read."""
        cells = self.cells[group, phase.value]
        tally: Counter[Status] = Counter()
        explained: dict[Status, Shown] = {}
        for cell in cells:
            shown = self.judge_cell(cell)
            tally[shown.status] += cell.records
            if shown.message:
                explained.setdefault(shown.status, shown)
        status = status_of_parent(status for status, number in tally.items() if number)
        children = tuple(self.leaf_entry(leaf) for leaf in self.leaves.get((group, phase.value), ()))
        stored = [highest_stored(cell) for cell in cells if cell.records and cell.status != TaskStatus.PENDING]
        total = sum(tally.values())
        shown_children = len(children)
        return Entry(
            EntryKind.PHASE,
            phase.value,
            status,
            last_status=highest(stored) if stored else None,
            first_updated=min((leaf.first_updated for leaf in children if leaf.first_updated), default=None),
            last_updated=max((leaf.last_updated for leaf in children if leaf.last_updated), default=None),
            leaves=total,
            own_leaves=total,
            messages=self.messages(group, phase.value, status, explained.get(status)),
            counts=dict(tally),
            children=children,
            left_out=total - shown_children,
        )

    def messages(self, group: str, phase: str, status: Status, explained: Shown | None) -> tuple[str, ...]:
        """Return the first messages of the worst nodes of a phase."""
        found: list[str] = []
        facts = self.by_name.get(group)
        if status is Status.ERROR and facts is not None:
            for trouble in facts.troubles:
                if trouble.phase == phase:
                    cause = _cause(trouble.operation_status)
                    shown = status_of_task(trouble.status, note=trouble.message or "", unknown_because=cause)
                    found.append(f"{trouble.node}: {shown.message or 'failed'}")
        if not found:
            for leaf in self.leaves.get((group, phase), ()):
                entry = self.leaf_entry(leaf)
                if entry.status is status and entry.messages:
                    found.append(f"{leaf.node}: {entry.messages[0]}")
        if not found and explained is not None:
            found.append(explained.message)
        return tuple(found[:MOST_MESSAGES])

    @cached_property
    def _judged(self) -> dict[StatusCount, Shown]:
        return {}

    def judge_cell(self, cell: StatusCount) -> Shown:
        """Return what is shown of the records of a cell."""
        shown = self._judged.get(cell)
        if shown is None:
            shown = self._judged[cell] = self.judge(cell.group, cell.phase, cell.status, cell.owner)
        return shown

    def judge(self, group: str, phase: str, stored: str, owner: str, note: str = "", **more: Any) -> Shown:
        """Return what is shown of a stored status of nodes of a group, or ("") of a step on nodes."""
        facts = self.by_name.get(group)
        over = self.steps.over
        blame = self.blames.get(group)
        # The task of a blocked group opens an attempt too, only to judge it.
        begun = facts is None or (facts.reason != Reason.DEPENDENCY and (facts.state in _BEGUN or bool(facts.started)))
        blocked = blame.message if blame is not None and blame.role is Role.VICTIM and not begun else ""
        never = ""
        if over:
            never = self.steps.why_over()
        elif facts is not None and facts.state in _JUDGED:
            never = f"its group ended with {facts.state}"
        if over and stored == TaskStatus.PROCESSING:
            return Shown(Status.ERROR, f"interrupted: {never}")
        shown = status_of_task(stored, note=note, blocked=blocked, never_begins=never, **more)
        if over:
            return shown
        turn = shown.status is not Status.PENDING or self.is_due(group, phase)
        waiting = shown.status is Status.PENDING and self.is_waiting(group)
        return self.steps.owners.judge(owner or self.steps.provisioner, shown, turn=turn, waiting=waiting)

    def is_due(self, group: str, phase: str) -> bool:
        """Whether it is the turn of a phase: its group has begun, and nothing of the phase before it is to be done."""
        facts = self.by_name.get(group)
        if facts is not None and facts.state != GroupState.RUNNING:
            return False
        if phase == Phase.PREPARE.value:
            return True
        if phase == Phase.DEPLOY.value:
            before = self.cells.get((group, Phase.PREPARE.value), ())
            return not any(
                cell.records and cell.status in (TaskStatus.PENDING, TaskStatus.PROCESSING) for cell in before
            )
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
            unknown_because=_cause(leaf.operation_status),
        )
        unresponsive = shown.status is Status.UNRESPONSIVE
        stored: str | None = shown.status.value
        if shown.status is Status.PENDING or (unresponsive and leaf.status == TaskStatus.PENDING):
            stored = None
        elif unresponsive:
            stored = leaf.status
        record = OwnerRecord(
            owner,
            stored,
            alive=not unresponsive,
            messages=(shown.message,) if shown.message else (),
            first_updated=leaf.started,
            last_updated=leaf.ended or leaf.started,
        )
        elsewhere = leaf.owner_group if leaf.owner_group not in (None, leaf.group) else None
        return task_entry(
            leaf.node,
            [record],
            processed_by=elsewhere if leaf.group else None,
            owners=(self.steps.owners.seen(owner, shown.status),) if owner else (),
            op=leaf.op,
            provisioner_task=leaf.provisioner_task,
            fixed=leaf.fixed or "",
        )

    def node_counts(self, group: str) -> dict[Status, int]:
        """Return how many nodes show which status, both phases together.

        A node is where its deploy is; while that is pending, where its prepare is.
        """
        by_phase: dict[str, Counter[Status]] = {}
        for phase in GROUP_PHASES:
            tally: Counter[Status] = Counter()
            for cell in self.cells.get((group, phase.value), ()):
                if phase is Phase.PREPARE and cell.status == TaskStatus.WITHHELD:
                    continue
                tally[self.judge_cell(cell).status] += cell.records
            by_phase[phase.value] = tally
        counts = by_phase[Phase.DEPLOY.value]
        for status in _WORST:
            if status in (Status.PENDING, Status.DELETED, Status.SUCCESS):
                continue
            begun = by_phase[Phase.PREPARE.value][status]
            if status is Status.UNDEFINED:
                begun = max(0, begun - counts[status])
            moved = min(begun, counts[Status.PENDING])
            counts[status] += moved
            counts[Status.PENDING] -= moved
        return {status: counts[status] for status in Status if counts[status]}

    def counts(self, groups: Iterable[Entry]) -> dict[Status, int]:
        """Return how many nodes of all groups show which status, each node once."""
        total: Counter[Status] = Counter()
        for group in groups:
            total.update(group.counts)
        whole = sum(cell.records for cell in self.cells.get(("", Phase.DEPLOY.value), ()))
        surplus = sum(total.values()) - whole
        if surplus > 0:
            # Nodes of several groups: what is stored of each of them is the same in all, but for what never begins.
            total = Counter(self.node_counts(""))
            blocked = sum(group.counts.get(Status.ERROR, 0) for group in groups) - total[Status.ERROR]
            pending = sum(group.counts.get(Status.PENDING, 0) for group in groups)
            moved = max(0, min(blocked, total[Status.PENDING] - pending))
            total[Status.PENDING] -= moved
            total[Status.ERROR] += moved
        return {status: total[status] for status in Status if total[status]}

    def details(self, group: GroupFacts) -> GroupDetails:
        """Return what rule 20 says of a group."""
        gate = self.gates.get(group.name)
        return GroupDetails(
            critical=group.critical,
            depends_on=group.depends_on,
            state=group.state,
            reason=group.reason,
            criteria=group.criteria,
            position=group.position,
            attempt=group.attempt,
            nodes=sum(cell.records for cell in self.cells.get((group.name, Phase.DEPLOY.value), ())),
            approval=None if gate is None else approval_to_dict(gate),
            started=group.started,
            ended=group.ended,
        )


def approval_to_dict(gate: ApprovalRecord) -> dict[str, Any]:
    """Return a gate as plain data."""
    return {
        "moment": gate.moment,
        "text": gate.text,
        "approvers": list(gate.approvers),
        "attempt": gate.attempt,
        "asked": gate.asked.isoformat(),
        "deadline": gate.deadline.isoformat() if gate.deadline is not None else None,
        "answered": gate.answered.isoformat() if gate.answered is not None else None,
        "answer": gate.answer,
        "answered_by": gate.answered_by,
        "comment": gate.comment,
    }


def highest_stored(cell: StatusCount) -> Status:
    """Return what the stored word of a cell says by itself."""
    return status_of_task(cell.status).status


def _cause(operation_status: str | None) -> UnknownCause:
    return UnknownCause.TIMEOUT if operation_status == OperationStatus.TIMED_OUT else UnknownCause.LOST


def _explanation(group: GroupFacts) -> str:
    missed = [
        f"{criterion['phase']}: {criterion['criterion']} needed {criterion['needed']}, actual {criterion['actual']}"
        for criterion in group.criteria
        if not criterion["met"]
    ]
    return "; ".join(missed)
