"""The home of an embedded Airflow: one at a time, and what is known of the one that runs in it."""

import os
import time
from pathlib import Path

import pytest

from slipway_cli.embedded.errors import AlreadyRunning
from slipway_cli.embedded.home import READY, STOPPING, HomeLock, Runtime, find_running, read_runtime


def runtime(home: Path, state: str, pid: int) -> Runtime:
    return Runtime(str(home), "http://127.0.0.1:1", 1, pid, state, time.time(), str(home / "passwords.json"))


def test_a_home_has_one_airflow(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    runtime(tmp_path, READY, os.getpid()).write()
    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}, http://127.0.0.1:1"):
        HomeLock(tmp_path)
    assert find_running(tmp_path) is not None
    lock.release()
    assert find_running(tmp_path) is None, "a file that was left behind is not a running Airflow"
    HomeLock(tmp_path).release()


def test_a_predecessor_that_is_stopping_is_waited_for(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    runtime(tmp_path, STOPPING, os.getpid()).write()
    began = time.monotonic()
    with pytest.raises(AlreadyRunning):
        HomeLock(tmp_path, patience=0.3)
    assert time.monotonic() - began >= 0.3
    lock.release()


def test_runtime_is_private_and_read_back(tmp_path: Path) -> None:
    written = runtime(tmp_path, READY, 1)
    written.components["scheduler"] = 7
    written.write()
    assert read_runtime(tmp_path) == written
    assert (tmp_path / "runtime.json").stat().st_mode & 0o077 == 0
    written.remove()
    assert read_runtime(tmp_path) is None
