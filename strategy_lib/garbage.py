"""The search for garbage in cycles, put off while something large is made of which nothing is garbage.

A large design is millions of objects that all stay until the end; to look through them again and again takes a third of
the time of a commit or a rehearsal, and finds nothing.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_putting_off = 0


@contextmanager
def garbage_put_off() -> Iterator[None]:
    """Look for no garbage in cycles until the last of those who ask for this at once is done; then do so as before."""
    global _putting_off
    with _lock:
        _putting_off += 1
        if _putting_off == 1:
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _putting_off -= 1
            if _putting_off == 0:
                gc.enable()
