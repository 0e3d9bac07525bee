"""When the server is told to stop: it waits for the answers under way, and those that only linger are given at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType


def when_told_to_stop(call: Callable[[], None]) -> None:
    """Have this called in the running event loop when its process is told to stop, by SIGTERM or SIGINT.

    The handler that stood before, such as uvicorn's, is called too. A loop that is not in the main thread hears of no
    signal: there nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        # What the system does with it by itself ends the process at once.
        if not callable(before):
            continue

        def handle(
            told: int, frame: FrameType | None, handled: Callable[[int, FrameType | None], object] = before
        ) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(call)
            handled(told, frame)

        signal.signal(number, handle)
