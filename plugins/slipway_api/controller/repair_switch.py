"""The switches of repair: of one site, and of all sites at once, also of those that come later."""

from __future__ import annotations

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api_client.airflow import AirflowClient
from site_engine.controller.repairs import REPAIR_KIND
from site_engine.errors import AirflowApiError
from site_engine.process import STOP
from site_store import ActionRecord, SiteStore
from site_store.nodes.repair_switches import ALL_SITES, RepairSwitch, words_for
from slipway_api.actions.control import give_command
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, UserName
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import IfMatch, SitePath, Store, blocking_router, etag_headers, require_match
from slipway_api.sites.site_view import require_committed

router = blocking_router("node states")

LONGEST_REASON = 1000
"""Characters of the reason."""


class Switch(BaseModel):
    """Whether repair is stopped, and why."""

    stopped: bool = Field(examples=[True])
    reason: str = Field(default="", max_length=LONGEST_REASON, examples=["the power is worked on"])


class RepairState(BaseModel):
    """How a site is repaired, and whether its repair is stopped."""

    site: str = Field(examples=["default"])
    repair: str = Field(description="What the settings say: off, observe, on or redeploy.", examples=["observe"])
    max_repairs_per_hour: int = Field(examples=[10])
    stopped_at: Moment | None = Field(description="Since when it is stopped; null: it is not.")
    stopped_by: str | None = Field(examples=["ann"])
    reason: str | None = Field(examples=["the power is worked on"])
    all_sites: bool = Field(description="It is stopped for all sites, and not for this one alone.", examples=[False])
    drifts: int = Field(description="How many nodes are not as they were left.", examples=[1])
    action: str | None = Field(description="The repair that is at work.", examples=[EXAMPLE_ID])


class AllRepair(BaseModel):
    """Whether the repair of all sites is stopped, and what is at work."""

    stopped_at: Moment | None = Field(description="Since when it is stopped for all sites; null: it is not.")
    stopped_by: str | None = Field(examples=["ann"])
    reason: str | None = Field(examples=["the power is worked on"])
    sites: list[str] = Field(description="Sites on which it is stopped by their own switch.", examples=[["north"]])
    actions: list[str] = Field(description="The repairs that are at work.", examples=[[EXAMPLE_ID]])
    problems: list[str] = Field(description="Repairs at work that could not be stopped, and why.", examples=[[]])


@router.get(
    "/sites/{site}/repair",
    dependencies=[access.may_read],
    summary="How a site is repaired",
    responses=answers(RepairState),
)
def get_repair(site: SitePath, store: Store) -> JSONResponse:
    """Return what the settings of a site say about repair, and whether it is stopped.

    The `ETag` is the version of the site's own switch.
    """
    require_committed(store, site)
    return _answer(store, site)


@router.put(
    "/sites/{site}/repair",
    dependencies=[access.may_control],
    summary="Stop all repair of a site, or let it go on",
    responses=answers(RepairState),
)
def put_repair(
    site: SitePath, body: Switch, store: Store, airflow: Airflow, user: UserName, if_match: IfMatch = None
) -> JSONResponse:
    """Stop all repair at once: none begins any more, and the one at work is stopped; or let repair go on.

    What was submitted goes on at the provisioner. Who did it stands in the site's audit.
    """
    require_committed(store, site)
    seen = require_match(if_match, lambda: store.repair_switches.version(site), words_for(site))
    problems = use_switch(store, airflow, site, user, body, seen)
    if problems:
        raise problems[0]
    return _answer(store, site)


@router.get(
    "/repair",
    dependencies=[access.may_read],
    summary="Whether the repair of all sites is stopped",
    responses=answers(AllRepair),
)
def get_all_repair(store: Store) -> JSONResponse:
    """Return whether the repair of all sites is stopped. The `ETag` is the version of that switch."""
    return _answer_all(store, ())


@router.put(
    "/repair",
    dependencies=[access.may_control],
    summary="Stop all repair of all sites, or let it go on",
    responses=answers(AllRepair),
)
def put_all_repair(
    body: Switch, store: Store, airflow: Airflow, user: UserName, if_match: IfMatch = None
) -> JSONResponse:
    """Stop all repair at once on all sites, also on those that come later; or let it go on.

    None begins any more, and those at work are stopped. What was submitted goes on at the provisioner. A site that is
    stopped by its own switch stays so. Who did it stands in the audit of every site.
    """
    seen = require_match(if_match, lambda: store.repair_switches.version(ALL_SITES), words_for(ALL_SITES))
    problems = use_switch(store, airflow, ALL_SITES, user, body, seen)
    return _answer_all(store, [str(problem) for problem in problems])


def use_switch(
    store: SiteStore, airflow: AirflowClient, site: str, user: str, wanted: Switch, seen: int | None = None
) -> list[ApiError | AirflowApiError]:
    """Stop repair, and the repairs at work; or let it go on.

    Parameters
    ----------
    site : a site, or `ALL_SITES`.
    seen : the version that the switch is to have; None: any.

    Returns
    -------
    list
        Why repairs at work could not be stopped. None begins any more all the same.

    Raises
    ------
    site_store.VersionChanged : the switch has another version.
    """
    reason = wanted.reason.strip()
    if not wanted.stopped:
        store.repair_switches.resume(site, user, reason, seen)
        return []
    store.repair_switches.stop(site, user, reason, seen)
    problems: list[ApiError | AirflowApiError] = []
    for name in store.sites.committed() if site == ALL_SITES else (site,):
        action = at_work(store, name)
        if action is None:
            continue
        try:
            give_command(store, airflow, action, STOP, user)
        except (ApiError, AirflowApiError) as problem:
            # It may have ended meanwhile.
            if not store.actions.get(action.id).state.is_end:
                problems.append(problem)
    return problems


def at_work(store: SiteStore, site: str) -> ActionRecord | None:
    """Return the repair that is at work on a site, also one that the controller does not yet know by its id."""
    for one in store.repairs.under_way(site):
        known = store.actions.of_run(REPAIR_KIND, one.run_id)
        if known is not None and not known.state.is_end:
            return known
    return None


def _stop(switch: RepairSwitch | None) -> dict[str, str | None]:
    if switch is None:
        return dict.fromkeys(("stopped_at", "stopped_by", "reason"))
    return {"stopped_at": switch.at.isoformat(), "stopped_by": switch.by, "reason": switch.reason or None}


def _answer(store: SiteStore, site: str) -> JSONResponse:
    # The version first: a use of the switch in between makes it an old one, which is refused.
    headers = etag_headers(store.repair_switches.version(site))
    settings, switch, action = store.revisions.settings(site), store.repair_switches.of_site(site), at_work(store, site)
    answer = {
        "site": site,
        "repair": str(settings.repair),
        "max_repairs_per_hour": settings.max_repairs_per_hour,
        **_stop(switch),
        "all_sites": switch is not None and switch.all_sites,
        "drifts": store.drifts.counts().get(site, (0, 0))[0],
        "action": None if action is None else action.id,
    }
    return JSONResponse(answer, headers=headers)


def _answer_all(store: SiteStore, problems: list[str] | tuple[()]) -> JSONResponse:
    headers = etag_headers(store.repair_switches.version(ALL_SITES))
    switches = store.repair_switches.all()
    own = switches.pop(ALL_SITES, None)
    found = [at_work(store, site) for site in store.sites.committed()]
    answer = {
        **_stop(own),
        "sites": sorted(switches),
        "actions": [action.id for action in found if action is not None],
        "problems": list(problems),
    }
    return JSONResponse(answer, headers=headers)
