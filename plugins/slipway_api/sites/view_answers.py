"""What readers of a site's published view get: made once, and the same bytes for all who ask the same (rule 55).

And who of them waits at this API server for a newer version, and which version each has.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi.responses import Response

from site_engine.monitoring.metrics import VIEW_READERS, Sample
from site_store import SiteStore
from slipway_api.http.concurrency import LoopBound, in_thread
from strategy_lib.node_states.publication import Version

_MOST_CHANGES = 200
"""Versions whose differences are put together; a reader that is further behind gets the whole."""
_MOST_KEPT = 16
"""Answers that are kept for each event loop: nearly all readers have the same version, and want the same."""
_LEAST_COMPRESSED = 1000
_Key = tuple["SiteStore", str, Version | None, str]


@dataclass(frozen=True, slots=True)
class ViewAnswer:
    """An answer about one version.

    Attributes
    ----------
    version : the newest one of the site.
    body : None: it is no newer than the reader's.
    compressed : the body for readers who accept gzip; None where it is too short for that.
    """

    version: Version
    body: bytes | None
    compressed: bytes | None

    def response(self, accepted: str) -> Response:
        """Return it for a reader who accepts these encodings."""
        headers = {"ETag": f'"{text_of(self.version)}"', "Cache-Control": "private, no-cache"}
        if self.body is None:
            return Response(status_code=204, headers=headers)
        if self.compressed is None:
            return Response(self.body, media_type="application/json", headers=headers)
        headers["Vary"] = "Accept-Encoding"
        if "gzip" not in accepted:
            return Response(self.body, media_type="application/json", headers=headers)
        headers["Content-Encoding"] = "gzip"
        return Response(self.compressed, media_type="application/json", headers=headers)


def text_of(version: Version) -> str:
    """Return a version as readers name it."""
    return f"{version.epoch}.{version.number}"


class ViewAnswers:
    """The answers that were made last; used within one event loop."""

    def __init__(self) -> None:
        self._made: dict[_Key, asyncio.Future[ViewAnswer]] = {}

    async def get(self, store: SiteStore, site: str, known: Version | None, newest: str) -> ViewAnswer:
        """Return the answer to a reader who has `known`, while `newest` is what was published last.

        Who asks for what another one has asked for waits for the same answer, and holds no thread.

        Raises `LookupError`: nothing is published.
        """
        if not newest:
            return await in_thread(lambda: make_answer(store, site, known))
        key = (store, site, known, newest)
        found = self._made.get(key)
        if found is None:
            for old in [old for old in self._made if old[:2] == key[:2] and old[3] != newest]:
                del self._made[old]
            if len(self._made) >= _MOST_KEPT:
                del self._made[next(iter(self._made))]
            found = self._made[key] = asyncio.ensure_future(in_thread(lambda: make_answer(store, site, known)))
            found.add_done_callback(self._forget_failure(key))
        # One who goes away does not take the answer away from the others.
        return await asyncio.shield(found)

    def _forget_failure(self, key: _Key) -> Callable[[asyncio.Future[ViewAnswer]], None]:
        def ended(done: asyncio.Future[ViewAnswer]) -> None:
            if (done.cancelled() or done.exception() is not None) and self._made.get(key) is done:
                del self._made[key]

        return ended


VIEW_ANSWERS = LoopBound("slipway_view_answers", ViewAnswers)
"""Those of the running event loop."""


def make_answer(store: SiteStore, site: str, known: Version | None) -> ViewAnswer:
    """Read the newest version of a site, and what differs from the one that a reader has.

    Raises `LookupError`: nothing is published.
    """
    found = store.site_views.body(site)
    if found is None:
        raise LookupError(site)
    version, text = found
    if known is not None and not version.replaces(known):
        return ViewAnswer(version, None, None)
    differing = None if known is None else _since(store, site, known, version)
    if known is not None and differing is not None:
        whole = json.loads(text)
        nodes = {name: whole["nodes"].get(name) for name in sorted(differing)}
        # As all JSON of this API: no spaces, and every letter as itself.
        text = json.dumps({**whole, "since": text_of(known), "nodes": nodes}, separators=(",", ":"), ensure_ascii=False)
    body = text.encode()
    return ViewAnswer(version, body, gzip.compress(body, mtime=0) if len(body) >= _LEAST_COMPRESSED else None)


def _since(store: SiteStore, site: str, known: Version, newest: Version) -> set[str] | None:
    """Return the nodes that differ since a version; None where the log does not reach back so far."""
    changes = store.site_views.changes(site, known, _MOST_CHANGES + 1)
    if len(changes) != newest.number - known.number or len(changes) > _MOST_CHANGES:
        return None
    return {name for change in changes for name in change.changes}


class Readers:
    """Readers that linger: counted by the event loop, and read by the threads that make metrics."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[tuple[str, str, Version]] = Counter()

    @contextmanager
    def one(self, store: str, site: str, known: Version) -> Iterator[None]:
        """Count a reader that has this version, for as long as it waits."""
        key = (store, site, known)
        with self._lock:
            self._waiting[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key]

    def samples(self, store: SiteStore) -> list[Sample]:
        """Return how many wait for each site, and how many of them have an older version than the published one."""
        with self._lock:
            waiting = [
                (site, known, number) for (at, site, known), number in self._waiting.items() if at == store.location
            ]
        newest = store.site_views.versions()
        counts: Counter[tuple[str, str]] = Counter()
        for site in newest:
            counts[site, "true"] = counts[site, "false"] = 0
        for site, known, number in waiting:
            behind = site in newest and newest[site].replaces(known)
            counts[site, "true" if behind else "false"] += number
        return [Sample(VIEW_READERS, labels, number) for labels, number in counts.items()]


READERS = Readers()
"""Those of this process."""
