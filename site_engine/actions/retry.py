"""Trying again what failed in an action (rule 23): which tasks are cleared for it, and which nodes go again.

`plan_retry` says it from the store alone, and changes nothing. `retry_action` has Airflow clear the tasks, as the user
who asks, and keeps who did it. The groups then begin a new attempt by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from site_engine.actions.dead_actions import reconcile
from site_engine.admission import busy_site, set_up_command
from site_engine.errors import AirflowApiError, AirflowRefused, Conflict
from site_engine.groups.turns import OVER
from site_engine.kinds import DEPLOY_GROUP, DEPLOY_GROUP_BESIDE, PLAN_GROUPS, REPORT, VERDICT, kind_of, tasks_of
from site_engine.parameters import parameters_of
from site_engine.process import CONTROL
from site_store import ActionRecord, GroupRecord, NotFound, SiteStore, StepRecord, StepState, Version
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.phase import GroupState
from strategy_lib.status.tree import GroupStanding, blame_groups

_REFUSED: Final = "Unable to retry action"
RETRY: Final = "retry"
"""The command as it is kept in an action's audits."""

Task = str | tuple[str, int]
"""A task of a DAG run: its id, or id and map index."""

_MAPPED = (DEPLOY_GROUP, DEPLOY_GROUP_BESIDE)
_DONE = (StepState.SUCCESS, StepState.SKIPPED)


class AirflowTasks(Protocol):
    """The tasks of DAG runs, as a client of Airflow's public API gives and clears them."""

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        """Return the state of a run, None when it does not exist."""

    def task_states(self, dag_id: str, run_id: str) -> Mapping[tuple[str, int], str | None]:
        """Return the state of each task by its id and map index, -1 for one that is not mapped."""

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[Task], *, downstream: bool) -> None:
        """Have these tasks run again, whatever their state."""


