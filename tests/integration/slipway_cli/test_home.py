"""A home and its ports: who uses them already."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.home import READY, HomeLock, Runtime
from slipway_cli.embedded.settings import EmbeddedSettings, claim_port
from slipway_cli.embedded.supervisor import Supervisor
from slipway_cli.main import main


def test_a_home_in_use_is_told_before_its_port_which_is_in_use_as_well(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    url, file = "http://127.0.0.1:1", str(tmp_path / "passwords.json")
    Runtime(str(tmp_path), url, 1, os.getpid(), READY, time.time(), file).write()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = EmbeddedSettings.from_environment(tmp_path, taken.getsockname()[1], {})
        with pytest.raises(SlipwayCliError):
            Supervisor(settings, lambda _: None).run(lambda *_: None)
    lock.release()


def test_a_busy_port_is_reported_by_name() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SlipwayCliError, match=rf"port {port} \(Airflow's API server, SLIPWAY_PORT\) is in use"):
            claim_port(port, "Airflow's API server", "SLIPWAY_PORT")
    assert claim_port(port, "Airflow's API server", "SLIPWAY_PORT") == port
    assert claim_port(0, "Airflow's API server", "SLIPWAY_PORT") > 0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    monkeypatch.setenv("SLIPWAY_HOME", str(path))
    return path


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def run(*options: str) -> Result:
    return CliRunner().invoke(main, ["demo", *options])


def test_a_busy_simulator_port_is_reported_by_name(home: Path, busy_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_SIMULATOR_PORT", str(busy_port))
    result = run()
    assert result.exit_code == 1
    assert f"port {busy_port} (the simulated Drydock, SLIPWAY_SIMULATOR_PORT) is in use" in result.stderr
    assert not (home / "runtime.json").exists(), "no Airflow was started"
