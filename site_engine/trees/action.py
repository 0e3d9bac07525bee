"""The tree of one action: its steps in order, below them the groups, their phases and nodes; and its header."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from site_engine.groups.turns import is_only_judged
from site_engine.kinds import DEPLOY_GROUP, kind_of
from site_engine.trees.action_groups import Groups
from site_engine.trees.action_steps import Steps
from site_engine.trees.action_tasks import Tasks
from site_engine.trees.owners import Owners
from site_engine.trees.reported import Reports, by_parent
from site_engine.trees.waiting import waits_for_person
from site_store import ActionFacts, ActionState, ApprovalRecord, GroupFacts
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.leaf import OwnerRecord, superseded_by, unknown_value
from strategy_lib.status.tree import parent_entry, unrecorded_entry
from strategy_lib.status.words import Status

NO_FACTS = "no facts are kept about it: the action is from before its status was recorded"


def judges_of(facts: ActionFacts) -> tuple[Steps, Groups]:
    """Return what judges the parts of an action."""
    facts = replace(facts, groups=[_as_shown(facts, group) for group in facts.groups])
    owners = Owners(facts.owners, facts.read_at, facts.action.created, facts.leased)
    steps = Steps(facts, owners)
    return steps, Groups(Tasks(steps))


def _as_shown(facts: ActionFacts, group: GroupFacts) -> GroupFacts:
    """Return a group that is opened only to be judged as one that has not begun (rule 28).

    One that is at work in an action that is over is as closing the action leaves it (rule 24).
    """
    if group.state == GroupState.RUNNING and facts.action.state.is_end:
        return replace(group, state=GroupState.FAILURE.value, reason=Reason.INTERRUPTED.value)
    if group.state != GroupState.RUNNING or not group.depends_on:
        return group
    has_sent = any((group.name, phase) in facts.times for phase in Phase)
    states = {one.name: one.state for one in facts.groups}
    if not is_only_judged(group.state, group.depends_on, states, has_sent=has_sent):
        return group
    return replace(group, state=GroupState.PENDING.value, started=None)


def action_entry(facts: ActionFacts, judges: tuple[Steps, Groups] | None = None) -> Entry:
    """Return the entry of an action with all that was read below it, without what reporters say of it.

    Parameters
    ----------
    judges : what `judges_of` makes of these facts, where it is made already.
    """
    steps, groups = judges_of(facts) if judges is None else judges
    action = facts.action
    if steps.over and not (facts.steps or facts.groups or facts.counts):
        return unrecorded_entry(EntryKind.ACTION, action.id, NO_FACTS)
    known = steps.of_action()
    children: list[Entry] = []
    counts: Mapping[Status, int] = {}
    kind = kind_of(action.kind)
    for name in steps.names():
        step_phase = next((phase for phase in kind.node_steps if phase.value == name), None)
        if name == DEPLOY_GROUP:
            children.append(groups.stage(known))
            counts = children[-1].counts
        elif step_phase is not None and step_phase is kind.node_step:
            children.append(_node_step(steps, groups, step_phase))
            counts = children[-1].counts
        elif step_phase is not None and ("", name) in groups.tasks.cells:
            # Its nodes stand under their groups, too, or are in none any more: they are not counted again.
            children.append(_node_step(steps, groups, step_phase))
        else:
            children.append(steps.entry(name))
    # An undefined step is counted among the nodes, so that no count is free of it.
    undefined = sum(1 for child in children if child.kind is EntryKind.STEP and child.status is Status.UNDEFINED)
    if undefined:
        counts = {**counts, Status.UNDEFINED: counts.get(Status.UNDEFINED, 0) + undefined}
    own = None
    if action.unknown_state:
        said = (unknown_value(action.unknown_state),)
        own = OwnerRecord(steps.airflow, Status.UNDEFINED.value, messages=said)
    elif action.state in (ActionState.FAILED, ActionState.CANCELLED):
        own = OwnerRecord(steps.airflow, Status.ERROR.value, messages=(action.verdict,) if action.verdict else ())
    root = parent_entry(EntryKind.ACTION, action.id, children, own=own, counts=counts)
    begun = action.started or (action.created if root.first_updated is None else root.first_updated)
    never = sum(child.not_started for child in children)
    return replace(
        root, not_started=never, first_updated=begun, last_updated=action.ended or root.last_updated or begun
    )


def reports_of_action(facts: ActionFacts, steps: Steps) -> Reports:
    """Return the leaves that reporters have below an action."""
    return Reports(by_parent(facts.reported), steps.owners, steps.over, facts.action.revision)


def _node_step(steps: Steps, groups: Groups, phase: Phase) -> Entry:
    """Return the stage of a step on nodes, with the nodes directly under it (rule 31)."""
    step = steps.of_action().get(phase.value)
    entry = steps.entry(phase.value)
    if entry.status is None or ("", phase.value) not in groups.tasks.cells:
        return replace(entry, kind=EntryKind.STAGE, leaves=0, own_leaves=0, counts={})
    below = groups.phase_entry("", phase)
    records = steps.records(phase.value, step)
    own: OwnerRecord | None = records[0]
    waits = entry.status is Status.PROCESSING and below.status in (Status.PROCESSING, Status.UNRESPONSIVE)
    if entry.status is Status.SUCCESS or waits:
        own = None
    stage = parent_entry(EntryKind.STAGE, phase.value, [below], own=own, counts=below.counts, owners=entry.owners)
    return replace(stage, children=below.children, left_out=below.left_out)


def action_header(facts: ActionFacts) -> dict[str, Any]:
    """Return what stands above the tree of an action, as plain data."""
    action = facts.action
    steps, groups = judges_of(facts)
    tasks = groups.tasks
    begun = action.started or action.created
    superseded = ""
    if steps.over and action.revision is not None and facts.committed is not None:
        superseded = superseded_by(action.revision, facts.committed)
    return {
        "id": action.id,
        "kind": action.kind,
        "site": action.site,
        "revision": action.revision,
        "user": action.user,
        "created": action.created.isoformat(),
        "started": action.started.isoformat() if action.started is not None else None,
        "ended": action.ended.isoformat() if action.ended is not None else None,
        "state": action.stored_state,
        "verdict": action.verdict,
        "left_alone": action.left_alone,
        "paused": action.paused.isoformat() if action.paused is not None else None,
        "dry_run": action.dry_run,
        "hold": None if steps.over else facts.hold,
        "waits": None if steps.over else next(filter(None, map(_waits, tasks.gates.values())), None),
        "has_report": action.has_report,
        "elapsed": max(0.0, ((action.ended or facts.read_at) - begun).total_seconds() - action.idle),
        # Of the whole of earlier actions, as what has elapsed is of the whole of this one.
        "estimate": statistics.median(facts.durations) if facts.durations else None,
        "idle": action.idle,
        "run_id": action.run_id,
        "dag_id": action.dag_id,
        "connection": action.connection,
        "superseded": superseded or None,
    }


def _waits(gate: ApprovalRecord) -> str:
    said = waits_for_person(gate)
    return f"group {gate.group} {said}" if said else ""
