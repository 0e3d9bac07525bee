"""Large bodies come in a few at a time, so that memory has a bound however many are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import httpx
import pytest
from fastapi import FastAPI, Request

from slipway_api.http import airflow_access as access
from slipway_api.http import bodies
from slipway_api.http.bodies import LARGE, LARGE_AT_ONCE, RawBody
from slipway_api.http.error_answers import add_error_answers
from slipway_api.pages.rendering import page_failure


def served() -> tuple[FastAPI, asyncio.Semaphore, asyncio.Event]:
    """Return an application that holds bodies until it is told to go on, and says how many it holds.

    The header `User` names who asks; without it each request is another's.
    """
    app, inside, go_on = FastAPI(), asyncio.Semaphore(0), asyncio.Event()
    add_error_answers(app, page_failure)
    numbers = count()

    def caller(request: Request) -> access.Caller:
        return access.Caller(request.headers.get("User", f"user {next(numbers)}"), None)

    app.dependency_overrides[access.caller] = caller

    @app.post("/")
    async def hold(body: RawBody) -> int:
        inside.release()
        await go_on.wait()
        return len(body)

    return app, inside, go_on


async def in_pieces(size: int, pause: float = 0) -> AsyncIterator[bytes]:
    """Send a body without saying how large it is."""
    for _ in range(2):
        await asyncio.sleep(pause)
        yield b"x" * (size // 2)


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


def test_few_large_bodies_at_once_and_small_ones_pass_them() -> None:
    async def ask() -> None:
        app, inside, go_on = served()
        async with client_of(app) as client:
            large = [asyncio.create_task(client.post("/", content=b"x" * (LARGE + 1))) for _ in range(LARGE_AT_ONCE)]
            late = asyncio.create_task(client.post("/", content=in_pieces(10)))
            for _ in large:
                await inside.acquire()
            small = asyncio.create_task(client.post("/", content=b"x" * LARGE))
            # The one whose size is not told was asked for before this one.
            await inside.acquire()
            assert inside.locked()
            go_on.set()
            assert (await small).json() == LARGE
            assert [answer.json() for answer in await asyncio.gather(*large)] == [LARGE + 1] * LARGE_AT_ONCE
            assert (await late).json() == 10

    asyncio.run(ask())


def test_one_user_with_slow_bodies_leaves_room_for_another() -> None:
    async def ask() -> None:
        app, inside, go_on = served()
        async with client_of(app) as client:
            one, another = {"User": "one"}, {"User": "another"}
            slow = [asyncio.create_task(client.post("/", content=in_pieces(10), headers=one)) for _ in range(6)]
            for _ in range(2):
                await inside.acquire()
            quick = asyncio.create_task(client.post("/", content=b"x" * (LARGE + 1), headers=another))
            async with asyncio.timeout(5):
                await inside.acquire()
            assert inside.locked(), "no more of the first one's are held"
            go_on.set()
            assert (await quick).json() == LARGE + 1
            assert [answer.json() for answer in await asyncio.gather(*slow)] == [10] * 6

    asyncio.run(ask())


def test_who_waits_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LONGEST_WAIT", 0.01)

    async def ask() -> None:
        app, inside, go_on = served()
        async with client_of(app) as client:
            large = [asyncio.create_task(client.post("/", content=in_pieces(10))) for _ in range(LARGE_AT_ONCE)]
            for _ in large:
                await inside.acquire()
            refused = await client.post("/", content=in_pieces(10))
            assert (refused.status_code, refused.json()["retry"]) == (503, True)
            go_on.set()
            await asyncio.gather(*large)
            assert (await client.post("/", content=in_pieces(10))).status_code == 200

    asyncio.run(ask())


def test_a_body_that_does_not_end_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LONGEST_SENDING", 0.01)

    async def ask() -> None:
        app, _, go_on = served()
        go_on.set()
        async with client_of(app) as client:
            for _ in range(LARGE_AT_ONCE + 1):
                assert (await client.post("/", content=in_pieces(10, pause=0.2))).status_code == 408
            assert (await client.post("/", content=in_pieces(10))).status_code == 200

    asyncio.run(ask())
