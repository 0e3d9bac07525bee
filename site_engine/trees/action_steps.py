"""The steps of an action as entries of its tree (rules 28, 30 and 31)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from site_engine.kinds import RELEASE, REPORT, STEPS, kind_of
from site_engine.monitoring.owners import airflow_owner, provisioner_owner
from site_engine.trees.owners import Owners
from site_store import ActionFacts, ActionState, StepFacts, StepState
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.leaf import OwnerRecord, Shown, status_of_record, unknown_value
from strategy_lib.status.tree import task_entry, unrecorded_entry
from strategy_lib.status.words import Status

PENDING = "pending"
NOT_RECORDED = "not recorded: the action is from before its steps were"
LEFT_OUT = "left out: a dry run submits nothing"
AFTER_THE_END = (REPORT, RELEASE)
"""Steps that go on for a while after the action has its verdict."""
_CLOSING_TIME = timedelta(minutes=10)
_AT_WORK = (
    StepState.RUNNING,
    StepState.DEFERRED,
    StepState.RESCHEDULED,
    StepState.AWAITING,
    StepState.RETRIED,
)


@dataclass(frozen=True)
class Steps:
    """Judges the steps of one action.

    Attributes
    ----------
    facts : of the action.
    owners : at the moment of the reading.
    """

    facts: ActionFacts
    owners: Owners

    @cached_property
    def over(self) -> bool:
        """Whether the action is over, so that its stored statuses are history (rule 29)."""
        return self.facts.action.state.is_end

    @cached_property
    def airflow(self) -> str:
        """The owner of the action's steps."""
        return airflow_owner(self.facts.action.dag_id)

    @cached_property
    def provisioner(self) -> str:
        """The owner of the action's work on nodes; "" while its connection is not decided."""
        connection = self.facts.action.connection
        return provisioner_owner(connection) if connection else ""

    def names(self) -> list[str]:
        """Return the steps without group that the action has or is to have, in order."""
        planned = list(kind_of(self.facts.action.kind).all_steps)
        return planned + [step.name for step in self.facts.steps if not step.group and step.name not in planned]

    def of_action(self) -> Mapping[str, StepFacts]:
        """Return the steps without group that are recorded."""
        return {step.name: step for step in self.facts.steps if not step.group}

    def of_groups(self) -> Mapping[str, StepFacts]:
        """Return the step of each group that is recorded."""
        return {step.group: step for step in self.facts.steps if step.group}

    def turn(self) -> str | None:
        """Return the step whose turn it is, None where one is at work or none will come."""
        known = self.of_action()
        for name in self.names():
            step = known.get(name)
            if step is None or step.state == PENDING:
                return name
            if step.state in _AT_WORK:
                return None
        return None

    def entry(self, name: str) -> Entry:
        """Return the entry of a step that has nothing below it."""
        step = self.of_action().get(name)
        left_out = self._left_out(name, step)
        if left_out:
            return unrecorded_entry(EntryKind.STEP, name, left_out)
        records = self.records(name, step)
        return task_entry(
            name,
            records,
            kind=EntryKind.STEP,
            owners=tuple(self.owners.seen(record.owner, status_of_record(record)) for record in records),
            fixed=(step.fixed or "") if step is not None else "",
        )

    def _left_out(self, name: str, step: StepFacts | None) -> str:
        """Say why nothing is kept of a step; "" where something is."""
        submits = name in STEPS and STEPS[name].submits
        if self.facts.action.dry_run and submits and (step is None or step.state == PENDING):
            return LEFT_OUT
        return NOT_RECORDED if step is None and self.over else ""

    def records(self, name: str, step: StepFacts | None, *, turn: bool | None = None) -> list[OwnerRecord]:
        """Return the records of all who are expected to work on a step.

        While its provisioner task is under way the provisioner's counts, and Airflow only waits. It needs both: where
        Airflow is gone, nobody reads what comes of it.
        """
        shown = self.shown(name, step)
        own = (step.owner if step is not None else None) or self.airflow
        first, last = (step.started, step.ended or step.started) if step is not None else (None, None)
        due = self.turn() == name if turn is None else turn
        paused = self.facts.action.paused is not None
        record = self.owners.record(own, shown, turn=due, waiting=paused and due, first=first, last=last)
        if shown.status is not Status.PROCESSING or name not in self.facts.at_provisioner or self.over:
            return [record]
        theirs = self.owners.record(self.provisioner, shown, first=first, last=last)
        if record.alive:
            return [theirs]
        return [record] if theirs.alive else [record, theirs]

    def shown(self, name: str, step: StepFacts | None) -> Shown:
        """Return what a step's stored state is, before the owner is looked at."""
        action = self.facts.action
        closing = (
            name in AFTER_THE_END
            and action.state is not ActionState.CANCELLED
            and action.ended is not None
            and self.facts.read_at - action.ended <= _CLOSING_TIME
        )
        over = self.over and not closing
        if step is None or step.state == PENDING:
            return Shown(Status.ERROR, f"not started: {self.why_over()}") if over else Shown(Status.PENDING)
        if step.state in _AT_WORK:
            if over:
                return Shown(Status.ERROR, f"interrupted: {self.why_over()}")
            return Shown(Status.PROCESSING, step.message or "")
        if step.state == StepState.FAILED:
            return Shown(Status.ERROR, step.message or "its task failed; see its log")
        if step.state == StepState.SKIPPED:
            return Shown(Status.SUCCESS, f"skipped: {step.message}" if step.message else "skipped")
        if step.state == StepState.SUCCESS:
            return Shown(Status.SUCCESS, step.message or "")
        return Shown(Status.UNDEFINED, unknown_value(step.state))

    def why_over(self) -> str:
        """Say why nothing of the action begins any more."""
        return self.facts.action.verdict or "the action is over"
