"""What people who look at a large action cost the API server, over real HTTP: `python tests/bench/bench_viewers.py`.

A real API server of Airflow with Slipway's plugin, in a process of its own. Each viewer polls the action's page as a
browser does, with the ETag of the last answer, while nodes change every second. Its processor time is what is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
from sqlalchemy import update

sys.path.insert(0, str(Path(__file__).parents[2]))

from site_store import SiteStore
from site_store.tables import task
from tests.bench.bench_status import EVERY, SITE, VIEWERS, Size, fill, new_database, p95

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse"
MOST = 25.0
"""Percent of one core."""
_TICKS = os.sysconf("SC_CLK_TCK")

SERVER = """
import sys, structlog, uvicorn
from airflow.utils import db
db.initdb()
from airflow.api_fastapi.app import create_app
uvicorn.run(create_app(apps="core"), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
"""


@contextmanager
def api_server(store_url: str) -> Iterator[tuple[str, int]]:
    """Start Airflow's API server with the plugin; give its URL and process id."""
    with tempfile.TemporaryDirectory(prefix="slipway-viewers-") as home, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        (Path(home) / "passwords.json").write_text(json.dumps({"ann": PASSWORD}))
        settings = {
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ann:viewer",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": f"{home}/passwords.json",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
            "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
            "SLIPWAY_DATABASE_URL": store_url,
            "PYTHONPATH": str(ROOT),
        }
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(port)], env={**os.environ, **settings}, stdout=subprocess.DEVNULL
        )
        try:
            url = f"http://127.0.0.1:{port}"
            while server.poll() is None:
                try:
                    httpx.get(f"{url}/slipway/health", timeout=10)
                    break
                except httpx.TransportError:
                    time.sleep(0.5)
            yield url, server.pid
        finally:
            server.terminate()
            server.wait(30)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used, with its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


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


def measure(store_url: str, size: Size, seconds: float, path: str) -> bool:
    """Measure; return whether it is as fast as it has to be."""
    SiteStore.upgrade(store_url)
    with SiteStore.open(store_url) as store:
        action = fill(store, size)
        with api_server(store_url) as (url, pid):
            login = httpx.post(f"{url}/auth/token", json={"username": "ann", "password": PASSWORD}, timeout=60)
            headers = {"Authorization": f"Bearer {login.raise_for_status().json()['access_token']}"}
            page = f"{url}/slipway{path.format(action=action.id, site=SITE)}"
            httpx.get(page, headers=headers, timeout=60).raise_for_status()
            over, taken = threading.Event(), list[float]()
            viewers = [
                threading.Thread(target=look, args=(page, headers, over, EVERY * number / VIEWERS, taken))
                for number in range(VIEWERS)
            ]
            changer = threading.Thread(target=change, args=(store, action.id, size.members(0), over))
            for thread in (changer, *viewers):
                thread.start()
            time.sleep(EVERY * 2)
            taken.clear()
            begun, used = time.monotonic(), cpu_seconds(pid)
            time.sleep(seconds)
            used, passed = cpu_seconds(pid) - used, time.monotonic() - begun
            over.set()
            for thread in (changer, *viewers):
                thread.join()
    percent = used / passed * 100
    print(
        f"{VIEWERS} viewers every {EVERY:.0f} s: {percent:.1f} % of one core"
        f"{'' if percent <= MOST else '  MISSED'}; {len(taken)} answers, median {statistics.median(taken):.0f} ms, "
        f"p95 {p95(taken):.0f} ms",
        flush=True,
    )
    return percent <= MOST


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000, help="how many nodes the site has")
    parser.add_argument("--groups", type=int, default=200, help="how many groups")
    parser.add_argument("--seconds", type=float, default=30.0, help="for how long they look")
    parser.add_argument("--path", default="/ui/actions/{action}?part=live", help="what they look at, below /slipway")
    options = parser.parse_args()
    with new_database() as store_url:
        size = Size(options.nodes, options.groups)
        return 0 if measure(store_url, size, options.seconds, options.path) else 1


if __name__ == "__main__":
    sys.exit(main())
