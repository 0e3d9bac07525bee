"""Routes that block have threads of their own."""

from __future__ import annotations

import asyncio
import threading

import httpx
from fastapi import APIRouter, FastAPI

from slipway_api.http.blocking_route import THREADS, BlockingRoute

MORE = THREADS + 20


def test_more_requests_than_threads_leave_the_servers_own_threads_free() -> None:
    router = APIRouter(route_class=BlockingRoute)
    inside, go_on = threading.Semaphore(0), threading.Event()

    @router.get("/slow/{number}")
    def slow(number: int) -> int:
        inside.release()
        assert go_on.wait(20)
        return number

    @router.get("/loop")
    async def loop() -> str:
        return threading.current_thread().name

    app = FastAPI()
    app.include_router(router)

    @app.get("/others")
    def others() -> str:
        return "free"

    def all_are_at_work() -> bool:
        return all(inside.acquire(timeout=20) for _ in range(THREADS))

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            asked = [asyncio.create_task(client.get(f"/slow/{number}")) for number in range(MORE)]
            assert await asyncio.to_thread(all_are_at_work)
            assert (await client.get("/others")).json() == "free"
            assert (await client.get("/loop")).json() == threading.current_thread().name
            assert not inside.acquire(blocking=False)
            go_on.set()
            assert sorted(answer.json() for answer in await asyncio.gather(*asked)) == list(range(MORE))

    try:
        asyncio.run(ask())
    finally:
        go_on.set()
