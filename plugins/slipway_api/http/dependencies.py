"""The store of this process: opened once for all requests, since each opening costs a connection and a look."""

from __future__ import annotations

import threading
from typing import Annotated

from fastapi import Depends

from site_store import SiteStore
from site_store.address import resolve

_lock = threading.Lock()
_stores: dict[str, SiteStore] = {}


def open_store() -> SiteStore:
    """Return the store that the environment names; callers share it and never close it.

    Raises
    ------
    StoreNotConfigured, SchemaNotCurrent, StoreUnavailable
        And the next request tries again: the database may be there by then.
    """
    url = resolve().render_as_string(hide_password=False)
    with _lock:
        if url not in _stores:
            _stores[url] = SiteStore.open(url)
        return _stores[url]


Store = Annotated[SiteStore, Depends(open_store)]
