"""The processes of a Slipway that is up: what they listen on, who brings back a killed one, and whose home it is."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from datetime import UTC, datetime

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest

from slipway_cli.embedded.processes import members
from tests.e2e.running import COMPONENTS, RunningSlipway, sessions_of


@pytest.mark.parametrize("same_port", [False, True])
def test_a_home_that_is_in_use_is_refused(slipway: RunningSlipway, same_port: bool) -> None:
    port = str(slipway.runtime.port if same_port else 0)
    done = subprocess.run(
        [sys.executable, "-m", "slipway_cli", "up", "--home", str(slipway.home), "--port", port],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert f"{slipway.home} is in use by another embedded Airflow (process {slipway.runtime.pid}" in done.stderr
    assert slipway.background.is_running()


def test_everything_listens_on_loopback_only(slipway: RunningSlipway) -> None:
    listening = set()
    for pid in members(sessions_of(slipway.runtime)):
        with contextlib.suppress(psutil.NoSuchProcess):  # a worker whose task is over
            for connection in psutil.Process(pid).net_connections(kind="inet"):
                if connection.status == psutil.CONN_LISTEN:
                    listening.add((connection.laddr.ip, connection.laddr.port))
    assert listening == {("127.0.0.1", slipway.runtime.port)}


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_killed_component_is_started_again(slipway: RunningSlipway, name: str) -> None:
    before = slipway.runtime.components
    moment = datetime.now(UTC)
    slipway.kill_component(name)
    slipway.wait_healthy(moment)
    after = slipway.runtime.components
    assert {other for other in before if after[other] != before[other]} == {name}
    assert members({before[name]}) == [], "what it had started is gone"


def test_the_dags_are_known_and_without_import_errors(slipway: RunningSlipway) -> None:
    for dag_id in ("deploy_site", "update_site"):
        slipway.airflow.wait_for_dag(dag_id)
    assert slipway.airflow.import_errors() == {}
