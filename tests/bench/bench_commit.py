"""How long a commit of a large design takes, and how much memory the API server needs for it.

Run it as `python tests/bench/bench_commit.py`: a real API server process of Airflow's, a real simulator as the
provisioner. Every node of the design is layered on another document, and all have one profile. What is
measured is the time from a request to its answer, of a first commit and of one that changes the profile, and the most
memory that the server has in use. Prints a table; exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from sqlalchemy import func, select

from site_store import SiteStore
from site_store.tables import node
from tests.bench.bench_status import airflow_variables, new_database
from tests.support.large_sites import large_site
from tests.support.processes import tied
from tests.support.simulators import Simulator

SECONDS = 10.0
MEGABYTES = 500.0


def environment(home: Path, port: int, provisioner: str, store_url: str) -> dict[str, str]:
    """Return what the API server is started with: nothing of the caller's own Airflow."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SLIPWAY"))}
    return (
        kept
        | airflow_variables(home, store_url)
        | {
            "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
            "AIRFLOW_CONN_SLIPWAY_PROVISIONER": json.dumps({"conn_type": "drydock", "host": provisioner}),
            "NO_PROXY": "127.0.0.1",
        }
    )


@contextmanager
def api_server(home: Path, provisioner: str, store_url: str) -> Iterator[tuple[httpx.Client, int]]:
    """Start an API server; give a client that is logged in, and the process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = environment(home, port, provisioner, store_url)
    SiteStore.upgrade(store_url)
    airflow = [sys.executable, "-m", "airflow"]
    subprocess.run([*airflow, "db", "migrate"], env=env, check=True, stdout=subprocess.DEVNULL)
    command = [*airflow, "api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(tied(*command), env=env, stdout=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300, trust_env=False) as client:
            _wait(client, process)
            token = client.get("/auth/token").json()["access_token"]
            client.headers["Authorization"] = f"Bearer {token}"
            yield client, process.pid
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            # What it does at its end is not measured.
            process.kill()
            process.wait()


def _wait(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            if client.get("/slipway/health").status_code == 204:
                return
        except httpx.TransportError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise SystemExit("the API server does not start")


def largest(pid: int) -> float:
    """Return the largest resident size, in MB, that the server's largest process ever had (Linux)."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    status = "".join(Path(f"/proc/{each}/status").read_text() for each in (pid, *children))
    return max(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def timed(client: httpx.Client, path: str, content: bytes = b"") -> float:
    """Send a request that must succeed; return how long it took, in seconds."""
    started = time.perf_counter()
    answer = client.post(f"/slipway/api/v1.0{path}", content=content)
    taken = time.perf_counter() - started
    if answer.status_code >= 300:
        raise SystemExit(f"POST {path}: {answer.status_code} {answer.text[:2000]}")
    return taken


def changed_nodes(store_url: str) -> int:
    """Return how many nodes are wanted in their second version."""
    with SiteStore.open(store_url) as store:
        query = select(func.count()).select_from(node).where(node.c.wanted_version == 2)
        return store._database.read(lambda tx: int(tx.scalar(query) or 0))


def measure(store_url: str, nodes: int) -> bool:
    """Measure; return whether a target was missed."""
    text = large_site(nodes)
    other = text.replace("role: compute", "role: worker")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        simulator = Simulator(home)
        try:
            with api_server(home, simulator.url, store_url) as (client, pid):
                before = largest(pid)
                created = timed(client, "/configdocs/site", text.encode())
                committed = timed(client, "/commitconfigdocs")
                timed(client, "/configdocs/site", other.encode())
                again = timed(client, "/commitconfigdocs")
                size = largest(pid)
        finally:
            simulator.stop()
    assert changed_nodes(store_url) == nodes, "the profile is not that of all nodes"
    print(f"{f'{nodes:,} nodes, {len(text) / 1e6:.1f} MB':<40} {'measured':>10}  target")
    rows = [
        ("put into the buffer, s", created, None),
        ("first commit, s", committed, SECONDS),
        ("commit that changes the profile of all, s", again, SECONDS),
        ("API server at rest, MB", before, None),
        ("API server at most, MB", size, MEGABYTES),
    ]
    missed = False
    for label, value, target in rows:
        missed |= target is not None and value > target
        verdict = "" if target is None else f"< {target:.0f} {'met' if value <= target else 'MISSED'}"
        print(f"{label:<42} {value:>8.1f}  {verdict}", flush=True)
    return missed


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000, help="how many nodes the design has")
    options = parser.parse_args()
    with new_database() as store_url:
        return 1 if measure(store_url, options.nodes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
