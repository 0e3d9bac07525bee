"""The home of an embedded Airflow: one at a time, and what is known of the one that runs in it."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import open_log
from slipway_cli.embedded.home import READY, STOPPING, HomeLock, Runtime, find_running, read_runtime


def runtime(home: Path, state: str, pid: int) -> Runtime:
    return Runtime(str(home), "http://127.0.0.1:1", 1, pid, state, time.time(), str(home / "passwords.json"))


def test_a_home_has_one_airflow(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    runtime(tmp_path, READY, os.getpid()).write()
    with pytest.raises(SlipwayCliError, match=f"process {os.getpid()}, http://127.0.0.1:1"):
        HomeLock(tmp_path)
    assert find_running(tmp_path) is not None
    lock.release()
    assert find_running(tmp_path) is None, "a file that was left behind is not a running Airflow"
    HomeLock(tmp_path).release()


def test_a_predecessor_that_is_stopping_is_waited_for(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    runtime(tmp_path, STOPPING, os.getpid()).write()
    began = time.monotonic()
    with pytest.raises(SlipwayCliError):
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


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


@pytest.mark.usefixtures("no_umask")
def test_a_new_home_is_private_whatever_the_umask_is(tmp_path: Path) -> None:
    home = tmp_path / "above" / "home"
    HomeLock(home).release()
    open_log(home / "logs" / "controller.log").close()
    assert {name: mode_of(home / name) for name in ("..", ".", "lock", "logs", "logs/controller.log")} == {
        "..": "0755",
        ".": "0700",
        "lock": "0600",
        "logs": "0700",
        "logs/controller.log": "0600",
    }


@pytest.mark.parametrize("mode", ["1777", "0777", "0775", "0702"])
def test_a_folder_in_which_others_write_is_refused_and_left_as_it_is(tmp_path: Path, mode: str) -> None:
    home = tmp_path / "shared"
    home.mkdir()
    home.chmod(int(mode, 8))
    with pytest.raises(SlipwayCliError, match=f"others may write in it: its mode is {mode}.*chmod go-w") as refused:
        HomeLock(home)
    assert "--home or SLIPWAY_HOME" in str(refused.value)
    assert (mode_of(home), list(home.iterdir())) == (mode, [])


def test_a_folder_of_another_user_is_refused_and_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(SlipwayCliError, match="it belongs to another user, of the id"):
        HomeLock(tmp_path)
    assert (mode_of(tmp_path), list(tmp_path.iterdir())) == ("0755", [])


def test_a_folder_of_ours_that_others_may_read_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    HomeLock(tmp_path).release()
    assert (mode_of(tmp_path), mode_of(tmp_path / "lock")) == ("0755", "0600")
