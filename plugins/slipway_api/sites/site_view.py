"""The published view of a site's nodes: whole, as differences since a version, waited for; and its log of versions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from site_store import SiteStore
from site_store.status.leases import lease_of
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import in_thread
from slipway_api.http.dependencies import SitePath, Store
from slipway_api.http.long_polls import LONG_POLLS
from slipway_api.sites.view_answers import READERS, VIEW_ANSWERS, text_of
from strategy_lib.node_states.publication import Version

router = APIRouter(tags=["node states"])

LONGEST_WAIT = 60.0
"""Seconds that a reader may linger."""
_MOST_VERSIONS = 200

Since = Annotated[
    str | None,
    Query(
        max_length=60,
        pattern=r"^\d{1,18}\.\d{1,18}$",
        description="The version that the reader has, `<epoch>.<version>`: 204 if there is no newer one.",
        examples=["1763836800.7"],
    ),
]
Wait = Annotated[
    float,
    Query(
        ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="With `since`: wait so many seconds for a newer one."
    ),
]


class NodeOfView(BaseModel):
    """A node in a version: its generated state, why it is not simply up, and its capacity as listed."""

    state: str = Field(examples=["maintenance"])
    reason: str | None = Field(default=None, examples=["new disk"])
    cores: int | None = Field(default=None, examples=[32])
    memory: int | None = Field(default=None, examples=[262144], description="MiB")
    rack: str | None = Field(default=None, examples=["r1"])


class SiteState(BaseModel):
    """A version of a site's view. With `since` only the nodes that differ; null is one that is gone."""

    epoch: int = Field(examples=[1763836800])
    version: int = Field(examples=[7])
    published: Moment
    digest: str = Field(description="Two readers with the same digest have the same view.", examples=["5f2b9c0e"])
    site: str = Field(examples=["default"])
    state: str = Field(examples=["up"])
    reason: str = Field(examples=[""])
    since: str | None = Field(default=None, examples=["1763836800.6"], description="The version it is a difference to.")
    nodes: dict[str, NodeOfView | None] = Field(examples=[{"n1": {"state": "maintenance", "reason": "new disk"}}])


class VersionChange(BaseModel):
    """What one version changed of a node; null where it had or has no state."""

    node: str = Field(examples=["n1"])
    before: str | None = Field(examples=["up"])
    after: str | None = Field(examples=["maintenance"])
    reason: str = Field(examples=["new disk"])


class PublishedVersion(BaseModel):
    """One version in the log."""

    epoch: int = Field(examples=[1763836800])
    version: int = Field(examples=[7])
    published: Moment
    by: str = Field(description="The controller that published it.", examples=["host-1:4711"])
    changes: list[VersionChange]


class ViewHistory(BaseModel):
    """The newest versions of a site's view, and who leads it."""

    site: str = Field(examples=["default"])
    leader: str | None = Field(
        description="The controller that leads the site now; null: none does.", examples=["host-1:4711"]
    )
    versions: list[PublishedVersion]


@router.get(
    "/sites/{site}/state",
    dependencies=[access.may_read],
    summary="The published states of a site's nodes",
    response_class=Response,
    responses={**answers(SiteState), 204: {"description": "There is no newer version than `since`."}},
)
async def get_site_state(
    site: SitePath,
    store: Store,
    since: Since = None,
    wait: Wait = 0.0,
    accept_encoding: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the newest version, the same bytes for all; with `since` what differs from that version.

    It comes from the store, whether or not a controller lives. With `wait` the answer comes as soon as there is a newer
    version.
    """
    known = None if since is None else Version(*map(int, since.split(".")))
    newest: str | None = None
    if since is not None and known is not None and wait > 0:

        def is_new(token: str) -> bool:
            # An older one than the reader's, of a restored store, is not waited for in a circle.
            return not token or Version(*map(int, token.split("."))).replaces(known)

        polls = LONG_POLLS.get()
        with READERS.one(store.location, site, known):
            newest = await polls.newer(
                (store, "view", site), lambda: _token(store, site), since, wait, LONGEST_WAIT, is_new
            )
    if newest is None:
        newest = await in_thread(lambda: _token(store, site))
    try:
        answer = await VIEW_ANSWERS.get().get(store, site, known, newest)
    except LookupError:
        await in_thread(lambda: require_committed(store, site))
        why = "no controller has published the states of its nodes yet: `slipway controller` does"
        raise ApiError(404, f"site {site}: {why}", "Nothing Published", retry=True) from None
    return answer.response(accept_encoding)


@router.get(
    "/sites/{site}/state/history",
    dependencies=[access.may_read],
    summary="The log of versions of a site's view",
    responses=answers(ViewHistory),
)
async def get_site_state_history(
    site: SitePath,
    store: Store,
    limit: Annotated[int, Query(ge=1, le=_MOST_VERSIONS, description="How many versions at most.")] = 50,
) -> JSONResponse:
    """Return what each version changed, the newest first."""

    def work() -> dict[str, Any]:
        require_committed(store, site)
        held = store.leases.get(lease_of(site))
        leads = held is not None and held.expires_at > store.now()
        return {
            "site": site,
            "leader": held.owner if held is not None and leads else None,
            "versions": [
                {
                    "epoch": one.version.epoch,
                    "version": one.version.number,
                    "published": one.published_at.isoformat(),
                    "by": one.owner,
                    "changes": [
                        {"node": name, "before": before, "after": after, "reason": reason}
                        for name, (before, after, reason) in sorted(one.changes.items())
                    ],
                }
                for one in store.site_views.changes(site, limit=limit)
            ],
        }

    return JSONResponse(await in_thread(work))


def require_committed(store: SiteStore, site: str) -> None:
    """Refuse (404) a site without a committed revision."""
    if site not in store.sites.committed():
        raise ApiError(404, f"site {site} has no committed revision, and so no nodes", "Site not found")


def _token(store: SiteStore, site: str) -> str:
    found = store.site_views.versions().get(site)
    return "" if found is None else text_of(found)
