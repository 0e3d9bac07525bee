"""What all requests of this process share: the store, opened once, and what looks up the provisioners."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends

from site_store import SiteStore
from site_store.address import resolve

if TYPE_CHECKING:
    from site_engine.provisioners import Provisioners

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


_provisioners: list[Provisioners] = []


def use_provisioners(looked_up_by: Provisioners) -> None:
    """Say what looks up the connections of provisioners; `slipway_api.app.create_app` does."""
    _provisioners[:] = [looked_up_by]


def provisioners() -> Provisioners:
    """Return what looks up the connections of provisioners.

    Raises
    ------
    RuntimeError
        The application was built without it.
    """
    if not _provisioners:
        raise RuntimeError("create_app was given nothing that looks up provisioners")
    return _provisioners[0]


Store = Annotated[SiteStore, Depends(open_store)]
