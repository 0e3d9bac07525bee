"""Waiting for a change: looks are shared, waiters hold no thread, nothing is missed, and failures reach everybody."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from slipway_api.http.long_polls import LongPolls, when_told_to_stop

LONG = 30.0


class Scope:
    """A scope whose token a test changes; each look is noted."""

    def __init__(self) -> None:
        self.token = "1"
        self.looks = 0
        self.threads: set[int] = set()
        self.failure: Exception | None = None
        self.pauses: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    def read(self) -> str:
        self.looks += 1
        self.threads.add(threading.get_ident())
        if self.failure is not None:
            raise self.failure
        return self.token

    async def pause(self) -> None:
        """Pause until the test says that the time is over."""
        over = asyncio.Event()
        await self.pauses.put(over)
        await over.wait()

    async def tick(self) -> None:
        """Let the next pause be over."""
        (await self.pauses.get()).set()


def run(test: Callable[[Scope, LongPolls], Awaitable[None]]) -> None:
    """Run a test in an event loop of its own."""

    async def go() -> None:
        scope = Scope()
        polls = LongPolls(scope.pause)
        async with asyncio.timeout(20):
            await test(scope, polls)
        assert polls._watches == {}, "nobody waits any more, so nothing is looked at"

    asyncio.run(go())


def waiting(polls: LongPolls, scope: Scope, number: int, seconds: float = LONG) -> list[asyncio.Task[str | None]]:
    return [asyncio.create_task(polls.newer("scope", scope.read, "1", seconds)) for _ in range(number)]


def test_an_older_token_is_answered_at_once() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        assert await polls.newer("scope", scope.read, "0", LONG)
        assert scope.looks == 1

    run(test)


def test_all_who_wait_are_woken_by_one_look() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        tasks = waiting(polls, scope, 50)
        await scope.tick()
        await scope.tick()
        assert not any(task.done() for task in tasks)
        scope.token = "2"
        await scope.tick()
        assert await asyncio.gather(*tasks) == ["2"] * 50
        assert scope.looks <= 50 + 3, "each request looks once, and then one look serves all"
        assert len(scope.threads) <= 4

    run(test)


def test_without_a_change_the_time_ends_the_wait() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        assert not await polls.newer("scope", scope.read, "1", 0.0)

    run(test)


def test_a_change_between_the_look_of_a_request_and_its_wait_is_not_missed() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        first = waiting(polls, scope, 1)
        await scope.tick()
        begun, go_on = threading.Event(), threading.Event()

        def slow() -> str:
            token = scope.token
            begun.set()
            go_on.wait(10)
            return token

        late = asyncio.create_task(polls.newer("scope", slow, "1", LONG))
        await asyncio.to_thread(begun.wait, 10)
        scope.token = "2"
        await scope.tick()
        assert await first[0]
        go_on.set()
        assert await late

    run(test)


def test_a_request_that_knows_more_than_the_last_look_goes_on_waiting() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        first = waiting(polls, scope, 1)
        await scope.pauses.put(await scope.pauses.get())
        scope.token = "2"
        newer = asyncio.create_task(polls.newer("scope", scope.read, "2", LONG))
        await scope.tick()
        assert await first[0]
        await scope.tick()
        assert not newer.done()
        scope.token = "3"
        await scope.tick()
        assert await newer

    run(test)


def test_a_failed_look_fails_all_who_wait_and_the_next_request_looks_anew() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        tasks = waiting(polls, scope, 2)
        await scope.pauses.put(await scope.pauses.get())
        scope.failure = RuntimeError("the store is away")
        await scope.tick()
        found: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(error) for error in found] == ["the store is away"] * 2
        with pytest.raises(RuntimeError, match="the store is away"):
            await polls.newer("scope", scope.read, "1", LONG)
        scope.failure = None
        assert await polls.newer("scope", scope.read, "0", LONG)

    run(test)


def test_all_who_wait_are_let_go_when_the_server_is_told_to_stop() -> None:
    async def test(scope: Scope, polls: LongPolls) -> None:
        when_told_to_stop(polls.let_go)
        tasks = waiting(polls, scope, 50)
        await scope.pauses.put(await scope.pauses.get())
        signal.raise_signal(signal.SIGTERM)
        assert await asyncio.gather(*tasks) == [None] * 50
        assert not await polls.newer("scope", scope.read, "1", LONG), "nor does anybody wait after that"
        assert await polls.newer("scope", scope.read, "0", LONG)

    told = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append(1)), signal.getsignal(signal.SIGINT)
    try:
        run(test)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert told == [1], "who handled the signal before still does"
