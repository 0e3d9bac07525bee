"""The part of a page that renews itself: its HTML with an ETag, kept for some seconds under its change token.

It is rendered and compressed once for all who look at it.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from slipway_api.pages.rendering import HEADERS, page, render

if TYPE_CHECKING:
    from site_store import SiteStore

PART = "live"
KEPT_FOR = 5.0
"""Seconds: some of what is shown changes with time alone, such as an owner that never came."""
MOST_KEPT = 200
# Much smaller than without, and a fifth of the time of the most that is possible.
_COMPRESSION = 4

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    html: str
    compressed: bytes
    etag: str


class _Turn:
    """Who renders a part; forgotten when nobody does."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


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


_lock = threading.Lock()
_turns: WeakValueDictionary[tuple[str, ...], _Turn] = WeakValueDictionary()
_kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()


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
        is none, and nothing is kept.
    reader : what of the caller's rights changes the part; two with the same text may get the same HTML.
    values : reads and judges what the live part shows; not called where a part is kept.
    fresh : what the live part and the rest of the page show, and is known already.
    rest : reads what only the rest of the page shows.
    """
    key = store.location, request.url.path, _query(request), token or "", reader
    unasked = token is not None and "no-cache" not in request.headers.get("cache-control", "")
    kept = _lookup(key) if unasked else None
    if kept is None:
        with _turn(key):
            # Of several who ask at once one renders, and the others have waited for it.
            kept = _lookup(key) if unasked else None
            if kept is None:
                html = render(request, f"live/{template}", {**fresh, **values()})
                kept = _made(html)
                if token is not None:
                    _keep(key, kept)
    if request.query_params.get("part") != PART:
        return page(request, template, {**fresh, **rest(), "live": kept.html, "live_url": live_address(request)})
    headers = {**HEADERS, "ETag": kept.etag, "Vary": f"{HEADERS['Vary']}, Accept-Encoding"}
    if kept.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        # Airflow's middleware lets through what is compressed, and would compress it for each who looks.
        return HTMLResponse(kept.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return HTMLResponse(kept.html, headers=headers)


def _made(html: str) -> _Kept:
    body = html.encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _Kept(time.monotonic(), html, gzip.compress(body, _COMPRESSION, mtime=0), etag)


def live_address(request: Request) -> str:
    """Return where the live part of the asked page is."""
    url = request.url.include_query_params(part=PART)
    return f"{url.path}?{url.query}"


def _query(request: Request) -> str:
    return "&".join(f"{name}={value}" for name, value in sorted(request.query_params.multi_items()) if name != "part")


@contextmanager
def _turn(key: tuple[str, ...]) -> Iterator[None]:
    """Wait until nobody else renders the same part, whatever its token."""
    location, path, query, _, reader = key
    with _lock:
        turn = _turns.setdefault((location, path, query, reader), _Turn())
    with turn.lock:
        yield


def _lookup(key: tuple[str, ...]) -> _Kept | None:
    with _lock:
        found = _kept.get(key)
        return found if found is not None and time.monotonic() - found.at < KEPT_FOR else None


def _keep(key: tuple[str, ...], part: _Kept) -> None:
    with _lock:
        _kept[key] = part
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
