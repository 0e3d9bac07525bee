"""Who waits at this API server for a newer version of a site's node states, and which version each has."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from site_engine.monitoring.metrics import VIEW_READERS, Sample
from site_store import SiteStore
from strategy_lib.node_states.publication import Version


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
