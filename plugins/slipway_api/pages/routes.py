"""All pages, below ``/ui``, with their static files; and the addresses elsewhere that lead to them."""

from __future__ import annotations

import mimetypes

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from site_engine.kinds import KINDS
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import Store, require_site
from slipway_api.pages import actions, nodes, sites
from slipway_api.pages.forms import doing, repair
from slipway_api.pages.forms import nodes as forms_of_nodes
from slipway_api.pages.rendering import STATIC, page, static_version, to_page
from slipway_api.pages.wording import segment

router = APIRouter(prefix="/ui", route_class=BlockingRoute, include_in_schema=False)
for module in (sites, nodes, forms_of_nodes, repair, actions, doing):
    router.include_router(module.router)
elsewhere = APIRouter(prefix="/clustercontroller-status/v1", route_class=BlockingRoute, include_in_schema=False)
"""The address that readers of node states know from elsewhere."""


@router.get("/run", dependencies=[access.may_read])
def run_tab(
    request: Request,
    store: Store,
    caller: access.CallerDep,
    dag_id: str = "",
    run_id: str = "",
    task_id: str = "",
    map_index: str = "",
) -> Response:
    """Lead to the page of a run's action; from one of its tasks, to the page of its group or to its step there.

    The tab stands on the runs of every DAG, also of foreign ones.
    """
    if dag_id not in KINDS:
        return page(request, "no_action.html", {"why": "This DAG is not one of Slipway's."})
    caller.require_read(dag_id)
    action = store.actions.of_run(dag_id, run_id)
    if action is None:
        return page(request, "no_action.html", {"why": "Its action begins with its first task."})
    if map_index:
        groups = store.groups.of_action(action.id)
        group = next((one.name for one in groups if str(one.map_index) == map_index), None)
        if group is not None:
            return to_page(request, "actions", action.id, "group", query=f"?name={segment(group)}")
    return to_page(request, "actions", action.id, query=f"#step-{segment(task_id)}" if task_id else "")


@router.get("/static/{name}")
def static_file(name: str, v: str = Query(default="")) -> Response:
    """Return a file. It holds nothing of any site; one that is asked for by its version may be kept for good."""
    if name not in {file.name for file in STATIC.iterdir() if file.is_file()}:
        raise ApiError(404, f"there is no file {name[:64]!r}")
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    age = "public, max-age=31536000, immutable" if v == static_version(name) else "no-cache"
    headers = {"Cache-Control": age, "X-Content-Type-Options": "nosniff", "ETag": f'"{static_version(name)}"'}
    return Response((STATIC / name).read_bytes(), media_type=kind, headers=headers)


@elsewhere.get("/", dependencies=[access.may_read])
def all_sites(request: Request) -> RedirectResponse:
    """Lead to the list of sites."""
    return to_page(request, "")


@elsewhere.get("/{site}/", dependencies=[access.may_read])
def one_site(request: Request, site: str, store: Store) -> RedirectResponse:
    """Lead to the page "Nodes" of a site. Raises `ApiError` 404, with the nearest names: there is no such site."""
    require_site(store, site)
    return to_page(request, "sites", site, "states")
