"""The shape that all of Slipway's deployment DAGs share. One static DAG serves every site and every revision."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, XComArg

from slipway_airflow.operators.acquire import AcquireSiteOperator
from slipway_airflow.operators.design import CONFIGURATION_KEY, LoadDesignOperator, ValidateDesignOperator
from slipway_airflow.operators.group import DeployGroupOperator
from slipway_airflow.operators.plan import PlanGroupsOperator
from slipway_airflow.operators.release import ReleaseSiteOperator
from slipway_airflow.operators.report import ReportOperator
from slipway_airflow.operators.site_step import SiteStepOperator

# Every task may start again at any point, so trouble on the way is retried patiently: for about half an hour.
_RETRIES = {
    "retries": 20,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
}


def site_params(force_help: str) -> dict[str, Param]:
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
            type=["null", "array"],
            items={"type": "string", "minLength": 1},
            # An empty list would mean the whole site to whoever reads it, and is nobody's intention.
            minItems=1,
            uniqueItems=True,
            title="Target nodes",
            description="One name a line: exactly these, as one critical group with 100 percent. Empty: the strategy.",
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
    """Build a deployment DAG: lock, design, site steps, plan, one mapped task per group, report, unlock.

    Parameters
    ----------
    dag_id : str
        Also the kind of its actions.
    description, doc_md, force_help : str
        Texts for Airflow's pages and the trigger form.
    """
    with DAG(
        dag_id,
        description=description,
        doc_md=doc_md,
        schedule=None,
        catchup=False,
        params=site_params(force_help),
        default_args=_RETRIES,
        is_paused_upon_creation=False,
        max_active_runs=64,
        tags=["slipway"],
    ) as dag:
        acquire = AcquireSiteOperator(task_id="acquire", kind=dag_id)
        load = LoadDesignOperator(task_id="load_design")
        configuration = XComArg(load, key=CONFIGURATION_KEY)
        validate = ValidateDesignOperator(task_id="validate_design")
        verify = SiteStepOperator(task_id="verify_site", phase="verify_site", configuration=configuration)
        prepare = SiteStepOperator(task_id="prepare_site", phase="prepare_site", configuration=configuration)
        plan = PlanGroupsOperator(task_id="plan_groups", design=load.output, trigger_rule="none_failed")
        groups = DeployGroupOperator.partial(
            task_id="deploy_group",
            configuration=configuration,
            map_index_template="{{ task.group }}",
            # One group at a time, in the plan's order; deferred tasks count (rule 8).
            max_active_tis_per_dagrun=1,
        ).expand(group=plan.output)
        report = ReportOperator(task_id="report", trigger_rule="all_done")
        # A teardown, so that it runs also when the run is marked failed. Without a setup: behind one that fails Airflow
        # runs nothing at all, whatever its trigger rule, and a site that is busy must be reported.
        # Its failure counts: it is all that runs in a run that is marked failed, where `report` is skipped.
        release = ReleaseSiteOperator(task_id="release").as_teardown(on_failure_fail_dagrun=True)
        acquire >> load >> validate >> verify >> prepare >> plan >> groups >> report >> release
    return dag
