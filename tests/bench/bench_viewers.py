"""What people who look at a large action cost the API server, over real HTTP: `python -m tests.bench.bench_viewers`.

A real API server of Airflow with Slipway's plugin, in a process of its own. Each viewer polls the action's page as a
browser does, with the ETag of the last answer, while nodes change every second. Its processor time is what is measured.
"""

from __future__ import annotations

import statistics
import threading
import time
from itertools import cycle

import httpx
from sqlalchemy import update

from site_store import SiteStore
from site_store.tables import task
from tests.bench.bench_status import EVERY, SITE, VIEWERS, Size, fill
from tests.bench.harness import Table, api_server, new_store, options, p95, processor_seconds

MOST = 25.0
"""Percent of one core."""


def look(url: str, headers: dict[str, str], over: threading.Event, offset: float, taken: list[float]) -> None:
    """Poll a page until it is over; note how many milliseconds each answer took."""
    tag = None
    with httpx.Client(headers=headers, timeout=60) as client:
        over.wait(offset)
        while not over.is_set():
            begun = time.perf_counter()
            answer = client.get(url, headers={"If-None-Match": tag} if tag else {})
            taken.append((time.perf_counter() - begun) * 1000)
            if answer.status_code not in (200, 304):
                raise AssertionError(f"{url} answered {answer.status_code}")
            tag = answer.headers.get("etag", tag)
            over.wait(max(0.0, EVERY - (time.perf_counter() - begun)))


def change(store: SiteStore, action_id: str, nodes: list[str], over: threading.Event) -> None:
    """Change a node every second, as a deployment does."""
    for name, status in zip(cycle(nodes), cycle(("processing", "success", "pending")), strict=False):
        changed = update(task).where(task.c.action_id == action_id, task.c.node == name, task.c.phase == "prepare")
        store._database.write(lambda tx, changed=changed, status=status: tx.execute(changed.values(status=status)))  # type: ignore[misc]
        if over.wait(1.0):
            return


def main() -> int:
    """Measure, print, judge."""
    given = options(__doc__, nodes=100_000, groups=200, seconds=30.0, path="/ui/actions/{action}?part=live")
    size = Size(given.nodes, given.groups)
    with new_store() as url, SiteStore.open(url) as store:
        action = fill(store, size)
        with api_server(url) as (client, pid):
            page = f"{client.base_url}/slipway{given.path.format(action=action.id, site=SITE)}"
            client.get(page).raise_for_status()
            over, taken = threading.Event(), list[float]()
            threads = [threading.Thread(target=change, args=(store, action.id, size.members(0), over))]
            for number in range(VIEWERS):
                looks = (page, dict(client.headers), over, EVERY * number / VIEWERS, taken)
                threads.append(threading.Thread(target=look, args=looks))
            for thread in threads:
                thread.start()
            time.sleep(EVERY * 2)
            taken.clear()
            begun, used = time.monotonic(), processor_seconds(pid)
            time.sleep(given.seconds)
            used, passed = processor_seconds(pid) - used, time.monotonic() - begun
            over.set()
            for thread in threads:
                thread.join()
    table = Table(f"{VIEWERS} viewers every {EVERY:.0f} s, {len(taken)} answers")
    table.row("of one core", used / passed * 100, MOST, "%")
    table.row("an answer, median", statistics.median(taken))
    table.row("an answer, p95", p95(taken))
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
