"""The guard kills what a killed supervisor leaves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.home import HomeLock
from slipway_cli.embedded.processes import members
from tests.integration.slipway_cli.conftest import wait_until

# Holds the lock of the home argv[1], has a guard watch the session argv[2] and waits to be killed.
SUPERVISOR = """
import sys, time
from pathlib import Path
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.processes import MARK, end_leftovers
from slipway_cli.embedded.home import HomeLock
lock = HomeLock(Path(sys.argv[1]))
guard = Guard(lock.fileno())
guard.watch(int(sys.argv[2]))
print(guard.pid, flush=True)
time.sleep(60)
"""


def test_the_guard_kills_all_when_its_supervisor_is_killed(family: int, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(tmp_path), str(family)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        guard = int(supervisor.stdout.readline())
        supervisor.kill()
    assert wait_until(lambda: members({family}) == [])
    assert wait_until(lambda: members({guard}) == [])
    HomeLock(tmp_path).release()


def test_the_guard_lets_go_what_is_over(family: int, tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    guard = Guard(lock.fileno())
    guard.watch(family)
    guard.forget(family)
    guard.dismiss()
    lock.release()
    assert len(members({family})) == 2


def test_a_killed_guard_is_replaced_and_knows_what_to_watch(family: int, tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    guard = Guard(lock.fileno())
    guard.watch(family)
    first = guard.pid
    os.kill(first, signal.SIGKILL)

    def revived() -> bool:
        guard.revive()
        return guard.pid != first

    assert wait_until(revived)
    guard.dismiss()
    lock.release()
    assert members({family}) == []
