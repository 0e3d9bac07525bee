"""The simulator as a process of the demo."""

from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest

from slipway_cli.demo.simulated_drydock import SimulatorProcess
from slipway_cli.embedded.errors import SimulatorFailed


def test_a_simulator_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        SimulatorProcess(["--no-such-option"], tmp_path / "simulator.log") as simulator,
        pytest.raises(SimulatorFailed, match="no-such-option"),
    ):
        simulator.url()


def test_the_demos_simulator_listens_on_loopback_only(tmp_path: Path) -> None:
    with SimulatorProcess(["--state", str(tmp_path / "state.db")], tmp_path / "simulator.log") as simulator:
        url = simulator.url()
        connections = psutil.Process(simulator.pid).net_connections(kind="inet")
        listening = [(c.laddr.ip, c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN]
    assert [f"http://{ip}:{port}" for ip, port in listening] == [url]
    assert url.startswith("http://127.0.0.1:")
