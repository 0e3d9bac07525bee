"""`slipway doctor` at a real Airflow: nothing is wrong with the embedded one, and what is broken in it is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from api_client.session import ApiSession
from site_store import Role
from tests.e2e.running import OwnSite, RunningSlipway, wait_until
from tests.support.sites import group, node, site

IMPATIENT = "[scheduler] task_instance_heartbeat_timeout is 10 for scheduler on"
"""The one mistake of the Airflow of these tests (`settings_for`), a warning."""


def run_doctor(slipway: RunningSlipway, own: OwnSite, **environment: str) -> tuple[int, dict[str, Any], list[str]]:
    """Return its status, its report, and what it has found but the known mistake: provisioners of others are gone."""
    environ = {
        **os.environ,
        "SLIPWAY_HOME": str(slipway.home),
        "SLIPWAY_TOKEN": slipway.new_session().token(),
        **environment,
    }
    command = [sys.executable, "-m", "slipway_cli", "doctor", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert done.returncode == any(finding["level"] == "error" for finding in report["findings"])
    found = [finding["what"] for finding in report["findings"]]
    assert sum(what.startswith(IMPATIENT) for what in found) == 1, found
    others = ("provisioner of site", "the provisioner of site", "provisioners:")
    rest = [what for what in found if not what.startswith(others) or f" {own.name}:" in what]
    return done.returncode, report, [what for what in rest if not what.startswith(IMPATIENT)]


@contextmanager
def paused(session: ApiSession, dag: str) -> Iterator[None]:
    def switch(*, off: bool) -> None:
        session.request(f"pausing {dag}", "PATCH", f"/api/v2/dags/{dag}", json={"is_paused": off})

    switch(off=True)
    try:
        yield
    finally:
        switch(off=False)


def test_all_is_well_until_something_is_broken(slipway: RunningSlipway, own: OwnSite) -> None:
    assert own.deploy(site([node("a")], [group("one", ["a"])]))[1] == "success"
    with slipway.open_store() as store:

        def roles() -> set[str]:
            return {process.role for process in store.processes.all()[1]}

        wait_until(lambda: roles() == set(Role), "every role has a note, also the worker of the tasks")
        _, report, found = run_doctor(slipway, own)
        assert found == []
        assert "Airflow's DAGs" in report["looked_at"]
        with paused(slipway.new_session(), "redeploy_server"):
            status, _, found = run_doctor(slipway, own)
            assert (status, found) == (1, ["the DAG redeploy_server is paused in Airflow"])
        slipway.connect(own.name, "http://127.0.0.1:9")
        _, _, found = run_doctor(slipway, own)
        assert [what.partition(":")[0] for what in found] == [f"the provisioner of site {own.name}"]
        own.connect()
        # What it may not ask it does not call fine.
        folder = str(slipway.home / "no-login")
        _, report, found = run_doctor(slipway, own, SLIPWAY_TOKEN="", XDG_CONFIG_HOME=folder)
        assert "Airflow's DAGs" not in report["looked_at"]
        assert "Airflow's DAGs, and provisioners: not logged in, `slipway login`" in report["not_looked_at"]
        # A process that ends as it is told to is forgotten, and the next one is noted.
        before = {process.id for process in store.processes.all()[1] if process.role == Role.TRIGGERER}
        os.kill(slipway.runtime.components["triggerer"], signal.SIGTERM)
        wait_until(lambda: not before & {one.id for one in store.processes.all()[1]}, "the triggerer is forgotten")
        wait_until(lambda: roles() == set(Role), "the next one has a note")
