"""Few large designs are read at once in one process, so that its memory has a bound however many are sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slipway_airflow.web.failure import ApiError

AT_ONCE = 2
LONGEST_WAIT = 120.0
"""Seconds after which the caller is told to come back."""

_turns = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def taking_turns() -> Iterator[None]:
    """Wait until it is this thread's turn; not to be nested.

    Raises
    ------
    ApiError
        503: others took too long.
    """
    if not _turns.acquire(timeout=LONGEST_WAIT):
        raise ApiError(503, "other designs are being read; try again", "Busy", retry=True)
    try:
        yield
    finally:
        _turns.release()
