"""The shapes of Slipway's DAGs. One static DAG of each kind of action serves every site and every revision."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, BaseOperator, Param, XComArg, chain
from airflow.sdk.definitions.mappedoperator import MappedOperator

from site_engine.action_steps import DEPLOY_GROUP, RELEASE, REPORT, TARGETED, has_groups, steps_of
from slipway_airflow.operators.acquire import AcquireSiteOperator
from slipway_airflow.operators.design import CONFIGURATION_KEY, LoadDesignOperator, ValidateDesignOperator
from slipway_airflow.operators.group import DeployGroupOperator
from slipway_airflow.operators.node_step import NodeStepOperator
from slipway_airflow.operators.plan import PlanGroupsOperator
from slipway_airflow.operators.release import ReleaseSiteOperator
from slipway_airflow.operators.report import ReportOperator
from slipway_airflow.operators.site_step import SiteStepOperator
from strategy_lib.phase import NodeStep

# Every task may start again at any point, so trouble on the way is retried patiently: for about half an hour.
_RETRIES = {
    "retries": 20,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
}
# Behind steps that a dry run skips.
_ALSO_BEHIND_SKIPPED = "none_failed"


def site_params(kind: str, force_help: str) -> dict[str, Param]:
    """Return the parameters of a run; Airflow's trigger form shows them, and its API checks them."""
    targeted = kind in TARGETED
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
            # Where they are a must, there is no "none": the form does not let go of an empty field.
            type="array" if targeted else ["null", "array"],
            items={"type": "string", "minLength": 1},
            # An empty list would mean the whole site to whoever reads it, and is nobody's intention.
            minItems=1,
            uniqueItems=True,
            title="Target nodes",
            description="One name a line: exactly these; every one of them must succeed."
            if targeted
            else "One name a line: exactly these, as one critical group with 100 percent. Empty: the strategy.",
        ),
        "force": Param(False, type="boolean", title="Force", description=force_help),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Check the design and show what would be done. Nothing is submitted, the site is not locked.",
        ),
    }


def site_dag(dag_id: str, *, description: str, doc_md: str, force_help: str) -> DAG:
    """Build the DAG of a kind of action: lock, design, the steps of the kind, its groups if it has any, report, unlock.

    Parameters
    ----------
    dag_id : str
        The kind of its actions (`site_engine.action_steps.STEPS`).
    description, doc_md, force_help : str
        Texts for Airflow's pages and the trigger form.
    """
    with DAG(
        dag_id,
        description=description,
        doc_md=doc_md,
        schedule=None,
        catchup=False,
        params=site_params(dag_id, force_help),
        default_args=_RETRIES,
        is_paused_upon_creation=False,
        max_active_runs=64,
        tags=["slipway"],
    ) as dag:
        load = LoadDesignOperator(task_id="load_design")
        steps = [_step(name, dag_id, load) for name in steps_of(dag_id)]
        tasks: list[BaseOperator | MappedOperator] = list(steps)
        if has_groups(dag_id):
            tasks.append(_groups(steps[-1], load))
        report = ReportOperator(task_id=REPORT, trigger_rule="all_done")
        # A teardown, so that it runs also when the run is marked failed. Without a setup: behind one that fails Airflow
        # runs nothing at all, whatever its trigger rule, and a site that is busy must be reported.
        # Its failure counts: it is all that runs in a run that is marked failed, where `report` is skipped.
        release = ReleaseSiteOperator(task_id=RELEASE).as_teardown(on_failure_fail_dagrun=True)
        chain(*tasks, report, release)
    return dag


def _step(name: str, kind: str, load: LoadDesignOperator) -> BaseOperator:
    """Return the task of a step."""
    configuration = XComArg(load, key=CONFIGURATION_KEY)
    if name == load.task_id:
        return load
    if name == "acquire":
        return AcquireSiteOperator(task_id=name, kind=kind)
    if name == "validate_design":
        return ValidateDesignOperator(task_id=name)
    if name == "plan_groups":
        return PlanGroupsOperator(task_id=name, design=load.output, trigger_rule=_ALSO_BEHIND_SKIPPED)
    if name in tuple(NodeStep):
        return NodeStepOperator(task_id=name, step=name, configuration=configuration, trigger_rule=_ALSO_BEHIND_SKIPPED)
    return SiteStepOperator(task_id=name, phase=name, configuration=configuration)


def _groups(plan: BaseOperator, load: LoadDesignOperator) -> MappedOperator:
    """Return the task that is mapped over the groups of a plan."""
    return DeployGroupOperator.partial(
        task_id=DEPLOY_GROUP,
        configuration=XComArg(load, key=CONFIGURATION_KEY),
        map_index_template="{{ task.group }}",
        # One group at a time, in the plan's order; deferred tasks count (rule 8).
        max_active_tis_per_dagrun=1,
    ).expand(group=plan.output)
