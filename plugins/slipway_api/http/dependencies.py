"""What routes depend on: the store, the provisioners, and the query parameters that they share."""

from __future__ import annotations

import re
import threading
from typing import Annotated, NoReturn

from fastapi import APIRouter, Depends, Path, Query, Request

from site_engine.provisioners import Provisioners
from site_store import SiteStore
from site_store.sql.address import resolve
from slipway_api.http.airflow_access import COMMIT_DAG, CallerDep
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute, in_thread
from strategy_lib.did_you_mean import did_you_mean

_lock = threading.Lock()
_stores: dict[str, SiteStore] = {}


def open_store() -> SiteStore:
    """Return the store that the environment names; callers share it and never close it.

    When the environment names another one, the idle connections of the one before are closed.

    Raises `StoreNotConfigured`, `SchemaNotCurrent` or `StoreUnavailable`, and the next request tries again: the
    database may be there by then.
    """
    url = resolve().render_as_string(hide_password=False)
    with _lock:
        if url not in _stores:
            opened = SiteStore.open(url)
            for earlier in _stores.values():
                earlier.close()
            _stores.clear()
            _stores[url] = opened
        return _stores[url]


_provisioners: list[Provisioners] = []


def use_provisioners(looked_up_by: Provisioners) -> None:
    """Say what looks up the connections of provisioners; `slipway_api.app.create_app` does."""
    _provisioners[:] = [looked_up_by]


def provisioners() -> Provisioners:
    """Return what looks up the connections of provisioners.

    Raises `RuntimeError`: the application was built without it.
    """
    if not _provisioners:
        raise RuntimeError("create_app was given nothing that looks up provisioners")
    return _provisioners[0]


async def shared_store() -> SiteStore:
    """Return the same store, within the event loop: a thread is needed only until it is open."""
    found = _stores.get(resolve().render_as_string(hide_password=False))
    return found if found is not None else await in_thread(open_store)


def blocking_router(tag: str) -> APIRouter:
    """Return a router for routes of one subject, whose functions may block."""
    return APIRouter(tags=[tag], route_class=BlockingRoute)


Store = Annotated[SiteStore, Depends(shared_store)]


DEFAULT_SITE = "default"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
LONGEST_NAME = 64


SiteName = Annotated[
    str,
    Query(
        alias="site",
        pattern=NAME_PATTERN,
        max_length=LONGEST_NAME,
        description="The site. Airship's own client names none, and works on the site `default`.",
        examples=[DEFAULT_SITE],
    ),
]
"""A route's parameter ``site: SiteName = DEFAULT_SITE``; the site need not exist."""


SitePath = Annotated[
    str, Path(pattern=NAME_PATTERN, max_length=LONGEST_NAME, description="The site.", examples=[DEFAULT_SITE])
]
"""A route's parameter ``site``, which stands in its path."""


DEFAULT_VERBOSITY = 1
Verbosity = Annotated[
    int,
    Query(
        alias="verbosity",
        ge=0,
        le=5,
        description="0 to 5: from 1 on with summary notes, from 3 on with provisioner tasks, at 5 with nodes.",
    ),
]
"""A route's parameter ``verbosity: Verbosity = DEFAULT_VERBOSITY``."""


def accept_verbosity(verbosity: Verbosity = DEFAULT_VERBOSITY) -> None:
    """Accept the parameter on a route that has no use for it."""


_NEAREST = 3
# A site begins with the first collection that is put into its buffer.
_CREATES = ("POST", "/configdocs/")


def require_existing_site(request: Request, caller: CallerDep) -> None:
    """Refuse a site, in the query or in the path, that has neither documents nor actions; the default may be empty.

    Raises `ApiError` 404, with the nearest names.
    """
    site = request.path_params.get("site", request.query_params.get("site"))
    method, place = _CREATES
    # The route itself refuses a caller who may not read, and a text that cannot be the name of a site.
    if site is None or site == DEFAULT_SITE or not re.search(NAME_PATTERN, site) or not caller.may_read(COMMIT_DAG):
        return
    if request.method == method and place in request.url.path:
        return
    require_site(open_store(), site)


def require_site(store: SiteStore, site: str, *, default_exists: bool = False) -> None:
    """Refuse a site that has neither documents nor actions. Raises `ApiError` 404, with the nearest names.

    Parameters
    ----------
    default_exists : the default site may be empty.
    """
    if not (default_exists and site == DEFAULT_SITE) and not store.sites.exists(site):
        refuse_unknown_site(store, site)


def refuse_unknown_site(store: SiteStore, site: str) -> NoReturn:
    """Say that a site does not exist. Raises `ApiError` 404, with the nearest names."""
    known = store.sites.known()
    there = "there is none yet: put a collection of documents into its buffer first"
    if known:
        verb = "is" if len(known) == 1 else "are"
        there = f"there {verb} {', '.join(known[:20])}" + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    hint = did_you_mean(site, known, there, most=_NEAREST)
    raise ApiError(404, f"there is no site {site[:64]!r}; {hint}", "Site not found")


def link_to_next(request: Request, **place: object) -> dict[str, str]:
    """Return the header of a page that is not the last: the same request from where the next page begins."""
    url = request.url.include_query_params(**place)
    return {"Link": f'<{url.path}?{url.query}>; rel="next"'}
