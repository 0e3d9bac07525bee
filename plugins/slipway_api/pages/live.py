"""The part of a page that renews itself: its HTML with an ETag, kept for some seconds under its change token.

It is rendered and compressed once for all who look at it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from site_store import SiteStore
from slipway_api.http.kept import Kept
from slipway_api.pages.rendering import HEADERS, page, render

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


@dataclass(frozen=True, slots=True)
class LivePart:
    """A live part beside the main one of a page: its template, its address, its token, and what it shows."""

    template: str
    url: str
    token: str
    values: Callable[[], Values]
    fresh: Values

    def html(self, request: Request) -> str:
        """Return it as it is now."""
        return render(request, f"live/{self.template}", {**self.fresh, **self.values()})


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
        return page(request, template, {**fresh, **rest(), "live": part.html, "live_url": live_address(request)})
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


def live_address(request: Request) -> str:
    """Return where the live part of the asked page is."""
    url = request.url.include_query_params(part=PART)
    return f"{url.path}?{url.query}"


def _query(request: Request) -> str:
    return "&".join(f"{name}={value}" for name, value in sorted(request.query_params.multi_items()) if name != "part")
