"""Processes of the command line, and a family of processes that has to be ended."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slipway_cli.embedded.processes import kill_sessions
from tests.conftest import ROOT

# A process whose child has a process group of its own (as Airflow's tasks have) and ignores SIGTERM.
FAMILY = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
os.write(1, b"up" + bytes([10]))
time.sleep(60)
"""


@pytest.fixture
def family() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], start_new_session=True, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline(), process.stdout.readline()] == ["up\n", "up\n"]
            yield process.pid
        finally:
            kill_sessions({process.pid})


EXAMPLE = ROOT / "slipway_cli" / "data" / "example_site.yaml"


@pytest.fixture
def example() -> Path:
    """Return the example site."""
    return EXAMPLE


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs `python -m slipway_cli` as a process of its own."""

    def run(*arguments: str | Path, stdin: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **settings}
        command = [sys.executable, "-m", "slipway_cli", *map(str, arguments)]
        return subprocess.run(command, input=stdin, capture_output=True, env=environment, timeout=60, check=False)

    return run
