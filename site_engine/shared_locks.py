"""Locks of all processes that share a store, as a provisioner's client asks for them: a lease is one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from site_engine.process import process_identity
from site_store import LeaseLost, StoreError

if TYPE_CHECKING:
    from provisioner_client.shared_lists import Locks
    from site_store import Lease, SiteStore

log = logging.getLogger(__name__)


class StoreLock:
    """A lock by its name; see `provisioner_client.shared_lists.SharedLock`. While the store is away nobody gets it."""

    def __init__(self, store: SiteStore, name: str) -> None:
        self._store, self._name = store, name
        self._owner = process_identity()
        self._held: Lease | None = None

    def take(self, seconds: float) -> bool:
        try:
            self._held = self._store.leases.take(self._name, self._owner, seconds)
        except StoreError as error:
            self._held = None
            log.warning("The lock %r cannot be taken: %s", self._name, error)
        return self._held is not None

    def prolong(self, seconds: float) -> bool:
        if self._held is None:
            return False
        try:
            self._held = self._store.leases.renew(self._held, seconds)
        except LeaseLost:
            self._held = None
        except StoreError as error:
            log.warning("The lock %r cannot be kept: %s", self._name, error)
            return False
        return self._held is not None

    def give_up(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        try:
            self._store.leases.give_up(held)
        except StoreError as error:
            log.warning("The lock %r could not be given up, and runs out: %s", self._name, error)


def store_locks(store: SiteStore) -> Locks:
    """Return what gives the locks of a store."""
    return lambda name: StoreLock(store, name)
