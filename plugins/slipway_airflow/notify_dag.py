"""The DAG that runs Airflow's notifiers: one run for each notification and target."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from slipway_airflow.operators.notify import NotifyOperator


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
