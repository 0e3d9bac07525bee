"""Airflow DAG ``repair_site``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "repair_site",
    doc_md="""\
Deploys the target nodes anew, as far as they drifted or failed. Slipway's controller starts it, where the settings of
the site say `repair: on` or `repair: redeploy`. A person may start it as well.

The nodes are repaired in their groups, with the groups' criteria; of the other nodes of these groups those count that
are as wanted. A node that is deployed is destroyed with the parameter `allow_redeploy` alone, as in `update_site`.
""",
)
