"""Process trees: they end with their parent, are found, are killed; what a launcher runs, and what a guard kills."""

import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import SetupStep, spawn
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.home import HomeLock
from slipway_cli.embedded.processes import AFTER, MARK, PRELOAD, end_leftovers, kill_sessions, members, tied_command
from tests.support.processes import wait_until


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
        wait_until(migration.is_over, "the migration is over")
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


def parent_of(module: str, place: Path) -> subprocess.Popen[str]:
    """Start a process that starts a module of this place, tied to itself."""
    program = (
        "import subprocess, time; from slipway_cli.embedded.processes import tied_command\n"
        f"subprocess.Popen(tied_command('{module}'), start_new_session=True); time.sleep(60)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"PYTHONPATH": str(place)},
    )


FORKING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):  # a worker, and its task
    if os.fork() == 0:
        os.setpgid(0, 0)
        continue
    os.write(1, f"{os.getpid()} {os.getsid(0)}\\n".encode())
    time.sleep(60)
os.write(1, f"{os.getpid()} {os.getsid(0)}\\n".encode())
time.sleep(60)
"""


def test_what_a_tied_process_has_forked_ends_with_it(tmp_path: Path) -> None:
    """The supervisor and its guard may be killed together: then nobody is left to clear up."""
    (tmp_path / "forking.py").write_text(FORKING)
    with parent_of("forking", tmp_path) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().split() for _ in range(3)]
        session = int(said[0][1])
        assert sorted(members({session})) == sorted(int(pid) for pid, _ in said)
        process.kill()
        try:
            wait_until(lambda: members({session}) == [], "all of the session end")
        finally:
            kill_sessions({session})


def test_what_a_process_forks_has_the_modules_that_were_imported_before(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import os\nprint('imported', flush=True)\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError\n")
    (tmp_path / "forking.py").write_text(
        "import os, sys\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n        import heavy; os.write(1, b'forked\\n'); os._exit(0)\n"
        "    os.wait()\n"
        "print('broken' in sys.modules, 'SLIPWAY_PRELOAD' in os.environ)\n"
    )
    done = subprocess.run(
        tied_command("forking"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=dict(os.environ) | {"PYTHONPATH": str(tmp_path), PRELOAD: "broken,heavy"},
    )
    assert done.stdout.split("\n") == ["imported", "forked", "forked", "False False", ""]


def test_a_process_imports_while_it_waits_for_a_file_and_runs_then(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import os; os.write(1, b'imported\\n')")
    (tmp_path / "waiting.py").write_text("import os; print('ran', 'SLIPWAY_AFTER' in os.environ)")
    made = tmp_path / "made"
    environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path), PRELOAD: "heavy", AFTER: str(made)}
    with subprocess.Popen(tied_command("waiting"), stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "imported\n"
            written = select.poll()
            written.register(process.stdout, select.POLLIN)
            assert (written.poll(300), process.poll()) == ([], None), "it waits"
        finally:
            # Whatever fails here, it must not wait for ever.
            made.touch()
        assert process.stdout.read() == "ran False\n"
    assert process.returncode == 0


def test_a_fork_of_a_thread_that_ends_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(
        "import os, threading, time\n"
        "def fork():\n    if os.fork() == 0:\n        time.sleep(0.5); os.write(1, b'lives\\n'); os._exit(0)\n"
        "thread = threading.Thread(target=fork); thread.start(); thread.join(); os.wait()\n"
    )
    done = subprocess.run(
        tied_command("threaded"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "lives\n"


def test_a_tied_process_refuses_a_parent_that_is_gone() -> None:
    command = [part if part != str(os.getpid()) else "1" for part in tied_command("this")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "the parent is gone")


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
    wait_until(lambda: members({family}) == [], "the family ends")
    wait_until(lambda: members({guard}) == [], "the guard ends")
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

    wait_until(revived, "it lives again")
    guard.dismiss()
    lock.release()
    assert members({family}) == []
