"""The shapes of Slipway's DAGs. One static DAG of each kind of action serves every site and every revision.

One more runs Airflow's notifiers, with a run for each notification and target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, BaseOperator, Param, XComArg, chain
from airflow.sdk.definitions.mappedoperator import MappedOperator

from site_engine.kinds import (
    AFTER_SUCCESS,
    BEGIN_ACTION,
    BY_NAME_ALONE,
    DEPLOY_GROUP,
    DEPLOY_GROUP_BESIDE,
    KINDS,
    PLAN_GROUPS,
    RELEASE,
    REPORT,
    SITE_STEPS,
    VERDICT,
    ActionKind,
    table,
    task_of,
    tasks_of,
)
from site_engine.parameters import MOST_PARALLEL_GROUPS, PARALLEL_GROUPS
from slipway_airflow.operators.action import AfterSuccessOperator, ReleaseSiteOperator, ReportOperator
from slipway_airflow.operators.base import CONFIGURATION_KEY
from slipway_airflow.operators.begin_action import BeginActionOperator
from slipway_airflow.operators.group import DeployGroupOperator
from slipway_airflow.operators.notify import NotifyOperator
from slipway_airflow.operators.plan import PlanGroupsOperator
from slipway_airflow.operators.steps import (
    NodeStepOperator,
    RelabelFoundNodesOperator,
    RemoveFoundNodesOperator,
    SiteStepsOperator,
)
from strategy_lib.phase import NODE_STEPS, Phase

# Every task may start again at any point, so trouble on the way is retried patiently: for about half an hour.
_RETRIES = {
    "retries": 20,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
}
# Behind steps that may have no work.
_ALSO_BEHIND_SKIPPED = "none_failed"


def site_params(kind: ActionKind) -> dict[str, Param]:
    """Return the parameters of a run; Airflow's trigger form shows them, and its API checks them."""
    return {
        "site": Param(
            None,
            type="string",
            minLength=1,
            maxLength=64,
            pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$",
            title="Site",
            description="Name of the site, as its documents were committed.",
        ),
        "revision": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            maximum=2**31 - 1,
            title="Revision",
            description="Number of the committed revision; empty: the newest.",
        ),
        "target_nodes": Param(
            None,
            # A kind that needs them has no "null": Airflow's form would send it for an empty field.
            type="array" if kind.targeted else ["null", "array"],
            items={"type": "string", "minLength": 1},
            # A reader would take an empty list for the whole site, and nobody intends that.
            minItems=1,
            uniqueItems=True,
            title="Target nodes",
            description="One name a line: exactly these; every one of them must succeed."
            if kind.targeted
            else "One name a line: exactly these, as one critical group with 100 percent. Empty: the strategy.",
        ),
        "force": Param(
            False,
            type="boolean",
            title="Force",
            description=f"All of: {', '.join(one for one in kind.overrides if one not in BY_NAME_ALONE)}.",
        ),
        **{
            override.value: Param(
                False,
                type="boolean",
                title=override.value.replace("_", " ").capitalize(),
                description=override.description,
            )
            for override in kind.overrides
        },
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Check the design and show what would be done. Nothing is submitted, the site is not locked.",
        ),
        **({PARALLEL_GROUPS: _parallel_groups()} if kind.has_parallel_groups else {}),
    }


def _parallel_groups() -> Param:
    return Param(
        None,
        type=["null", "integer"],
        minimum=1,
        maximum=MOST_PARALLEL_GROUPS,
        title="Parallel groups",
        description="At most this many groups run at the same time. Empty: as the settings of the site say.",
    )


def site_dag(dag_id: str, *, doc_md: str) -> DAG:
    """Build the DAG of a kind of action: lock, design, the steps of the kind, its groups if it has any, report, unlock.

    Parameters
    ----------
    dag_id : the kind of its actions (`site_engine.kinds`).
    doc_md : text for Airflow's pages.

    Raises
    ------
    KeyError : there is no such kind of action, or one of its steps has no operator.
    """
    kind = KINDS.get(dag_id)
    if kind is None:
        raise KeyError(f"there is no kind of action {dag_id!r}: give it a row in site_engine/kinds.py")
    with DAG(
        dag_id,
        description=kind.description,
        doc_md=doc_md,
        schedule=None,
        catchup=False,
        params=site_params(kind),
        default_args=_RETRIES,
        is_paused_upon_creation=False,
        max_active_runs=64,
        tags=["slipway"],
    ) as dag:
        load = BeginActionOperator(task_id=BEGIN_ACTION, kind=kind.name, steps=_steps_of(kind, BEGIN_ACTION))
        steps = {name: _OPERATORS[name].make(kind, load) for name in tasks_of(kind.steps)}
        tasks: list[BaseOperator | MappedOperator | list[MappedOperator]] = [*steps.values()]
        if kind.has_groups:
            plan = steps[PLAN_GROUPS].output
            mapped = [_groups(plan, load, DEPLOY_GROUP, 1)]
            if kind.has_parallel_groups:
                # The limit of a task is the same in all runs: `plan_groups` leaves out the one that is not needed.
                mapped.append(_groups(plan, load, DEPLOY_GROUP_BESIDE, MOST_PARALLEL_GROUPS))
            tasks.append(mapped)
        report = ReportOperator(task_id=REPORT, trigger_rule="all_done")
        # A teardown, so that it runs also when the run is marked failed. Without a setup: behind one that fails Airflow
        # runs nothing at all, whatever its trigger rule, and a site that is busy must be reported.
        # Its failure counts: it is all that runs in a run that is marked failed, where `report` is skipped.
        release = ReleaseSiteOperator(task_id=RELEASE).as_teardown(on_failure_fail_dagrun=True)
        chain(*tasks)
        # One without work is skipped before its turn: what runs whatever happened waits for each one before it.
        for last in (*(_BEHIND[name](task_id=name, trigger_rule="all_done") for name in kind.steps_behind), report):
            for task in tasks:
                task >> last
            tasks.append(last)
        report >> release
        # Airflow looks at the last tasks alone, and `release` is green behind a red report: so this one is red then.
        report >> EmptyOperator(task_id=VERDICT)
    return dag


