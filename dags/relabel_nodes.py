"""Airflow DAG ``relabel_nodes``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "relabel_nodes",
    doc_md="""\
Has the provisioner give the target nodes the labels that the revision's design has for them. Nothing else changes.

Clear `relabel_nodes`, with its downstream tasks, to try again what is not proven done. `release` is red when the
report did not run, or the site could not be freed.
""",
)
