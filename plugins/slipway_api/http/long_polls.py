"""Requests that wait for a change: one look at the store serves all who wait for the same, and none holds a thread."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Hashable
from types import FrameType
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import Query

from slipway_api.http.concurrency import LoopBound

LONGEST_WAIT = 30.0
"""Seconds that a request waits at most."""
INTERVAL = 0.5
"""Seconds between two looks at one scope."""
_LOOKS_AT_ONCE = 4

Since = Annotated[
    str | None,
    Query(max_length=200, description="The `token` of an earlier answer: 204 if nothing is different.", examples=["0"]),
]
Wait = Annotated[
    float,
    Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="With `since`: wait so many seconds for a change."),
]
"""A route's parameters ``since: Since = None`` and ``wait: Wait = 0.0``."""

_looking = LoopBound("slipway_looking", lambda: CapacityLimiter(_LOOKS_AT_ONCE))


class _Watch:
    """One scope that requests wait for: `changed` is set, and replaced, when its token is another one."""

    def __init__(self) -> None:
        self.token: str | None = None
        self.waiting = 0
        self.changed = asyncio.Event()
        self.failure: Exception | None = None
        self.task: asyncio.Task[None] | None = None


class LongPolls:
    """Looks for changes of scopes for as long as requests wait; used within one event loop.

    Parameters
    ----------
    pause : is awaited between two looks at a scope.
    """

    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        self._pause = pause
        self._watches: dict[Hashable, _Watch] = {}
        self._stops = False

    @property
    def stops(self) -> bool:
        """Whether the server was told to stop: nobody waits any more."""
        return self._stops

    def let_go(self) -> None:
        """End every wait, as if its time were over, now and from now on: the server was told to stop."""
        self._stops = True
        for watch in self._watches.values():
            watch.changed.set()

    async def newer(
        self,
        scope: Hashable,
        read: Callable[[], str],
        since: str,
        seconds: float,
        longest: float = LONGEST_WAIT,
        is_new: Callable[[str], bool] | None = None,
    ) -> str | None:
        """Wait until a scope's change token is another than `since`, and return it; None: the time was over before.

        Parameters
        ----------
        scope : what is looked at; all who name the same share the looks.
        read : returns its token now. It may block, and is called in a thread. What it raises is raised here.
        since : the token that the caller knows.
        seconds, longest : for how long, and at most.
        is_new : whether a token ends the wait; None: any other than `since` does.
        """
        watch = self._watches.setdefault(scope, _Watch())
        watch.waiting += 1
        ends = is_new or since.__ne__
        try:
            # Noted before the first look: what changes right behind it is not missed.
            changed = watch.changed
            token = await _look(read)
            if watch.token is None:
                watch.token = token
                watch.task = asyncio.create_task(self._watch(scope, watch, read))
            async with asyncio.timeout(min(seconds, longest)):
                while not ends(token):
                    if self._stops:
                        return None
                    await changed.wait()
                    if watch.failure is not None:
                        raise watch.failure
                    changed, token = watch.changed, watch.token
        except TimeoutError:
            return None
        finally:
            watch.waiting -= 1
            if not watch.waiting:
                self._end(scope, watch)
        return token

    async def _watch(self, scope: Hashable, watch: _Watch, read: Callable[[], str]) -> None:
        while watch.failure is None:
            await self._pause()
            token = watch.token
            try:
                token = await _look(read)
            except Exception as error:  # noqa: BLE001 - raised again in every request that waits
                watch.failure = error
                # Who asks from now on begins anew.
                if self._watches.get(scope) is watch:
                    del self._watches[scope]
            if watch.failure is not None or token != watch.token:
                watch.token = token
                woken, watch.changed = watch.changed, asyncio.Event()
                woken.set()

    def _end(self, scope: Hashable, watch: _Watch) -> None:
        if self._watches.get(scope) is watch:
            del self._watches[scope]
        if watch.task is not None:
            watch.task.cancel()


async def _look(read: Callable[[], str]) -> str:
    return await to_thread.run_sync(read, limiter=_looking.get())


async def _pause() -> None:
    await asyncio.sleep(INTERVAL)


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


def _made() -> LongPolls:
    polls = LongPolls(_pause)
    when_told_to_stop(polls.let_go)
    return polls


LONG_POLLS = LoopBound("slipway_long_polls", _made)
"""Those of the running event loop."""
