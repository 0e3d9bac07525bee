"""`slipway controller` as a process, beside a real Airflow API server and as one of its users."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from site_engine.controller.controller import NAME, USER
from site_store import ActionState, SiteStore
from site_store.actions.abort import CLOSE
from site_store.sql.postgresql import database_time
from site_store.status.leases import lease_of
from site_store.tables import lease
from tests.integration.api.airflow_runs import DESIGN, AirflowRuns, commit, create
from tests.integration.api.conftest import PASSWORD
from tests.support.processes import tied, wait_until
from tests.support.simulators import Simulator
from tests.support.stores import check_results

pytestmark = pytest.mark.usefixtures("dags", "connected")


class Process:
    """A controller in a process of its own. What it logs is waited for, line by line."""

    def __init__(self, origin: str, store_url: str, user: str | None) -> None:
        account = {} if user is None else {"SLIPWAY_SERVICE_USER": user, "SLIPWAY_SERVICE_PASSWORD": PASSWORD}
        self._process = subprocess.Popen(
            tied(sys.executable, "-m", "slipway_cli", "controller", "--url", origin),
            env=os.environ | {"SLIPWAY_DATABASE_URL": store_url} | account,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []

    def wait_for(self, text: str) -> None:
        """Wait until it has logged a line with this text."""
        assert self._process.stderr is not None
        watchdog = threading.Timer(300, self._process.kill)
        watchdog.start()
        for line in self._process.stderr:
            self.lines.append(line)
            if text in line:
                watchdog.cancel()
                return
        pytest.fail(f"{text!r} is not in what it logged: {self.lines}")

    def end(self, number: signal.Signals) -> int:
        """Send it a signal, and return its exit status."""
        self._process.send_signal(number)
        status = self._process.wait(60)
        if self._process.stderr is not None:
            self.lines += self._process.stderr.readlines()
            self._process.stderr.close()
        return status

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.returncode is None:
            self.end(signal.SIGKILL)


@pytest.fixture
def started(origin: str, store_url: str) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:
        yield Start(origin, store_url, stack)


class Start:
    """Starts controllers, and ends them after the test."""

    def __init__(self, origin: str, store_url: str, stack: contextlib.ExitStack) -> None:
        self._origin, self._store_url, self._stack = origin, store_url, stack

    def __call__(self, user: str | None = "user") -> Process:
        """Start one."""
        process = Process(self._origin, self._store_url, user)
        self._stack.callback(process.close)
        return process


@pytest.fixture
def dead(store: SiteStore, user: httpx.Client, airflow_runs: AirflowRuns) -> str:
    """Let an action hold the site `default` whose DAG run is over; return its id."""
    commit(store)
    action_id = str(create(user)["id"])
    store.locks.acquire(action_id)
    airflow_runs.end("deploy_site", action_id)
    return action_id


@pytest.mark.endurance
def test_it_closes_a_dead_action_and_ends_cleanly(store: SiteStore, started: Start, dead: str) -> None:
    process = started()
    process.wait_for(f"Action {dead} of site default is closed")
    assert store.actions.get(dead).state is ActionState.CANCELLED
    assert process.end(signal.SIGTERM) == 0
    assert (store.actions.commands(dead)[-1].command, store.actions.commands(dead)[-1].user) == (CLOSE, USER)
    assert process.lines[-1].endswith("Stopped.\n")
    held = store.leases.get(NAME)
    assert held is not None
    assert held.expires_at <= store._database.read(database_time), "the next one need not wait"


@pytest.mark.endurance
def test_one_that_was_killed_is_followed_by_the_next(store: SiteStore, started: Start) -> None:
    killed = started()
    killed.wait_for("This controller leads")
    next_one = started()
    next_one.wait_for("Another controller leads")
    before = store.leases.get(NAME)
    killed.end(signal.SIGKILL)
    # As if the rest of the minute had gone by.
    store._database.write(lambda tx: tx.execute(lease.update().values(expires_at=database_time(tx))))
    next_one.wait_for("This controller leads")
    held = store.leases.get(NAME)
    assert held is not None
    assert before is not None
    assert held.epoch > before.epoch


@pytest.mark.endurance
def test_without_an_account_it_says_so_and_leaves_the_lead_to_others(
    store: SiteStore, started: Start, dead: str
) -> None:
    process = started(None)
    process.wait_for("no service account: set SLIPWAY_SERVICE_USER")
    led = started()
    led.wait_for(f"Action {dead} of site default is closed")
    assert process.end(signal.SIGTERM) == 0
    assert len([line for line in process.lines if "no service account" in line]) == 1
    assert "leads" not in "".join(process.lines)


@pytest.mark.endurance
def test_an_account_that_is_refused_closes_nothing(store: SiteStore, started: Start, dead: str) -> None:
    process = started("nobody")
    process.wait_for("logging in as nobody: HTTP 401")
    assert process.end(signal.SIGTERM) == 0
    assert store.actions.get(dead).state is ActionState.RUNNING
    assert PASSWORD not in "".join(process.lines)


@pytest.mark.endurance
def test_it_asks_every_sites_provisioner(store: SiteStore, started: Start, dead: str) -> None:
    process = started()
    process.wait_for(f"Action {dead} of site default is closed")
    wait_until(lambda: "provisioners" in check_results(store), "the last check is made")
    assert process.end(signal.SIGTERM) == 0
    found = check_results(store)
    assert {subject for subject, problem in found.items() if problem is None} == {
        "airflow",
        "airflow: api-server",
        "airflow: metadatabase",
        "metrics",
        "node reports",
        "notes of runs",
        "notifications",
        "old events",
        "old notifications",
        "owners",
        "provisioner of site default",
        "provisioners",
        "repairs",
        "rights of the controller",
        "roll-up",
        "trying rights",
        "unfinished provisioner tasks",
        "watchers",
        "what provisioners know",
    }
    # There is none here, and Airflow says so.
    assert "unhealthy" in str(found["airflow: scheduler"])


@pytest.mark.endurance
def test_it_leads_the_site_and_publishes_what_its_provisioner_lists(
    store: SiteStore, started: Start, viewer: httpx.Client, connected: Simulator
) -> None:
    commit(store)
    connected.read(DESIGN, "n1")
    process = started()
    process.wait_for("Site default: version ")
    found = viewer.get("/api/v1.0/sites/default/state").json()
    assert {name: one["state"] for name, one in found["nodes"].items()} == {"n1": "up", "n2": "down", "n3": "down"}
    assert process.end(signal.SIGTERM) == 0
    held = store.leases.get(lease_of("default"))
    assert held is not None
    assert held.epoch == found["epoch"]
    assert held.expires_at <= store._database.read(database_time), "the next one need not wait"


def test_it_imports_no_airflow(tmp_path: Path) -> None:
    modules = ("slipway_cli.controller", "site_engine.controller.controller", "site_engine.node_states.leadership")
    code = f"import sys; import {', '.join(modules)}, site_engine.operations.run; " + (
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('airflow', 'fastapi')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
