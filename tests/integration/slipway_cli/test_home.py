"""A home and its ports: who uses them already."""

import os
import socket
import time
from pathlib import Path

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.home import READY, HomeLock, Runtime
from slipway_cli.embedded.settings import EmbeddedSettings, claim_port
from slipway_cli.embedded.supervisor import Supervisor


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
