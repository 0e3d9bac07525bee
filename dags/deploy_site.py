"""Airflow DAG ``deploy_site``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "deploy_site",
    description="Deploy a site of baremetal servers, group by group.",
    doc_md="""\
Deploys every node of a site's design, group by group, as its DeploymentStrategy says.

One box of `deploy_group` is one group. A red group has missed its criteria; whether that fails the run is decided by
`report`: open its log first. Clearing a red group tries again what is not yet done in it; clearing all of them resumes
the run. Groups that have succeeded submit nothing.
""",
    force_help="Submit also nodes that are already as wanted, or still held by an older provisioner task.",
)
