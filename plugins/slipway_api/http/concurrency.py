"""How much is worked on at once: threads for routes that may block, and slots for reading large designs."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.routing import APIRoute

from slipway_api.http.api_errors import ApiError

T = TypeVar("T")


class LoopBound(Generic[T]):
    """One object for each event loop.

    Parameters
    ----------
    name : unique in the process.
    make : makes the object; called within the loop.
    """

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self._var: RunVar[T] = RunVar(name)
        self._make = make

    def get(self) -> T:
        """Return the running loop's own."""
        try:
            return self._var.get()
        except LookupError:
            made = self._make()
            self._var.set(made)
            return made


THREADS = 32
"""Requests that are worked on at once, in one API server process; more wait in the event loop."""

_limiter = LoopBound("slipway_limiter", lambda: CapacityLimiter(THREADS))


class BlockingRoute(APIRoute):
    """A route whose function may block, if it is no coroutine.

    FastAPI would run it in the server's pool of threads. There, as many requests of ours as the pool has threads would
    each wait for an answer of Airflow's that waits for a thread of the same pool.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(
            path, endpoint if inspect.iscoroutinefunction(endpoint) else _in_own_thread(endpoint), **options
        )


def _in_own_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(**arguments: Any) -> Any:
        return await to_thread.run_sync(functools.partial(function, **arguments), limiter=_limiter.get())

    return run


async def in_thread(function: Callable[[], T]) -> T:
    """Call what may block, within a route that is a coroutine."""
    return await to_thread.run_sync(function, limiter=_limiter.get())


_CHECKS = ThreadPoolExecutor(16, thread_name_prefix="slipway-rights")


async def checked_in_thread(function: Callable[[], T]) -> T:
    """Call what is asked of every request and may block, but rarely does: a thread of a pool of its own costs least.

    Unlike `in_thread` it is left alone where the request is cancelled.
    """
    run = contextvars.copy_context().run
    return await asyncio.get_running_loop().run_in_executor(_CHECKS, functools.partial(run, function))


def begun(name: str, work: Callable[[], T]) -> Future[T]:
    """Begin a work that waits for another server, in a thread of its own.

    A daemon: a server that stops does not wait for it.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            answer.set_exception(error)
        else:
            answer.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer


def answer_within(seconds: float, name: str, work: Callable[[], T]) -> T:
    """Return what a work that waits for another server comes to; what it raises is raised here.

    It goes on where it takes too long: each of its requests ends by itself, but there may be several.

    Raises `TimeoutError`: it takes longer than that.
    """
    answer = begun(name, work)
    if not wait_for((answer,), timeout=seconds).done:
        raise TimeoutError(f"{name} takes more than {seconds:g} s")
    return answer.result()


LONGEST_WAIT = 120.0
"""Seconds after which the caller gets 503 with `retry`."""


class Slots:
    """As many threads at once as there are slots; more of them wait."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.BoundedSemaphore(at_once)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot, and hold it; not to be nested. Raises `ApiError` 503: others took too long."""
        if not self._free.acquire(timeout=LONGEST_WAIT):
            raise ApiError(503, "other designs are being read; try again", "Busy", retry=True)
        try:
            yield
        finally:
            self._free.release()


READING = Slots(2)
"""For reading documents, and showing them."""
JUDGING = Slots(4)
"""For judging a design: most of that is waiting for the provisioner."""
