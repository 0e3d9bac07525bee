"""Sessions, the guard, the lock and restarts, with real (small) processes."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import SetupStep, spawn
from slipway_cli.embedded.processes import MARK, end_leftovers, kill_sessions, members
from tests.integration.slipway_cli.conftest import wait_until


def test_a_session_is_found_and_killed_with_all_its_groups(family: int) -> None:
    assert len(members({family})) == 2
    assert kill_sessions({family}) == []
    assert members({family}) == []


def test_other_sessions_are_left_alone(family: int) -> None:
    assert kill_sessions({2**30}) == []
    assert len(members({family})) == 2


def test_what_an_earlier_start_has_left_is_named_and_ended(tmp_path: Path) -> None:
    def start(home: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", "airflow", "scheduler"]
        process = subprocess.Popen(command, env={MARK: str(home)}, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        return process

    with start(tmp_path) as ours, start(tmp_path / "another") as theirs:
        (said,) = end_leftovers(tmp_path, tmp_path / "postgresql" / "data")
        assert said.endswith(f"airflow scheduler (process {ours.pid})")
        assert ours.wait(10) == -signal.SIGKILL
        assert theirs.poll() is None
        theirs.kill()
    assert end_leftovers(tmp_path, tmp_path / "postgresql" / "data") == []


def test_a_failed_step_shows_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "step.log"
    log.write_text("of an earlier run\n")
    command = [sys.executable, "-c", "import sys; print('no space left'); sys.exit(3)"]
    migration = SetupStep("preparing", command, os.environ, log, tmp_path)
    with pytest.raises(SlipwayCliError) as caught:
        wait_until(migration.is_over)
    assert str(caught.value) == f"preparing failed; its log {log} ends:\n  no space left"


def test_what_a_started_process_makes_is_private_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = spawn(["/bin/sh", "-c", "mkdir folder; echo text > file"], {}, tmp_path / "log", tmp_path)
    finally:
        os.umask(before)
    assert made.wait(timeout=30) == 0
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("folder", "file", "log")}
    assert modes == {"folder": 0o700, "file": 0o600, "log": 0o600}
