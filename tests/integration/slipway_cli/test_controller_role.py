"""`slipway controller-role`: what it prints, given to a real Airflow with FAB, is what a real controller needs."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from site_engine.controller.rights import COMMAND
from site_store import ActionState, NewAction, SiteStore
from site_store.status.leases import RIGHTS
from slipway_cli.main import main
from strategy_lib.status.words import Status
from tests.conftest import ROOT
from tests.support.processes import tied, wait_until
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import check_results

SITE = "alpha"
PASSWORD = "correct horse"
RUN = "/api/v2/dags/deploy_site/dagRuns"


class FabAirflow:
    """Airflow's API server with FAB and Slipway's plugin, and Airflow's commands beside it."""

    def __init__(self, python: Path, home: Path, store_url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        own = {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
            "AIRFLOW__CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
            "AIRFLOW__FAB__CACHE_TTL": "0",
            "AIRFLOW__API__BASE_URL": self.url,
            "SLIPWAY_DATABASE_URL": store_url,
            "_AIRFLOW_PROCESS_CONTEXT": "server",
        }
        self._log = (home / "server.log").open("w+")
        self._process = subprocess.Popen(
            tied(str(python), str(ROOT / "tests" / "support" / "fab_server.py")),
            env=os.environ | own,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # Without a terminal a password is read from the input.
            start_new_session=True,
        )

    def run(self, command: str, *typed: str) -> str:
        """Run a command, type lines, and return what it prints."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("".join(f"{line}\n" for line in (json.dumps(command), *typed)))
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        self._log.seek(0)
        assert answer, self._log.read()[-3000:]
        status, printed = json.loads(answer)
        assert status == 0, printed
        return str(printed)

    def serve(self) -> None:
        """Let it answer requests."""
        self.run(f"serve {self.port}")

    def client(self, user: str) -> httpx.Client:
        """Return a client of a user."""
        login = httpx.post(f"{self.url}/auth/token", json={"username": user, "password": PASSWORD}, timeout=60)
        token = login.raise_for_status().json()["access_token"]
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._log.close()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with FAB beside all that this one has."""
    environment = tmp_path_factory.mktemp("fab") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=120)
    python = environment / "bin" / "python"
    paths = {"base": str(environment), "platbase": str(environment)}
    own = Path(sysconfig.get_path("purelib", vars=paths))
    (own / "main.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    constraints = environment.parent / "constraints.txt"
    constraints.write_text(CliRunner().invoke(main, ["constraints"]).output)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--constraint", str(constraints), "apache-airflow-providers-fab"]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def airflow(python: Path, tmp_path: Path, store_url: str) -> Iterator[FabAirflow]:
    """Airflow with FAB, its administrator `admin`, and nobody else."""
    made = FabAirflow(python, tmp_path, store_url)
    try:
        made.run(
            "airflow users create --username admin --role Admin --firstname A --lastname B --email admin@localhost "
            f"--password {shlex.quote(PASSWORD)}"
        )
        made.serve()
        yield made
    finally:
        made.stop()


@contextmanager
def controlled(url: str, store_url: str) -> Iterator[None]:
    """Run a controller."""
    account = {"SLIPWAY_SERVICE_PASSWORD": PASSWORD, "SLIPWAY_DATABASE_URL": store_url, "SLIPWAY_URL": url}
    command = tied(sys.executable, "-m", "slipway_cli", "controller")
    process = subprocess.Popen(command, env=os.environ | account, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def died(store: SiteStore, admin: httpx.Client) -> tuple[str, str]:
    """Let an action's run have failed without a report; return its id and the run's."""
    action = store.actions.create(NewAction("deploy_site", SITE, 1, {}, "ann", context_marker=None), exclusive=True)
    store.locks.acquire(action.id)
    body = {"dag_run_id": action.run_id, "logical_date": None, "conf": {"site": SITE}}
    admin.post(RUN, json=body).raise_for_status()
    # Until its teardown is over a run goes on.
    admin.patch(f"{RUN}/{action.run_id}/taskInstances/release", json={"new_state": "failed"}).raise_for_status()
    admin.patch(f"{RUN}/{action.run_id}", json={"state": "failed"}).raise_for_status()
    return action.id, str(action.run_id)


def watching(admin: httpx.Client) -> dict[str, Any]:
    """Return the entry of the site's tree that says whether anybody looks at its nodes."""
    tree = admin.get(f"/slipway/api/v1.0/sites/{SITE}/tree").raise_for_status().json()
    found: dict[str, Any] = next(one for one in tree["root"]["children"] if one["kind"] == "watching")
    return found


@pytest.mark.endurance
def test_what_it_prints_is_all_that_the_account_needs_and_what_is_taken_from_it_is_told(
    airflow: FabAirflow, store: SiteStore, store_url: str
) -> None:
    commit_design(store, SITE, site([node("n1")], [group("g", ["n1"])]))
    *commands, user = CliRunner().invoke(main, ["controller-role", "--repair"]).output.splitlines()
    for command in commands:
        airflow.run(command)
    airflow.run(user, PASSWORD, PASSWORD)
    with airflow.client("admin") as admin:
        _is_enough_and_what_is_missing_is_told(airflow, admin, store, store_url)


def _is_enough_and_what_is_missing_is_told(
    airflow: FabAirflow, admin: httpx.Client, store: SiteStore, store_url: str
) -> None:
    action, run = died(store, admin)
    with controlled(airflow.url, store_url):
        wait_until(lambda: store.actions.get(action).state is ActionState.CANCELLED, "the dead action is closed")
        wait_until(lambda: bool(admin.get(f"{RUN}/{run}").json()["note"]), "its run has a note")
        # Where the server has no time, they are tried again.
        wait_until(lambda: RIGHTS in check_results(store), "the rights were tried")
        assert check_results(store)[RIGHTS] is None
    runs = {one["dag_run_id"] for one in admin.get("/api/v2/dags/~/dagRuns").raise_for_status().json()["dag_runs"]}
    assert runs == {run}, "trying rights starts nothing"
    assert watching(admin)["status"] == Status.SUCCESS

    airflow.run("airflow roles del-perms slipway-controller --resource 'DAG Runs' --action can_read")
    airflow.run("airflow roles del-perms slipway-controller --resource 'DAG Run:notify' --action can_create")
    action, _ = died(store, admin)
    with controlled(airflow.url, store_url):
        wait_until(lambda: check_results(store)[RIGHTS] is not None, "what it may not is told")
        said = check_results(store)[RIGHTS] or ""
        assert said.startswith("Airflow does not let the controller's account see the list of runs, without which")
        assert said.endswith(f", nor trigger notify; `{COMMAND}` prints how to give it its rights")
        wait_until(lambda: "403" in (check_results(store)["airflow"] or ""), "runs are refused")
        shown = watching(admin)
        assert (shown["status"], shown["messages"]) == (Status.ERROR, [said])
    assert store.actions.get(action).state is ActionState.RUNNING
