"""Hold the right to submit an operation for as long as the submission takes, and no longer than this process lives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from site_store import StoreError

if TYPE_CHECKING:
    from site_store import SiteStore

# A killed process keeps the others waiting at most this long.
LEASE_SECONDS = 30.0


@contextmanager
def renewed(store: SiteStore, op: int, owner: str) -> Iterator[None]:
    """Renew a lease that ``owner`` has, until the block ends: a submission may take minutes when answers are lost."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(LEASE_SECONDS / 3):
            # A database that is busy once is no reason to stop; whether the right still holds is asked before sending.
            with suppress(StoreError):
                store.lease(op, owner, LEASE_SECONDS)

    thread = threading.Thread(target=renew, name=f"lease-{op}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
