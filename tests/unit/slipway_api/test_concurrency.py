"""Routes that may block have threads of their own, and few large designs are read at once."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from slipway_api.http import concurrency
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import THREADS, BlockingRoute, Slots

MORE = THREADS + 20


def test_more_requests_than_threads_leave_the_servers_own_threads_free() -> None:
    router = APIRouter(route_class=BlockingRoute)
    inside, may_end = threading.Semaphore(0), threading.Event()

    @router.get("/slow/{number}")
    def slow(number: int) -> int:
        inside.release()
        assert may_end.wait(20)
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
            may_end.set()
            assert sorted(answer.json() for answer in await asyncio.gather(*asked)) == list(range(MORE))

    try:
        asyncio.run(ask())
    finally:
        may_end.set()


def test_more_threads_than_slots_wait() -> None:
    each, most = Slots(2), []
    inside: set[int] = set()
    go = threading.Event()

    def work() -> None:
        with each.slot():
            inside.add(threading.get_ident())
            most.append(len(inside))
            go.wait(0.05)
            inside.discard(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 6
    assert max(most) == 2


def test_who_waits_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "LONGEST_WAIT", 0.01)
    one = Slots(1)
    with one.slot(), pytest.raises(ApiError) as caught, one.slot():
        pass
    assert (caught.value.status, caught.value.retry) == (503, True)
    with one.slot():
        pass


def test_a_slot_is_given_back_after_an_error_too() -> None:
    one = Slots(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="x"), one.slot():
            raise ValueError("x")
