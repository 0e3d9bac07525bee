"""Airflow DAG ``update_site``: wiring only."""

from slipway_airflow.site_dag import site_dag

dag = site_dag(
    "update_site",
    doc_md="""\
Considers the nodes whose wanted design differs from what was last done, and those that are no longer as they were left,
group by group, as the site's DeploymentStrategy says. Those that are not deployed are prepared and deployed. A node
that is deployed in another design is not touched: it counts as not successful, and the report names it as in need of a
redeploy. With the parameter `allow_redeploy`, or where its group says so, it is destroyed and deployed anew, in batches
(`max_unavailable`). Nodes that are as wanted count as successes and are not submitted.

New labels are given in place (`relabel_nodes`), before the groups. Nodes that left the design are named. With the
parameter `prune` they are destroyed (`destroy_nodes`), after groups that did not fail. **Everything on them is lost.**

A click on the cell of `deploy_group` lists the groups, each by its name. A red group has missed its criteria, a skipped
one was blocked by a red one. Whether that fails the run is decided by `report`: open its log first. `release` is red
when the report did not run, or the site could not be freed.
""",
)
