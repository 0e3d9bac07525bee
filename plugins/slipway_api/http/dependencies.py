"""What routes depend on: the store, the provisioners, parameters that they share, versions as `ETag` and `If-Match`.

And the headers that Airship's clients send and expect, on every request and every answer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Annotated, NoReturn, TypeVar
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from site_engine.provisioners import Provisioners
from site_store import SiteStore
from site_store.sql.address import resolve
from slipway_api.http.airflow_access import COMMIT_DAG, CallerDep
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute, in_thread
from strategy_lib.did_you_mean import did_you_mean

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="Only if it still has this version: the `ETag` of an earlier answer. Otherwise 412.",
        examples=['"7"'],
    ),
]
"""A route's parameter ``if_match: IfMatch = None``."""

_Version = TypeVar("_Version", int, str)


def etag_headers(version: int | str) -> dict[str, str]:
    """Return the headers of an answer about something at this version."""
    return {"ETag": f'"{version}"'}


def require_match(if_match: str | None, read_version: Callable[[], _Version], what: str) -> _Version | None:
    """Return the version that something has to keep until it is written, None when the request sets no condition.

    Parameters
    ----------
    if_match : the header: ``*``, or entity tags separated by commas.
    read_version : returns the version that it has now; called where there is a condition.
    what : what it is, in words.

    Raises
    ------
    ApiError : 412: no tag is that of this version.
    """
    if if_match is None:
        return None
    version = read_version()
    tags = {tag.strip() for tag in if_match.split(",")}
    if "*" not in tags and f'"{version}"' not in tags:
        raise mismatch(what, version, if_match)
    return version


def mismatch(what: str, version: int | str, if_match: str) -> ApiError:
    """Return the answer to a write that came too late: 412, with the version that was meant and the present one."""
    meant = if_match.strip().replace('"', "")[:64]
    text = f"{what} is at version {version} now, and not at {meant}: look at it again, then repeat"
    return ApiError(412, text, "Changed Meanwhile", headers=etag_headers(version))


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


_REQUEST = "slipway_request_id"
_MARKER = "slipway_context_marker"


class ShipyardHeaders:
    """ASGI middleware: ``X-Auth-Token`` is a bearer token; every request has an id and a context marker.

    The id is ours and is answered as ``X-Shipyard-Req``. The marker is the caller's ``X-Context-Marker``, if that is a
    UUID, else the id: it ties what several services log about one request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token = headers.get("x-auth-token", "").strip()
        # Another scheme is that of a proxy on the way. Were the token dropped for it, a cookie would be who is asking.
        if token and not headers.get("authorization", "").lower().startswith("bearer "):
            others = [header for header in scope["headers"] if header[0] != b"authorization"]
            scope = {**scope, "headers": [*others, (b"authorization", b"Bearer " + token.encode("latin-1"))]}
        request_id = str(uuid4())
        marker = _uuid(headers.get("x-context-marker")) or request_id
        scope.setdefault("state", {}).update({_REQUEST: request_id, _MARKER: marker})

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                given["X-Shipyard-Req"] = request_id
                given["X-Context-Marker"] = marker
            await send(message)

        await self._app(scope, receive, answer)


def request_id(request: Request) -> str:
    """Return the id of the request, as it is answered in ``X-Shipyard-Req``."""
    return str(getattr(request.state, _REQUEST))


def context_marker(request: Request) -> str:
    """Return the context marker of the request, a UUID."""
    return str(getattr(request.state, _MARKER))


def _uuid(text: str | None) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        return None
