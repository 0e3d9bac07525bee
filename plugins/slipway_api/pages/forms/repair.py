"""To stop all repair of a site, or of all sites, and to let it go on: the page says what follows, and does it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import Response

from site_store import SiteStore
from site_store.nodes.repair_switches import ALL_SITES
from slipway_api.controller.repair_switch import LONGEST_REASON, Switch, at_work, use_switch
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import RawBody
from slipway_api.http.dependencies import Store, require_site
from slipway_api.pages.forms.doing import form_fields
from slipway_api.pages.rendering import page, page_router, to_page
from slipway_api.sites.site_view import require_committed

router = page_router()

STOP, START = "stop", "start"
_MOST_NAMED = 20


def _site_of(request: Request) -> str:
    # Of the path alone: no query makes less of a stop of all sites.
    return str(request.path_params.get("site", ALL_SITES))


_Site = Annotated[str, Depends(_site_of)]
"""The site in the path; without one it is for all of them."""


@router.get("/repair/{verb}", dependencies=[access.may_control])
@router.get("/sites/{site}/repair/{verb}", dependencies=[access.may_control])
def ask(request: Request, site: _Site, verb: str, store: Store) -> Response:
    """Say what follows when repair of a site, or of all sites, is stopped, or goes on, and ask."""
    _require(store, site)
    return _question(request, store, site, verb)


@router.post("/repair/{verb}", dependencies=[access.may_control])
@router.post("/sites/{site}/repair/{verb}", dependencies=[access.may_control])
def do(
    request: Request, site: _Site, verb: str, body: RawBody, store: Store, airflow: Airflow, user: access.UserName
) -> Response:
    """Stop repair of a site, or of all sites, or let it go on."""
    _require(store, site)
    _require_verb(verb)
    reason = form_fields(body).get("reason", [""])[0].strip()
    if len(reason) > LONGEST_REASON:
        problem = f"the reason has more than {LONGEST_REASON} characters: shorten it"
        return _question(request, store, site, verb, [problem], reason[:LONGEST_REASON])
    problems = use_switch(store, airflow, site, user, Switch(stopped=verb == STOP, reason=reason))
    if problems:
        said = [f"No repair begins any more, but one at work could not be stopped: {problem}" for problem in problems]
        return _question(request, store, site, verb, said, reason)
    return to_page(request, "") if site == ALL_SITES else to_page(request, "sites", site)


def _question(
    request: Request, store: SiteStore, site: str, verb: str, problems: list[str] | None = None, reason: str = ""
) -> Response:
    _require_verb(verb)
    values = {
        "site": site,
        "stops": verb == STOP,
        "heading": f"{'Stop all repair' if verb == STOP else 'Let repair go on'}{' of all sites' if not site else ''}",
        "effects": effects(store, site, stops=verb == STOP),
        "problems": problems or [],
        "reason": reason,
        "longest": LONGEST_REASON,
    }
    return page(request, "repair.html", values)


def effects(store: SiteStore, site: str, *, stops: bool) -> list[str]:
    """Return in sentences what follows when repair is stopped, or goes on. `site` may be `ALL_SITES`."""
    switches = store.repair_switches.all()
    own = switches.pop(site, None)
    said = []
    if stops:
        where = "on any site, also on those that come later" if site == ALL_SITES else f"on site {site}"
        said.append(f"No repair begins any more {where}, until somebody lets it go on.")
        sites = store.sites.committed() if site == ALL_SITES else [site]
        working = [(name, action) for name in sites if (action := at_work(store, name)) is not None]
        named = ", ".join(f"{action.id} of site {name}" for name, action in working[:_MOST_NAMED])
        more = f" and {len(working) - _MOST_NAMED} more" if len(working) > _MOST_NAMED else ""
        if working:
            said.append(f"The repair that is at work is stopped: {named}{more}.")
            said.append("What was submitted goes on at the provisioner, and its nodes are unknown until it is over.")
        else:
            said.append("No repair is at work now.")
        said.append("Nodes that drifted or failed are shown in error. Other actions go on as they are.")
        if own is not None:
            said.append(f"It is stopped already, by {own.by}: that stands, with its reason.")
    else:
        said.append("Nodes that drifted or failed are repaired as the settings of their sites say, within seconds.")
        if own is None:
            said.append("It is not stopped: nothing changes.")
        elif own.reason:
            said.append(f"It was stopped by {own.by}: {own.reason}.")
        else:
            said.append(f"It was stopped by {own.by}, who gave no reason.")
        if site == ALL_SITES and switches:
            said.append(f"It stays stopped on sites with a stop of their own: {', '.join(sorted(switches))}.")
        elif site != ALL_SITES and ALL_SITES in switches:
            said.append("It stays stopped, as it is stopped for all sites.")
    said.append("It is recorded with your name.")
    return said


def _require(store: SiteStore, site: str) -> None:
    if site != ALL_SITES:
        require_site(store, site)
        require_committed(store, site)


def _require_verb(verb: str) -> None:
    if verb not in (STOP, START):
        raise ApiError(404, f"repair can be stopped or started, and nothing else: not {verb[:40]!r}", "Not found")
