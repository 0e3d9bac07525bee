"""The command line: its one line of output, its errors, its end, and what is preloaded."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner

from provisioner_client.simulator.cli import main
from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, write_design
from tests.support.processes import signal_another_thread
from tests.support.simulators import Simulator

COMMAND = [sys.executable, "-m", "provisioner_client.simulator"]
SITES = Path(__file__).parents[5] / "shared" / "sites"


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.parametrize("send", [os.kill, signal_another_thread])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_cleanly(
    number: signal.Signals, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    with subprocess.Popen(
        COMMAND,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(tmp_path)},
        cwd=Path.cwd(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:")
            assert requests.get(f"{line.split()[-1]}/versions", timeout=5).status_code == 200
            send(process.pid, number)
            assert process.wait(5) == 0
        finally:
            process.kill()
        assert (process.stdout.read(), process.stderr.read()) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_busy_port_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = _run("--port", str(port))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_a_store_that_is_in_use_is_one_clear_line(start_simulator: StartSimulator) -> None:
    simulator = start_simulator()
    ended = _run("--state", str(simulator.state))
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "database is locked" in ended.stderr


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--fail", "deploy"], 2, "'deploy' is not PHASE:NODE"),
        (["--fail", "deploy:n1:sulk"], 2, "behaviour 'sulk' is none of"),
        (["--speed", "0"], 2, "--speed"),
        (["--site", "no-such-file.yaml"], 2, "does not exist"),
        (["--machines", "3"], 2, "--machines does not go with --provisioner drydock"),
        (["--provisioner", "maas", "--token", "x"], 2, "--token does not go with --provisioner maas"),
        (["--provisioner", "maas", "--fail", "deploy:n1:unreported"], 2, "behaviour 'unreported' is none of"),
        (["--provisioner", "maas", "--fail", "relabel:n1"], 2, "phase 'relabel' is none of"),
        (["--provisioner", "maas", "--api-key", "secret"], 2, "consumer:token:secret"),
    ],
)
def test_wrong_use(options: list[str], status: int, message: str) -> None:
    ended = CliRunner().invoke(main, options)
    assert ended.exit_code == status
    assert message in ended.stderr


def test_an_unreadable_site_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [1,\n")
    ended = _run("--site", str(tmp_path / "bad.yaml"))
    assert ended.returncode == 1
    assert "bad.yaml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_preloaded_sites_and_failures(start_simulator: StartSimulator, tmp_path: Path) -> None:
    reference = write_design(tmp_path)
    (tmp_path / "scripts.yaml").write_text("- {node: n1, phase: prepare, behaviour: power}\n")
    simulator = start_simulator(
        "--site",
        reference.removeprefix("file://"),
        *("--fail", "prepare:n2", "--fail", "prepare:n3:unreported"),
        *("--scripts", str(tmp_path / "scripts.yaml")),
    )
    with (drydock := Drydock(simulator)).session:
        assert drydock.statuses() == {"n1": "New", "n2": "New", "n3": "New"}
        result = drydock.run("prepare_nodes", reference, ["n1", "n2", "n3"])["result"]
        assert (sorted(result["failures"]), result["successes"]) == (["n2"], ["n2"])
        simulator.post("reset")
        assert drydock.statuses() == {"n1": "New", "n2": "New", "n3": "New"}
        assert len(simulator.get("scripts")) == 3


@pytest.mark.skipif(not SITES.is_dir(), reason="the shared real sites are not here")
@pytest.mark.parametrize(
    ("name", "labels"),
    [("seaworthy", "openstack-control-plane"), ("airsloop", "openstack-nova-compute")],
)
def test_real_sites(tmp_path: Path, name: str, labels: str) -> None:
    simulator = Simulator(tmp_path, "--site", str(SITES / f"{name}.yaml"))
    nodes = simulator.get("nodes")
    simulator.stop()
    assert {node["site"] for node in nodes} == {name}
    assert all(node["rack"] and node["tags"] and node["labels"] for node in nodes)
    assert any(labels in node["labels"] for node in nodes)
