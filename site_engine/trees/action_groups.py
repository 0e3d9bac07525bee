"""The groups of an action and their phases, as entries of its tree (rules 28, 30 and 34)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from site_engine.kinds import DEPLOY_GROUP
from site_engine.trees.action_steps import LEFT_OUT, PENDING, Steps
from site_engine.trees.action_tasks import JUDGED, Tasks, cause_of, stored_status
from site_engine.trees.node_counts import NodeCounts
from site_engine.trees.waiting import batches_of, batches_to_dict, waits_for_person
from site_store import ApprovalRecord, GroupFacts, StepState
from site_store.trees.tree_facts import Times
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, GroupState, Phase
from strategy_lib.status.entry import Entry, EntryKind, GroupDetails, Role
from strategy_lib.status.leaf import OwnerRecord, Shown, status_of_record, status_of_task, unknown_value
from strategy_lib.status.roll_up import highest, in_order, status_of_parent
from strategy_lib.status.tree import MOST_MESSAGES, earliest, latest, parent_entry, unrecorded_entry
from strategy_lib.status.words import Status

# What is shown of a phase that Airflow's task of the group waits for.
_WAITED_FOR = (Status.PROCESSING, Status.UNRESPONSIVE)
# States of the task of a group that only looks whether its turn has come.
_LOOKS = (StepState.RUNNING, StepState.DEFERRED, StepState.AWAITING)


@dataclass(frozen=True)
class Groups:
    """Judges the groups of one action, and the nodes of its step on nodes (the group "")."""

    tasks: Tasks
    _phases: dict[Hashable, Entry] = field(default_factory=dict)
    _untouched: dict[Hashable, Entry] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> NodeCounts:
        """Counts the nodes of the groups."""
        return NodeCounts(self.tasks)

    @property
    def steps(self) -> Steps:
        """Judges the steps of the action."""
        return self.tasks.steps

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
        whole = sum(cell.records for phase in GROUP_PHASES for cell in self.tasks.cells.get(("", phase), ()))
        leaves = min(stage.leaves, whole)
        never = min(sum(child.not_started for child in children), stage.counts.get(Status.ERROR, 0))
        return replace(stage, leaves=leaves, own_leaves=leaves, not_started=never)

    def entry(self, group: GroupFacts, step: Any) -> Entry:
        """Return the entry of a group, with its phases."""
        if not self._is_untouched(group, step):
            return self._entry(group, step)
        # Groups that nobody has begun, and that wait for the same, differ by their names and details alone.
        key = (
            *(self.tasks.judged_by(group.name, phase) for phase in GROUP_PHASES),
            self.tasks.turn == group.name,
            None if step is None else step.owner,
        )
        like = self._untouched.get(key)
        if like is None:
            like = self._untouched[key] = self._entry(group, step)
            return like
        return replace(like, name=group.name, group=self.details(group))

    def _is_untouched(self, group: GroupFacts, step: Any) -> bool:
        name, tasks = group.name, self.tasks
        return (
            group.state == GroupState.PENDING
            and group.started is None
            and (step is None or step.state == PENDING)
            and not group.troubles
            and name not in tasks.blames
            and name not in tasks.gates
            and tasks.unknown_of(name) is None
            and not any(
                tasks.names_nodes(name, phase) or (name, phase) in self.steps.facts.times for phase in GROUP_PHASES
            )
        )

    def _entry(self, group: GroupFacts, step: Any) -> Entry:
        phases = tuple(
            self.phase_entry(group.name, phase)
            for phase in self.tasks.phases(group.name)
            if (group.name, phase) in self.tasks.cells
        )
        blame = self.tasks.blames.get(group.name)
        if blame is not None and blame.role is Role.CULPRIT and group.state != GroupState.FAILURE:
            blame = None
        records = self.own_records(group, step, phases)
        own = records[0] if records else None
        counts = self.nodes.by_status(group.name)
        entry = parent_entry(
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
        never = min(self.nodes.not_started(group.name), counts.get(Status.ERROR, 0))
        # To copy an entry takes longer than most of what makes it.
        return replace(entry, not_started=never) if never else entry

    def expected(self, step: Any) -> tuple[Any, ...]:
        """Return who is expected to drive a group, where nothing is to be said of it."""
        name = (step.owner if step is not None else None) or self.steps.airflow
        return (self.steps.owners.seen(name),)

    def own_records(self, group: GroupFacts, step: Any, phases: Sequence[Entry]) -> list[OwnerRecord]:
        """Return what Airflow's task of a group adds to its nodes: nothing once it is judged, or waits for them."""
        unknown = self.tasks.unknown_of(group.name)
        if unknown is not None:
            name = (step.owner if step is not None else None) or self.steps.airflow
            said = (f"{group.name}: {unknown_value(unknown)}",)
            return [OwnerRecord(name, Status.UNDEFINED.value, messages=said, last_updated=group.ended or group.started)]
        if self.steps.over or group.state in JUDGED or group.name in self.tasks.blames:
            if step is not None and step.state == StepState.FAILED and group.state not in JUDGED:
                return self.steps.records(DEPLOY_GROUP, step, turn=False)
            return []
        turn = self.tasks.turn == group.name
        at_work = group.state == GroupState.RUNNING or (step is not None and _is_at_work(step.state, turn=turn))
        waiting = self.tasks.is_waiting(group.name)
        shown = Shown(Status.PENDING)
        if at_work and (step is None or step.state == PENDING or step.state == StepState.SKIPPED):
            shown = Shown(Status.PROCESSING)
        elif at_work:
            shown = self.steps.shown(DEPLOY_GROUP, step)
        asked = waits_for_person(self.tasks.gates.get(group.name))
        if asked:
            shown = Shown(Status.PROCESSING, asked)
        name = (step.owner if step is not None else None) or self.steps.airflow
        started = group.started
        record = self.steps.owners.record(name, shown, turn=turn, waiting=waiting, first=started, last=started)
        if (
            not asked
            and shown.status is Status.PROCESSING
            and record.alive
            and any(phase.status in _WAITED_FOR for phase in phases)
        ):
            return []
        return [record]

    def phase_entry(self, group: str, phase: Phase) -> Entry:
        """Return the entry of a phase of a group from the roll-up, with the nodes that were read."""
        if self.tasks.names_nodes(group, phase):
            return self._phase_entry(group, phase)
        # Groups that stand in the same way, such as all that have not begun, have the same entry.
        key = (phase, self.tasks.judged_by(group, phase), self.times(group, phase))
        known = self._phases.get(key)
        if known is None:
            known = self._phases[key] = self._phase_entry(group, phase)
        return known

    def _phase_entry(self, group: str, phase: Phase) -> Entry:
        tally, explained = self.tasks.tally(group, phase)
        status = status_of_parent(status for status, number in tally.items() if number)
        children = tuple(self.tasks.leaf_entry(leaf) for leaf in self.tasks.leaves.get((group, phase), ()))
        cells = self.tasks.cells[group, phase]
        stored = {stored_status(cell.status) for cell in cells if cell.records and cell.status != TaskStatus.PENDING}
        times = self.times(group, phase)
        total = sum(tally.values())
        shown_children = len(children)
        return Entry(
            EntryKind.PHASE,
            phase.value,
            status,
            last_status=highest(stored) if stored else None,
            # Not of the nodes that were read: at each depth it is the same.
            first_updated=times.first,
            last_updated=times.last,
            leaves=total,
            own_leaves=total,
            messages=self.messages(group, phase, status, explained.get(status)),
            counts=in_order(tally),
            children=children,
            left_out=total - shown_children,
        )

    def times(self, group: str, phase: str) -> Times:
        """Return when something was written about the nodes of a phase: by its operations, or with its group.

        Nodes that another group has processed were updated by operations of that one.
        """
        known = self.steps.facts.times
        found = known.get((group, phase))
        if found is not None:
            return found
        cells = self.tasks.cells.get((group, phase), ())
        if not any(cell.records and cell.status != TaskStatus.PENDING for cell in cells):
            return Times()
        facts = self.tasks.by_name.get(group)
        if facts is not None and facts.started is not None:
            return Times(facts.started, facts.ended or facts.started)
        others = [times for (_, other), times in known.items() if other == phase]
        return Times(earliest(times.first for times in others), latest(times.last for times in others))

    def messages(self, group: str, phase: str, status: Status, explained: str | None) -> tuple[str, ...]:
        """Return the first messages of the worst nodes of a phase."""
        found: list[str] = []
        facts = self.tasks.by_name.get(group)
        if status is Status.ERROR and facts is not None:
            for trouble in facts.troubles:
                if trouble.phase == phase:
                    cause = cause_of(trouble.operation_status)
                    shown = status_of_task(trouble.status, note=trouble.message or "", unknown_because=cause)
                    found.append(f"{trouble.node}: {shown.message or 'failed'}")
        elif status is Status.SUCCESS:
            fixed = self.steps.facts.fixed.get((group, phase), ())
            found = [f"{node}: had to be fixed: {why}" for node, why in fixed]
        if not found:
            for leaf in self.tasks.leaves.get((group, phase), ()):
                entry = self.tasks.leaf_entry(leaf)
                if entry.status is status and entry.messages:
                    found.append(f"{leaf.node}: {entry.messages[0]}")
        if not found and explained is not None:
            found.append(explained)
        return tuple(found[:MOST_MESSAGES])

    def counts(self, groups: Sequence[Entry]) -> dict[Status, int]:
        """Return how many nodes of all groups show which status, each node once."""
        total: Counter[Status] = Counter()
        for group in groups:
            total.update(group.counts)
        # What is stored of a group itself, and nobody knows, is counted beside its nodes.
        own = 0
        if total[Status.UNDEFINED]:
            undefined = (self.nodes.by_status(group.name).get(Status.UNDEFINED, 0) for group in groups)
            own = total[Status.UNDEFINED] - sum(undefined)
        whole = sum(cell.records for cell in self.tasks.cells.get(("", Phase.DEPLOY), ()))
        surplus = sum(total.values()) - own - whole
        if surplus > 0:
            # Nodes of several groups: what is stored of each of them is the same in all, except what never begins.
            total = Counter(self.nodes.by_status(""))
            blocked = sum(group.counts.get(Status.ERROR, 0) for group in groups) - total[Status.ERROR]
            pending = sum(group.counts.get(Status.PENDING, 0) for group in groups)
            moved = max(0, min(blocked, total[Status.PENDING] - pending))
            total[Status.PENDING] -= moved
            total[Status.ERROR] += moved
            total[Status.UNDEFINED] += own
        return in_order(total)

    def details(self, group: GroupFacts) -> GroupDetails:
        """Return what rule 20 says of a group."""
        gate = self.tasks.gates.get(group.name)
        prepares = self.tasks.cells.get((group.name, Phase.PREPARE), ())
        return GroupDetails(
            critical=group.critical,
            depends_on=group.depends_on,
            state=group.state,
            reason=group.reason,
            criteria=group.criteria,
            position=group.position,
            attempt=group.attempt,
            nodes=sum(cell.records for cell in self.tasks.cells.get((group.name, Phase.DEPLOY), ())),
            map_index=group.map_index,
            approval=None if gate is None else approval_to_dict(gate),
            started=group.started,
            ended=group.ended,
            batches=batches_to_dict(batches_of(group, prepares, over=self.steps.over)),
        )


def _is_at_work(state: str, *, turn: bool) -> bool:
    """Whether Airflow's task has anything to say of a group that has not begun: it waits until its turn comes."""
    if state in _LOOKS:
        return turn
    return state not in (PENDING, StepState.SUCCESS, StepState.RESCHEDULED)


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
