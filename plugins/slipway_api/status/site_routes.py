"""Sites with how they stand, and owners: who is expected to write, and who does."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.monitoring.owners import list_owners
from site_engine.trees.status_trees import site_trees
from site_store.nodes.repair_switches import stopping
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers, shown
from slipway_api.http.dependencies import LONGEST_NAME, NAME_PATTERN, Store, blocking_router, link_to_next
from strategy_lib.status.entry import serving_to_dict
from strategy_lib.status.serves import Serving

router = blocking_router("status")

_LONGEST_PAGE = 200
_LONGEST_NAME = 1000


class BriefAction(BaseModel):
    """An action of a site, in few words."""

    id: str = Field(examples=[EXAMPLE_ID])
    kind: str = Field(examples=["deploy_site"])
    revision: int | None = Field(examples=[3])
    state: str = Field(examples=["success"])
    verdict: str | None = Field(examples=["every group succeeded"])
    left_alone: int = Field(
        examples=[0], description="Nodes of critical groups that a success has neither submitted nor proven."
    )
    user: str = Field(examples=["admin"])
    created: Moment
    ended: Moment | None
    paused: Moment | None = Field(examples=[None])
    asks: str | None = Field(examples=[None], description="Its first group that waits for a person's approval.")
    approve: str | None = Field(examples=[None], description="The command that answers this group.")


class RepairStop(BaseModel):
    """Since when repair of a site is stopped, by whom and why."""

    at: Moment
    by: str = Field(examples=["ann"])
    reason: str = Field(examples=["the power is worked on"])
    all_sites: bool = Field(description="For all sites, and not for this one alone.", examples=[False])


class SiteStanding(BaseModel):
    """How a site stands; without a status where nothing was committed for it yet."""

    name: str = Field(examples=["default"])
    status: str | None = Field(examples=["success"])
    reason: str | None = Field(examples=[None])
    revision_committed: int | None = Field(examples=[3])
    revision_done: int | None = Field(examples=[3])
    nodes: int = Field(examples=[3])
    nodes_as_wanted: int = Field(examples=[3])
    in_sync: bool | None = Field(examples=[True], description="Whether it serves its design; null: it has none.")
    sync: str = Field(examples=["in sync with the design"], description="The same in words: since when, how many not.")
    healthy: bool | None = Field(examples=[True], description="Whether nothing of it is in trouble.")
    health: str = Field(examples=["healthy"], description="The same in words: what is in trouble.")
    counts: dict[str, int] = Field(examples=[{"success": 3}])
    serves: str = Field(examples=["wanted"], description="The oldest that a node serves: see `serves_counts`.")
    serves_counts: dict[str, int] = Field(
        examples=[{"wanted": 3}],
        description="How many nodes serve `nothing`, an `older` revision, or the `wanted` one.",
    )
    pending_serves: dict[str, int] = Field(examples=[{}], description="The same of the pending ones that serve.")
    messages: list[str] = Field(examples=[[]])
    running: BriefAction | None = Field(examples=[None])
    last: BriefAction | None
    hold: str | None = Field(
        examples=[None], description="Why nothing is sent to its provisioner; null: it may be (rule 61)."
    )
    stopped: str | None = Field(examples=[None], description="Why nobody watches it, as a demo's; null: it is watched.")
    repair_stopped: RepairStop | None = Field(description="Who has stopped its repair; null: nobody has.")


class ListedOwner(BaseModel):
    """Who is expected to write statuses, and for what."""

    name: str = Field(examples=["provisioner:slipway_provisioner"])
    alive: bool = Field(examples=[True])
    status: str = Field(examples=["alive"])
    last_seen: Moment | None
    interval: float | None = Field(examples=[120.0], description="Seconds that it counts as alive after that.")
    detail: str | None = Field(examples=[None])
    unresponsive_since: Moment | None = Field(examples=[None])
    sites: list[str] = Field(examples=[["default"]])
    actions: list[str] = Field(examples=[[]])


class OwnerList(BaseModel):
    """A page of owners, by name."""

    read_at: Moment
    after: str | None = Field(examples=[None], description="Where the next page begins; null: there is none.")
    owners: list[ListedOwner]


AfterSite = Annotated[
    str | None,
    Query(
        pattern=NAME_PATTERN,
        max_length=LONGEST_NAME,
        description="Only sites behind this name: the header `Link` has it for the next page.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many sites at most.")]


@router.get("/sites", dependencies=[access.may_read], summary="All sites", responses=answers(list[SiteStanding]))
def get_sites(request: Request, store: Store, after: AfterSite = None, limit: Limit = _LONGEST_PAGE) -> JSONResponse:
    """Return the sites by name, each with how it stands: what is wanted against what is done."""
    names, switches = store.sites.known_with_switches(after, limit + 1)
    page = names[:limit]
    headers = link_to_next(request, limit=limit, after=page[-1]) if len(names) > limit else {}
    trees = zip(page, site_trees(store, page), strict=True)
    found = [
        {**site_standing(tree), "repair_stopped": (stop := stopping(switches, name)) and shown(RepairStop, stop)}
        for name, tree in trees
    ]
    return JSONResponse(found, headers=headers)


def site_standing(tree: Any) -> dict[str, Any]:
    """Return a line of the list of sites from a site's tree."""
    root = tree.root
    return {
        **tree.header,
        "status": root.status.value if root.status is not None else None,
        "reason": root.reason or None,
        "counts": {status.value: number for status, number in root.counts.items() if number},
        **serving_to_dict(root.serving or Serving()),
        "messages": list(root.messages),
    }


@router.get("/owners", dependencies=[access.may_read], summary="All owners", responses=answers(OwnerList))
def get_owners(
    store: Store,
    after: Annotated[str | None, Query(max_length=_LONGEST_NAME, description="`after` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many at most.")] = _LONGEST_PAGE,
) -> JSONResponse:
    """Return who is expected to write statuses, by name: when each was seen last, and what is expected of it."""
    page = list_owners(store, after, limit)
    owners = [owner.to_data() for owner in page.owners]
    return JSONResponse({"read_at": page.read_at.isoformat(), "after": page.after, "owners": owners})
