"""To ask for a node again: the page says what follows from it, and does it when that is confirmed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from site_engine.node_lists import last_conditions
from site_engine.plans.differences import node_difference
from site_engine.wishes import require_in_use, touch_nodes
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store, require_site
from slipway_api.pages.rendering import page, page_router, to_page
from strategy_lib.goals.update import TO_DO, Change
from strategy_lib.outcome import NodeCondition
from strategy_lib.status.node_row import NodeRow

router = page_router()

NodeName = Annotated[str, Query(max_length=1000)]


@router.get("/sites/{site}/touch", dependencies=[access.may_commit])
def ask(request: Request, site: str, node: NodeName, store: Store) -> Response:
    """Say what follows when a node is asked for again, and ask."""
    require_site(store, site)
    record = next((one for one in store.nodes.of_site(site) if one.name == node), None)
    if record is None or record.wanted_digest is None:
        raise ApiError(404, f"the design of site {site} has no node {node[:64]!r}", "Node not found")
    require_in_use(store, site, [node])
    said = effects(record, last_conditions(store, site)[0].get(node))
    return page(
        request, "touch.html", {"site": site, "name": node, "effects": said, "running": store.locks.owner(site)}
    )


@router.post("/sites/{site}/touch", dependencies=[access.may_commit])
def do(request: Request, site: str, node: NodeName, store: Store, user: access.UserName) -> Response:
    """Ask for a node again."""
    require_site(store, site)
    touch_nodes(store, site, [node], user)
    return to_page(request, "sites", site, "nodes", node)


def effects(record: NodeRow, condition: NodeCondition | None) -> list[str]:
    """Return in sentences what follows when a node is asked for again.

    Parameters
    ----------
    record : of a node that is in the design.
    condition : what the provisioner said of it last; None: its list does not have it.
    """
    version = (record.wanted_version or 0) + 1
    touched = replace(record, wanted_version=version, touched=version)
    now = node_difference(record.name, record.wanted_digest, record, condition)
    then = node_difference(record.name, record.wanted_digest, touched, condition)
    said = [f"Its design stays the same, and is wanted as version {version} of the node."]
    if now.change is not Change.NONE:
        said.append(f"It is not as wanted now: {now.reason}.")
    if then.change not in TO_DO:
        said.append(f"The next update leaves it alone: {then.withheld or then.reason}.")
    elif then.withheld is None:
        said.append("The next update prepares and deploys it.")
    else:
        said.append("It is deployed. An update that may redeploy it (allow_redeploy) destroys it and deploys it anew.")
        said.append("Any other update names it, and leaves it alone.")
    if record.next_try is not None:
        said.append("Its failures are forgotten: repair, where it is on, waits no longer.")
    said.append("Nothing is started by this. It is recorded with your name.")
    return said
