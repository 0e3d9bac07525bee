"""Airflow DAG ``update_site``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "update_site",
    description="Bring the nodes of a site whose design has changed up to date, group by group.",
    doc_md="""\
Deploys the nodes whose wanted design differs from what was last done, or that are no longer as they were left, group by
group, as the site's DeploymentStrategy says. Nodes that are as wanted count as successes and are not submitted.

`deploy_group` unfolds to one row per group. A red group has missed its criteria; whether that fails the run is
decided by `report`: open its log first. `release` is red whenever the run has failed; the site is free all the same.
""",
    force_help="Submit all nodes, also those that are already as wanted.",
)
