"""Routes that may block, in threads of their own: they ask Airflow's API, which needs the server's other threads."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi.routing import APIRoute

from slipway_api.http.concurrency import LoopBound

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
