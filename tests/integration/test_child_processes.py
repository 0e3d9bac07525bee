"""The processes that tests start end with the test process, also when it is killed."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SIMULATOR = """
from tests.support.simulators import Simulator
simulator = Simulator(home)
print(simulator.pid, flush=True)
"""
POSTGRES = """
from tests.support.postgres import start_server
print(start_server(home)[1].pid, flush=True)
"""
SLIPWAY_UP = """
from tests.e2e.test_up import Up
print(Up(home).process.pid, flush=True)
"""
MAKE = """
import subprocess
from tests.support.processes import guarded
command = ["sh", "-c", "sleep 600 & echo $!; wait"]
shell = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
with guarded(shell.pid):
    print(shell.stdout.readline(), flush=True)
    threading.Event().wait()
"""
BEGIN = """
import sys, threading
from pathlib import Path
home = Path(sys.argv[1])
"""
HANG = "threading.Event().wait()\n"


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(SIMULATOR, id="the simulator"),
        pytest.param(POSTGRES, id="PostgreSQL", marks=pytest.mark.endurance),
        pytest.param(SLIPWAY_UP, id="slipway up", marks=pytest.mark.endurance),
        pytest.param(MAKE, id="a command's child", marks=pytest.mark.endurance),
    ],
)
def test_a_killed_test_process_leaves_nothing_behind(tmp_path: Path, start: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + start + HANG, str(home)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            child = os.pidfd_open(int(process.stdout.readline()))
        finally:
            process.kill()
    try:
        # A process's descriptor can be read once it has ended.
        ended = select.poll()
        ended.register(child, select.POLLIN)
        assert ended.poll(60_000), "it lives on"
    finally:
        os.close(child)
