"""The end of an action: its report is made, stored and logged, its site is free (rules 19, 20), and which DAG comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from provisioner_client.errors import ProvisionerError
from site_engine.actions.reports import NodeStepStatus, StepTasks, make_dry_run_report, make_report
from site_engine.errors import ConnectionLookupFailed, SettingsError, StepError
from site_engine.groups.attempt import interrupt_group
from site_engine.kinds import KINDS, Override, kind_of
from site_engine.log_messages import TaskLog, failed_critical
from site_engine.monitoring.metrics import measure_action
from site_engine.operations.reconcile import record_late_results
from site_engine.operations.run import ActionClients
from site_engine.parameters import parameters_of
from site_engine.plans.site_plans import plan_of_run
from site_engine.plans.site_rehearsals import simulate_plan
from site_engine.process import Stopping
from site_engine.provisioners import Provisioners
from site_store import ActionRecord, ActionState, PlannedGroup, SiteStore
from strategy_lib.goals.update import fold_nodes
from strategy_lib.phase import Phase, Verdict
from strategy_lib.reports.report import Report, ReportedChanges, to_dict
from strategy_lib.reports.report_text import render


def finalize_action(
    store: SiteStore,
    action: ActionRecord,
    step_states: Mapping[str, str | None],
    log: TaskLog,
    provisioners: Provisioners,
    stopping: Stopping | None = None,
) -> Report:
    """Judge what has no verdict, report, and close the action; safe to repeat.

    Parameters
    ----------
    step_states : Airflow's state of each of the action's steps (`site_engine.kinds.ActionKind.steps`).
    provisioners : leads to the provisioner that is asked for late results.
    stopping : of the task that reports.

    Raises `TaskStopped`: the task was told to stop while it waited for an answer.
    """
    for standing in store.groups.standings(action.id):
        if not standing.is_judged and interrupt_group(store, action, standing.name):
            log.warning("The task of group %s ended without a verdict.", standing.name)
    step = kind_of(action.kind).node_step
    # Before anything comes late: that never changes a verdict (rule 14).
    judged = step_tasks(store, action, step)
    _late_results(store, action, log, provisioners, stopping)
    data = store.reports.facts(action.id)
    on_nodes = NodeStepStatus(step, step_states.get(step), judged, step_tasks(store, action, step)) if step else None
    found = {phase: store.tasks.of_step(action.id, phase) for phase in kind_of(action.kind).found_steps}
    report = make_report(data, step_states, store.now(), on_nodes, found)
    return _closed(store, action, report, log)


def finalize_dry_run(
    store: SiteStore, action: ActionRecord, step_states: Mapping[str, str | None], log: TaskLog
) -> Report:
    """Report what a dry run has found, and close the action; as `finalize_action`, but that nothing was done."""
    data = store.reports.facts(action.id)
    states = {tasks.node: tasks.state for tasks in data.nodes}
    parameters = parameters_of(action)
    targets = sorted(parameters.target_nodes or ())
    withheld = store.tasks.withheld(action.id)
    planned = [PlannedGroup(group.definition, group.nodes, group.plan) for group in data.groups]
    below_criteria = parameters.allows(Override.BELOW_CRITERIA)
    kind, remove = kind_of(action.kind), []
    step = kind.node_step
    if kind.relabels:
        step, targets = Phase.RELABEL, planned_nodes(store, action.id, Phase.RELABEL)
    if kind.prunes:
        remove = planned_nodes(store, action.id, Phase.DESTROY)
    rehearsal = simulate_plan(planned, states, step, targets, withheld, below_criteria=below_criteria, remove=remove)
    report = make_dry_run_report(data, step_states, store.now(), rehearsal)
    if planned and not report.failed_steps:
        plan = plan_of_run(store, action, planned, rehearsal, withheld)
        rows = tuple(fold_nodes(plan.nodes_to_data()))
        report = replace(report, changes=ReportedChanges(plan.summary, rows))
    return _closed(store, action, report, log)


def _closed(store: SiteStore, action: ActionRecord, report: Report, log: TaskLog) -> Report:
    for line in render(report).splitlines():
        log.info("%s", line)
    store.reports.save(action.id, to_dict(report))
    state = ActionState.SUCCESS if report.verdict is Verdict.SUCCESS else ActionState.FAILED
    store.actions.close(action.id, state, report.verdict_text, left_alone=report.left_alone)
    if not action.dry_run:
        measure_action(store.actions.get(action.id))
    return report


def planned_nodes(store: SiteStore, action_id: str, step: Phase) -> list[str]:
    """Return the nodes that an action's plan has found for a step, by name."""
    return [name for name, _ in store.tasks.of_step(action_id, step)]


def step_tasks(store: SiteStore, action: ActionRecord, step: Phase | None) -> StepTasks:
    """Return what came of each node in the action's step on nodes; nothing for an action without one."""
    tasks = store.tasks.of_step(action.id, step) if step else []
    return tuple((name, record) for name, record in tasks if not record.is_untouched)


def _late_results(
    store: SiteStore, action: ActionRecord, log: TaskLog, provisioners: Provisioners, stopping: Stopping | None
) -> None:
    """Look once more at what had no result in time; the report goes on without an answer."""
    try:
        connection = provisioners.for_action(store, action)
        with ActionClients(store, action, connection, provisioners.for_action, stopping).operations(log) as operations:
            record_late_results(store, operations, action.id, log)
    except (SettingsError, ConnectionLookupFailed, ProvisionerError) as error:
        log.warning("Late results cannot be looked for: %s", error)


@dataclass(frozen=True, slots=True)
class NextStage:
    """The run that comes next: its DAG, its id, which is always the same, and its parameters."""

    dag_id: str
    run_id: str
    conf: Mapping[str, Any]


def why_no_stage(action: ActionRecord, dag_id: str | None) -> str | None:
    """Return why nothing comes after an action, however it ends; None where something may."""
    if not dag_id:
        return "the site's deployment configuration names no DAG that comes after it"
    return f"dry run: {dag_id} is not triggered" if action.dry_run else None


def next_stage(
    store: SiteStore,
    action: ActionRecord,
    dag_id: str | None,
    step_states: Mapping[str, str | None],
    again: int = 0,
) -> NextStage | str:
    """Return the run that comes after an action's groups, or why none does, in a sentence.

    Parameters
    ----------
    dag_id : what the site's configuration names; None: nothing.
    step_states : Airflow's state of each step before it; groups have none here.
    again : differs each time that a person has the stage tried again: then it is another run.

    Raises
    ------
    StepError : the configuration names one of Slipway's own DAGs, which would follow itself for ever.
    """
    why = why_no_stage(action, dag_id)
    if dag_id is None or why is not None:
        return why or ""
    if dag_id in KINDS:
        raise StepError(f"after_success names {dag_id}, which is one of Slipway's own DAGs: name another one")
    failed = [step for step, state in step_states.items() if state == "failed"]
    if failed:
        return f"{dag_id} is not triggered: {', '.join(failed)} failed"
    groups = store.groups.of_action(action.id)
    if said := failed_critical(groups):
        return f"{dag_id} is not triggered: {said}"
    if not any(group.nodes for group in groups):
        return f"{dag_id} is not triggered: nothing was deployed"
    run_id = f"{action.site}__{action.id}" + (f"__again-{again}" if again else "")
    conf = {"site": action.site, "revision": action.revision, "action": action.id}
    return NextStage(dag_id, run_id, MappingProxyType(conf))
