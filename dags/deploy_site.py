"""Airflow DAG ``deploy_site``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "deploy_site",
    doc_md="""\
Deploys every node of a site's design, group by group, as its DeploymentStrategy says.

A click on the cell of `deploy_group` lists the groups, each by its name. A red group has missed its criteria, a skipped
one was blocked by a red one. Whether that fails the run is decided by `report`: open its log first. Clear a red group,
with its downstream tasks, to try again what is not yet done in it; clear all of them to resume the run. Groups that
have succeeded submit nothing. `release` is red when the report did not run, or the site could not be freed.
""",
)