@dataclass(frozen=True, slots=True)
class _StepOperator:
    """What makes a task that carries out steps, of a kind of action and from its first task."""

    name: str
    make: Callable[[ActionKind, BeginActionOperator], BaseOperator]

    def __str__(self) -> str:
        """Say where it stands, for the error about two of one name: what makes the task mostly has no name."""
        code = getattr(self.make, "__code__", None)
        return f"{self.make.__module__}, line {getattr(code, 'co_firstlineno', 'unknown')}"


def _steps_of(kind: ActionKind, task: str) -> list[str]:
    return [step for step in kind.steps if task_of(step) == task]


def _of_nodes(name: str) -> _StepOperator:
    def make(kind: ActionKind, load: BeginActionOperator) -> BaseOperator:
        shared = {"configuration": XComArg(load, key=CONFIGURATION_KEY), "trigger_rule": _ALSO_BEHIND_SKIPPED}
        if kind.relabels and name == Phase.RELABEL:
            return RelabelFoundNodesOperator(task_id=name, **shared)
        return NodeStepOperator(task_id=name, **shared)

    return _StepOperator(name, make)


_BEHIND: Mapping[str, type[BaseOperator]] = {
    Phase.DESTROY.value: RemoveFoundNodesOperator,
    AFTER_SUCCESS: AfterSuccessOperator,
}


_OPERATORS = table(
    "step's operator",
    (
        _StepOperator(BEGIN_ACTION, lambda kind, load: load),
        _StepOperator(
            SITE_STEPS,
            lambda kind, load: SiteStepsOperator(
                task_id=SITE_STEPS,
                steps=_steps_of(kind, SITE_STEPS),
                configuration=XComArg(load, key=CONFIGURATION_KEY),
                trigger_rule=_ALSO_BEHIND_SKIPPED,
            ),
        ),
        *(_of_nodes(step.value) for step in NODE_STEPS),
        _StepOperator(
            PLAN_GROUPS,
            lambda kind, load: PlanGroupsOperator(
                task_id=PLAN_GROUPS, design=load.output, trigger_rule=_ALSO_BEHIND_SKIPPED
            ),
        ),
    ),
)


def _groups(plan: XComArg, load: BeginActionOperator, task_id: str, at_once: int) -> MappedOperator:
    """Return a task that is mapped over the groups of a plan.

    Parameters
    ----------
    plan : the names of the groups.
    at_once : so many of its instances are active in a run, in the plan's order; deferred ones count (rule 8).
    """
    return DeployGroupOperator.partial(
        task_id=task_id,
        configuration=XComArg(load, key=CONFIGURATION_KEY),
        map_index_template="{{ task.group }}",
        trigger_rule=_ALSO_BEHIND_SKIPPED,
        max_active_tis_per_dagrun=at_once,
    ).expand(group=plan)


def notify_dag(dag_id: str, *, doc_md: str) -> DAG:
    """Build the DAG. `doc_md` : text for Airflow's pages."""
    with DAG(
        dag_id,
        description="Send a notification about a site.",
        doc_md=doc_md,
        schedule=None,
        catchup=False,
        params={
            "event_id": Param(None, type="string", minLength=1, maxLength=26, title="Notification"),
            "target": Param(None, type="string", minLength=1, maxLength=64, title="Target"),
        },
        default_args={
            "retries": 20,
            "retry_delay": timedelta(seconds=10),
            "retry_exponential_backoff": 2.0,
            "max_retry_delay": timedelta(minutes=30),
        },
        is_paused_upon_creation=False,
        max_active_runs=16,
        tags=["slipway"],
    ) as dag:
        NotifyOperator(task_id="send")
    return dag
