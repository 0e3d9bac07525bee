"""Airflow DAG ``redeploy_server``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "redeploy_server",
    doc_md="""\
Destroys the target nodes, prepares them and deploys them anew, as one critical group of which every node must succeed.
**Everything on them is lost.**

Unless every target node is proven destroyed, none is deployed: open the log of `destroy_nodes`. Clear it, with its
downstream tasks, to try again what is not yet destroyed, and to go on. `release` is red when the report did not
run, or the site could not be freed.

`begin_action` refuses what would take a critical group below its criteria, unless the parameter `below_criteria` is
set.
""",
)
