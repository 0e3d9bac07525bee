"""Airflow DAG ``notify``: wiring only."""

from slipway_airflow.site_dag import notify_dag

dag = notify_dag(
    "notify",
    doc_md="""\
Sends one notification through one of Airflow's notifiers, such as a mail. Slipway's controller starts a run for each
notification and target; who is told what stands in each site's document `slipway/Notifications/v1`.

A run that failed can be cleared: the message is sent again, with the same id.
""",
)
