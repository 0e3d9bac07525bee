"""Of all processes that deploy for one account of MAAS, one at a time counts what is deployed, and sends more.

To count and to send are two requests. Two processes that count at once would both find the same places free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from provisioner_client.errors import ProvisionerError
from provisioner_client.shared_lists import SharedLock

_MARGIN: Final = 10.0
"""Seconds between the prolonging of a lock and the sending."""


class TurnLost(Exception):
    """The turn has run out, and another process may have its own: nothing more is sent now."""


class DeployTurn:
    """The turn of one client.

    Parameters
    ----------
    lock : returns the lock of the account; it is asked for with the first turn. None: nobody keeps processes apart.
    settle : seconds for which a request may still take effect after it was sent, or after its answer was lost.
    """

    def __init__(self, lock: Callable[[], SharedLock] | None, settle: float) -> None:
        self._open = lock
        self._lock: SharedLock | None = None
        # Its answer is waited for, and is lost only then.
        self._seconds = 2 * settle + _MARGIN
        self._has = False
        self._in_flight = False

    def take(self) -> bool:
        """Begin a turn, or go on with it; False: another process has its own.

        Raises `ProvisionerError`: MAAS does not say whose the key is.
        """
        if self._open is None:
            return True
        self._lock = self._lock or self._open()
        self._has = (self._has and self._lock.prolong(self._seconds)) or self._lock.take(self._seconds)
        return self._has

    def guarded(self, guard: Callable[[], None]) -> Callable[[], None]:
        """Return a guard that also makes sure that this still is our turn, so long that what is sent next has settled.

        Raises `TurnLost` when called.
        """

        def check() -> None:
            guard()
            if self._lock is not None and not self._lock.prolong(self._seconds):
                self._has = False
                raise TurnLost

        return check

    def carry(self, send: Callable[[], None]) -> None:
        """Send a request. One whose end this process does not see keeps the turn: it may still take effect."""
        self._in_flight = True
        try:
            send()
        except ProvisionerError:
            self._in_flight = False
            raise
        self._in_flight = False

    def end(self) -> None:
        """Let others have their turn."""
        if self._lock is not None and self._has and not self._in_flight:
            self._has = False
            self._lock.give_up()
