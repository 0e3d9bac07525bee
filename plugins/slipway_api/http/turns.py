"""Few large designs are read at once in one process, so that its memory has a bound however many are sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slipway_api.http.api_errors import ApiError

LONGEST_WAIT = 120.0
"""Seconds after which the caller is told to come back."""


class Turns:
    """So many threads at once; more of them wait."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.BoundedSemaphore(at_once)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait until it is this thread's turn; not to be nested.

        Raises
        ------
        ApiError
            503: others took too long.
        """
        if not self._free.acquire(timeout=LONGEST_WAIT):
            raise ApiError(503, "other designs are being read; try again", "Busy", retry=True)
        try:
            yield
        finally:
            self._free.release()


READING = Turns(2)
"""For reading documents, and showing them."""
JUDGING = Turns(4)
"""For judging a design: most of that is waiting for the provisioner."""