@dataclass(frozen=True, slots=True)
class RetriedGroup:
    """A group that is tried again.

    Attributes
    ----------
    nodes : those that go again: all that are not done.
    map_index : the place of its task among those that Airflow maps; None where it has none, as it had nothing to submit
        when the plan was made. Then the task that plans is cleared, and all groups get one.
    blocked_by : the group because of which it did not run; None where it failed by itself.
    """

    name: str
    position: int
    nodes: tuple[str, ...]
    map_index: int | None = None
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What a retry will do.

    Attributes
    ----------
    groups : the groups that are tried again, in processing order.
    steps : the other steps that are, in order; those behind the groups among them.
    nodes : all nodes that go again, each once.
    tasks : what is cleared in Airflow.
    warnings : what the user should know before.
    left_out : nodes that would go again, but that an administrator has taken out of use, each with the reason.
    """

    action_id: str
    site: str
    groups: tuple[RetriedGroup, ...]
    steps: tuple[str, ...]
    nodes: tuple[str, ...]
    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def plan_retry(store: SiteStore, action_id: str, groups: Collection[str] = ()) -> RetryPlan:
    """Say what a retry of an action clears, and which nodes go again; nothing is written.

    That is the first step that failed with all behind it; or the groups that failed, every group that was skipped
    because of them, and the tasks behind the groups.

    Parameters
    ----------
    groups : only these, with those that they are blocked by, and those that they block; none: all that failed.

    Raises
    ------
    NotFound : no action has this id.
    NotFound : the action has no such group; the error names the nearest.
    Conflict : nothing of it failed, all nodes that would go again are out of use (rule 51), another action is on
        the site, or no DAG run carries it out.
    """
    action = store.actions.get(action_id)
    if action.run_id is None or action.dry_run:
        what = "a dry run" if action.dry_run else "carried out by no DAG run"
        raise Conflict(_REFUSED, f"action {action.id} is {what}: create it again")
    _require_site(store, action)
    planned = store.groups.of_action(action.id)
    _require_known(planned, groups)
    mapped = parameters_of(action).group_task
    order = tuple(mapped if name == DEPLOY_GROUP else name for name in (*kind_of(action.kind).all_steps, VERDICT))
    behind_groups = order.index(mapped) + 1 if mapped in order else order.index(REPORT)
    noted = store.steps.of_action(action.id)
    step = None if groups else _failed_step(action, noted)
    begin = order.index(step) if step is not None else behind_groups
    states = store.tasks.node_states(action.id)
    found: list[RetriedGroup] = []
    tasks: tuple[Task, ...] = order[begin:]
    if begin >= behind_groups:
        found = [_retried(group, states, by) for group, by in _groups_again(action, planned, groups)]
        if not found and step is None:
            which = f"group {', '.join(sorted(groups))}" if groups else "it"
            hint = "; update_site tries nodes again whose failure the criteria forgave" if action.state.is_end else ""
            raise Conflict(_REFUSED, f"action {action.id}: nothing of {which} has failed{hint}")
        if found:
            begin = behind_groups
            tasks = (*_tasks_of(found, mapped, order, noted), *order[behind_groups:])
    elif mapped in order:
        found = [_retried(group, states, None) for group in planned if group.state is not GroupState.SUCCESS]
    steps = tuple(name for name in order if name in tasks and name not in (mapped, VERDICT))
    nodes = {name for group in found for name in group.nodes}.union(_nodes_of_step(store, action, steps))
    warnings = _warnings(store, action)
    cleared: tuple[Task, ...] = (
        *(task for task in tasks if isinstance(task, tuple)),
        *tasks_of(task for task in tasks if isinstance(task, str)),
    )
    plan = RetryPlan(action.id, action.site, tuple(found), steps, tuple(sorted(nodes)), cleared, warnings)
    return _without_unused(plan, store.user_states.left_out(action.site, action.kind))


def retry_action(
    store: SiteStore, airflow: AirflowTasks, action_id: str, user: str, groups: Collection[str] = ()
) -> RetryPlan:
    """Try again what failed in an action: clear its tasks, and keep who had it done.

    Parameters
    ----------
    airflow : asks Airflow as the user, whose rights Airflow checks.
    user : who is named in the audit.
    groups : as in `plan_retry`.

    Raises
    ------
    Conflict : also when it is being tried again already, or its run is just ending.
    AirflowRefused : Airflow does not let this user, or has no such run any more; nothing has happened.
    AirflowApiError : Airflow did not answer: whether it is tried again is not known, and the audit says so.
    NotFound : as `plan_retry` raises them.
    """
    owner = store.locks.owner(store.actions.get(action_id).site)
    if owner is not None and owner.action_id != action_id:
        # It may be held by an action whose run is over or gone (rule 24).
        reconcile(store, owner.action_id, airflow.run_state)
    plan = plan_retry(store, action_id, groups)
    action = store.actions.get(action_id)
    assert action.run_id is not None, "plan_retry refuses one without a run"
    states = airflow.task_states(action.dag_id, action.run_id)
    _require_over(action, plan, states)
    try:
        airflow.clear(action.dag_id, action.run_id, _to_clear(plan, states), downstream=False)
    except AirflowRefused:
        raise
    except AirflowApiError:
        _note(store, action, f"{RETRY}: it is not known whether Airflow has done it", user)
        raise
    _note(store, action, RETRY, user, [group.name for group in plan.groups])
    return plan


def _without_unused(plan: RetryPlan, out_of_use: Mapping[str, str]) -> RetryPlan:
    """Return a retry without the nodes that are out of use. Raises `Conflict`: no other node would go again."""
    left = {name: out_of_use[name] for name in plan.nodes if name in out_of_use}
    if not left:
        return plan
    nodes = tuple(name for name in plan.nodes if name not in left)
    first = next(iter(left))
    others = f", and {len(left) - 1} more nodes are out of use" if len(left) > 1 else ""
    said = f"node {first} is {left[first]}{others}: {set_up_command(list(left), plan.site)} comes first"
    if not nodes:
        raise Conflict(_REFUSED, f"action {plan.action_id}: nothing can be tried again: {said}")
    groups = tuple(
        replace(group, nodes=tuple(name for name in group.nodes if name not in left)) for group in plan.groups
    )
    return replace(plan, groups=groups, nodes=nodes, warnings=(*plan.warnings, said), left_out=left)


def _require_site(store: SiteStore, action: ActionRecord) -> None:
    owner = store.locks.owner(action.site)
    if owner is not None and owner.action_id != action.id:
        raise Conflict(_REFUSED, busy_site(store.actions.get(owner.action_id)).text)


def _require_known(planned: Iterable[GroupRecord], groups: Iterable[str]) -> None:
    names = [group.name for group in planned]
    for name in groups:
        if name not in names:
            hint = did_you_mean(name, names, f"its groups are {', '.join(names) or 'not planned yet'}")
            raise NotFound(f"the action has no group {name!r}; {hint}")


def _require_over(action: ActionRecord, plan: RetryPlan, states: Mapping[tuple[str, int], str | None]) -> None:
    """Make sure that nothing that is to be cleared is about to run, or at it."""
    for task in plan.tasks:
        key = (task, -1) if isinstance(task, str) else task
        state = states.get(key)
        # Of an action that is not over, what stands behind the groups has not begun; a mapped task is not there at -1.
        waits = state is None and isinstance(task, str) and (not action.state.is_end or task in _MAPPED)
        if state not in OVER and key in states and not waits:
            at = f"its task {key[0]}" if key[1] < 0 else f"the task of group {_at(plan, key[1])}"
            why = f"is being tried again already, or is just ending: {at} is {state or 'about to run'}"
            raise Conflict(_REFUSED, f"action {action.id} {why}")


def _tasks_of(
    groups: Sequence[RetriedGroup], mapped: str, order: Sequence[str], noted: Iterable[StepRecord]
) -> tuple[Task, ...]:
    """Return what is cleared for these groups: their tasks.

    Where some have none, that is the plan, what comes between it and the groups and was left out, and the tasks of all.
    """
    tasks = tuple((mapped, group.map_index) for group in groups if group.map_index is not None)
    if len(tasks) == len(groups):
        return tasks
    done = {step.name for step in noted if step.state is StepState.SUCCESS and step.name != PLAN_GROUPS}
    return tuple(name for name in order[order.index(PLAN_GROUPS) : order.index(mapped) + 1] if name not in done)


def _at(plan: RetryPlan, map_index: int) -> str:
    return next(group.name for group in plan.groups if group.map_index == map_index)


def _to_clear(plan: RetryPlan, states: Mapping[tuple[str, int], str | None]) -> tuple[Task, ...]:
    """Return what Airflow is asked to clear, of the tasks that this run has.

    One that ended before its groups had tasks has one for all of them.
    """
    known = {name for name, _ in states}
    groups: tuple[Task, ...] = tuple(task for task in plan.tasks if isinstance(task, tuple))
    if not all(task in states for task in plan.tasks if isinstance(task, tuple)):
        groups = tuple({task[0]: None for task in groups})
    return (*groups, *(task for task in plan.tasks if isinstance(task, str) and task in known))


def _failed_step(action: ActionRecord, steps: Sequence[StepRecord]) -> str | None:
    """Return the first step outside of the groups that did not succeed, of an action that is over."""
    if not action.state.is_end:
        return None
    noted = {step.name: step.state for step in steps if step.group is None}
    order = kind_of(action.kind).all_steps
    closing = order.index(REPORT)
    for name in order[:closing]:
        # A step behind a failed one has not begun. An action of an older version has noted none of its steps.
        if name in noted and noted[name] not in _DONE:
            return name
    reported = noted.get(REPORT) is StepState.SUCCESS or noted.get(REPORT) is StepState.FAILED
    return None if reported or not noted else REPORT


def _groups_again(
    action: ActionRecord, planned: Sequence[GroupRecord], only: Collection[str]
) -> list[tuple[GroupRecord, str | None]]:
    """Return the groups that are tried again, in order, each with the one that it is blocked by."""
    over = action.state.is_end
    failed = {
        group.name: group
        for group in planned
        if group.state is GroupState.FAILURE or (over and group.state is not GroupState.SUCCESS)
    }
    blames = blame_groups(
        GroupStanding(group.name, group.definition.depends_on, group.state, group.reason) for group in planned
    )
    # A group that succeeded is not tried again, and brings nothing.
    chosen = failed.keys() & set(only) if only else set(failed)
    # Those in the way first, from the last to the first; then those that are blocked, from the first to the last.
    for group in reversed(planned):
        if group.name in chosen:
            chosen.update(name for name in group.definition.depends_on if name in failed)
    for group in planned:
        if chosen.intersection(group.definition.depends_on) and group.name in failed:
            chosen.add(group.name)
    found = []
    for group in planned:
        if group.name in chosen and group.name in failed:
            blame = blames.get(group.name)
            found.append((group, blame.culprit if blame is not None and blame.culprit != group.name else None))
    return found


def _retried(group: GroupRecord, states: Mapping[str, NodeState], blocked_by: str | None) -> RetriedGroup:
    nodes = tuple(name for name in sorted(group.nodes) if states.get(name) is not NodeState.SUCCESS)
    return RetriedGroup(group.name, group.position, nodes, group.map_index, blocked_by)


def _nodes_of_step(store: SiteStore, action: ActionRecord, tasks: Collection[Task]) -> list[str]:
    """Return the nodes of the action's steps on nodes that go again, where these steps do."""
    kind, found = kind_of(action.kind), []
    for step in kind.node_steps:
        if step.value in tasks:
            known = store.tasks.of_step(action.id, step)
            asked = parameters_of(action).target_nodes or () if step is kind.node_step else [name for name, _ in known]
            done = {name for name, task in known if task.status is TaskStatus.SUCCESS}
            found += [name for name in asked if name not in done]
    return found


def _warnings(store: SiteStore, action: ActionRecord) -> tuple[str, ...]:
    newest = store.sites.version_number(action.site, Version.COMMITTED)
    if newest is None or action.revision is None or newest <= action.revision:
        return ()
    return (f"revision {newest} was committed since: this goes on with revision {action.revision}",)


def _note(store: SiteStore, action: ActionRecord, said: str, user: str, groups: Sequence[str] = ()) -> None:
    store.actions.record_command(action.id, RETRY, user)
    data = {"user": user, "groups": list(groups)}
    store.events.add(action.site, CONTROL, f"{said} by {user}", action_id=action.id, data=data)
