"""From a template and values to an answer: autoescape everywhere, and headers that let no foreign script in.

The part of a page that renews itself has an ETag, and is kept for some seconds under its change token: it is rendered
and compressed once for all who look at it.
"""

from __future__ import annotations

import gzip
import hashlib
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.types import Scope

from site_store import SiteStore
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.kept import Kept
from slipway_api.pages import wording
from slipway_api.pages.drawings import group_graph
from strategy_lib.goals.update import value_text

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # A page may be kept to be asked for again by its ETag, and by nobody but its reader.
    "Cache-Control": "private, no-cache",
    "Vary": "Cookie, Authorization",
}
_HEADINGS = {
    401: "The session is over",
    403: "You may not see this",
    404: "There is no such thing",
    409: "This does not fit how things stand",
    503: "Not reachable now",
}


@cache
def static_version(name: str) -> str:
    """Return what changes with a static file: pages name it, so that a browser keeps the file for good."""
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("slipway_api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=wording.visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for filter_ in (
        *(
            wording.badge,
            wording.clock,
            wording.clock_of,
            wording.counted,
            wording.criterion,
            wording.due,
            wording.duration,
            wording.elapsed,
            wording.entry_badge,
        ),
        *(wording.by_phase, wording.minute, wording.number, wording.segment, wording.short_criterion, wording.symbol),
        *(group_graph.bar, group_graph.count_words, group_graph.legend, group_graph.drawn_box),
    ):
        made.filters[filter_.__name__] = filter_
    made.filters["quoted"] = shlex.quote
    made.filters["value_text"] = value_text
    made.globals["static_version"] = static_version
    made.globals["NOTHING"] = wording.NOTHING
    return made


def render(request: Request, template: str, values: Mapping[str, Any]) -> str:
    """Return the HTML of a template.

    Parameters
    ----------
    values : what the template shows. It also knows `ui` (path of the pages), `api` (path of the API), `airflow` (path
        of Airflow's own pages) and `now`.
    """
    root = request.scope.get("root_path", "")
    places = {
        "root": root,
        "ui": f"{root}/ui",
        "api": f"{root}/api/v1.0",
        "airflow": root.removesuffix("/slipway"),
        "now": datetime.now(UTC),
    }
    return _environment().get_template(template).render({**places, **values})


def page_router() -> APIRouter:
    """Return a router for pages, which are none of the API's description."""
    return APIRouter(route_class=BlockingRoute, include_in_schema=False)


def page(request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(render(request, template, values), status, headers=HEADERS)


def to_page(request: Request, *parts: object, query: str = "") -> RedirectResponse:
    """Lead to another page, by the parts of its path below ``/ui/``; `query` may have an anchor, too."""
    root = request.scope.get("root_path", "")
    return RedirectResponse(f"{root}/ui/{'/'.join(map(wording.segment, parts))}{query}", 303)


def page_failure(scope: Scope, error: ApiError) -> HTMLResponse:
    """Return the answer to a request for a page that failed: a person reads it. 401 leads to the login."""
    request = Request(scope)
    query = f"?{request.url.query}" if request.url.query else ""
    details = [str(item["message"]) for item in error.messages if item["message"] != error.message]
    values = {
        "heading": _HEADINGS.get(error.status, "This did not work"),
        "message": error.message,
        "details": details,
        "status": error.status,
        "back": f"{request.url.path}{query}" if request.method == "GET" else "",
    }
    answer = page(request, "error.html", values, error.status)
    # The browser would open its own window for a password.
    answer.headers.update({name: value for name, value in error.headers.items() if name.lower() != "www-authenticate"})
    return answer


PART = "live"
# Much smaller than without, and a fifth of the time of the most that is possible.
_COMPRESSION = 4

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Part:
    token: str | None
    html: str
    compressed: bytes
    etag: str


PARTS: Kept[_Part] = Kept(200, 5.0)
"""By page and reader. For some seconds: some of what is shown changes with time alone, such as an owner that never
came."""


def live_page(
    request: Request,
    store: SiteStore,
    template: str,
    *,
    token: str | None,
    reader: str,
    values: Callable[[], Values],
    fresh: Values,
    rest: Callable[[], Values] = dict,
) -> Response:
    """Return a page, or only its live part where the query says `part=live`.

    Parameters
    ----------
    template : the page's; the live part is the template `live/` and that name.
    token : the change token that was read in this request: a part that was kept under another is not used. None: there
        is none, and it is rendered anew.
    reader : what of the caller's rights changes the part; two with the same text may get the same HTML.
    values : reads and judges what the live part shows; not called where a part is kept.
    fresh : what the live part and the rest of the page show, and is known already.
    rest : reads what only the rest of the page shows.
    """
    key = store.location, request.url.path, _query(request), reader
    part = PARTS.get(
        key,
        lambda: _made(render(request, f"live/{template}", {**fresh, **values()}), token),
        lambda kept: kept.token == token,
        refresh=token is None or "no-cache" in request.headers.get("cache-control", ""),
    )
    if request.query_params.get("part") != PART:
        url = request.url.include_query_params(part=PART)
        live_url = f"{url.path}?{url.query}"
        return page(request, template, {**fresh, **rest(), "live": part.html, "live_url": live_url})
    headers = {**HEADERS, "ETag": part.etag, "Vary": f"{HEADERS['Vary']}, Accept-Encoding"}
    if part.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        # Airflow's middleware lets through what is compressed, and would compress it for each who looks.
        return HTMLResponse(part.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return HTMLResponse(part.html, headers=headers)


def _made(html: str, token: str | None) -> _Part:
    body = html.encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _Part(token, html, gzip.compress(body, _COMPRESSION, mtime=0), etag)


def _query(request: Request) -> str:
    return "&".join(f"{name}={value}" for name, value in sorted(request.query_params.multi_items()) if name != "part")
