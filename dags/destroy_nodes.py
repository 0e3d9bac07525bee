"""Airflow DAG ``destroy_nodes``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "destroy_nodes",
    doc_md="""\
Destroys the target nodes: their machines are released and their disks erased. **Everything on them is lost.** The next
`update_site` or `deploy_site` deploys them again, unless they are taken out of the design.

Clear `destroy_nodes`, with its downstream tasks, to try again what is not proven destroyed. `release` is red when
the report did not run, or the site could not be freed.

`begin_action` refuses what would take a critical group below its criteria, unless the parameter `below_criteria` is
set.
""",
)
