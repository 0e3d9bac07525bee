"""Sessions, the guard, the lock and restarts, with real (small) processes."""

import importlib.util
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest

from slipway_cli.embedded.component import PRELOADED, back_off, tied_command
from slipway_cli.embedded.errors import AlreadyRunning, PortInUse, SimulatorFailed, StepFailed
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.launcher import AFTER, PRELOAD
from slipway_cli.embedded.leftovers import MARK, end_leftovers
from slipway_cli.embedded.logfiles import open_log, tail
from slipway_cli.embedded.migration import Migration
from slipway_cli.embedded.ports import claim_port
from slipway_cli.embedded.runtime import READY, STOPPING, HomeLock, Runtime, find_running, read_runtime
from slipway_cli.embedded.sessions import kill_sessions, members
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.simulator_process import SimulatorProcess
from slipway_cli.embedded.supervisor import Supervisor

# A process whose child has a process group of its own (as Airflow's tasks have) and ignores SIGTERM.
FAMILY = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
os.write(1, b"up" + bytes([10]))
time.sleep(60)
"""
PATIENCE = 10.0


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


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


def test_a_session_is_found_and_killed_with_all_its_groups(family: int) -> None:
    assert len(members({family})) == 2
    assert kill_sessions({family}) == []
    assert members({family}) == []


def test_other_sessions_are_left_alone(family: int) -> None:
    assert kill_sessions({2**30}) == []
    assert len(members({family})) == 2


# Holds the lock of the home argv[1], has a guard watch the session argv[2] and waits to be killed.
SUPERVISOR = """
import sys, time
from pathlib import Path
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.leftovers import MARK, end_leftovers
from slipway_cli.embedded.runtime import HomeLock
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


def test_a_home_in_use_is_told_before_its_port_which_is_in_use_as_well(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    runtime(tmp_path, READY, os.getpid()).write()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = EmbeddedSettings.from_environment(tmp_path, taken.getsockname()[1], {})
        with pytest.raises(AlreadyRunning):
            Supervisor(settings, lambda _: None).run(lambda *_: None)
    lock.release()


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


def test_a_busy_port_is_reported_by_name() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"port {port} \(Airflow's API server, SLIPWAY_PORT\) is in use"):
            claim_port(port, "Airflow's API server", "SLIPWAY_PORT")
    assert claim_port(port, "Airflow's API server", "SLIPWAY_PORT") == port
    assert claim_port(0, "Airflow's API server", "SLIPWAY_PORT") > 0


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0.2), (2, 1), (3, 2), (4, 4), (5, 8), (50, 8), (100_000, 8)])
def test_back_off(deaths: int, seconds: float) -> None:
    assert back_off(deaths) == seconds


def test_a_tied_process_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    parent = (
        "import subprocess, time; from slipway_cli.embedded.component import tied_command\n"
        "subprocess.Popen(tied_command('sleeper'), start_new_session=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert members({child}) == [child]
        process.kill()
        assert wait_until(lambda: members({child}) == [])


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
    parent = (
        "import subprocess, time; from slipway_cli.embedded.component import tied_command\n"
        "subprocess.Popen(tied_command('forking'), start_new_session=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().split() for _ in range(3)]
        session = int(said[0][1])
        assert sorted(members({session})) == sorted(int(pid) for pid, _ in said)
        process.kill()
        try:
            assert wait_until(lambda: members({session}) == [])
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
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        ready, _, _ = select.select([process.stdout], [], [], 0.3)
        assert (ready, process.poll()) == ([], None), "it waits"
        made.touch()
        assert process.stdout.read() == "ran False\n"
    assert process.returncode == 0


@pytest.mark.parametrize("module", sorted({name for names in PRELOADED.values() for name in names.split(",")}))
def test_the_modules_to_import_first_exist(module: str) -> None:
    """The launcher leaves out what cannot be imported, so a renamed module would only be slow."""
    assert importlib.util.find_spec(module) is not None


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


def test_a_tied_process_refuses_a_parent_that_is_gone() -> None:
    command = [part if part != str(os.getpid()) else "1" for part in tied_command("this")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "the parent is gone")


def test_a_failed_step_shows_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "step.log"
    log.write_text("of an earlier run\n")
    command = [sys.executable, "-c", "import sys; print('no space left'); sys.exit(3)"]
    migration = Migration("preparing", command, os.environ, log, tmp_path)
    with pytest.raises(StepFailed) as caught:
        wait_until(migration.is_over)
    assert str(caught.value) == f"preparing failed; its log {log} ends:\n  no space left"


def test_a_simulator_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        SimulatorProcess(["--no-such-option"], tmp_path / "simulator.log") as simulator,
        pytest.raises(SimulatorFailed, match="no-such-option"),
    ):
        simulator.url()


def test_the_demos_simulator_listens_on_loopback_only(tmp_path: Path) -> None:
    with SimulatorProcess(["--state", str(tmp_path / "state.db")], tmp_path / "simulator.log") as simulator:
        url = simulator.url()
        connections = psutil.Process(simulator.pid).net_connections(kind="inet")
        listening = [(c.laddr.ip, c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN]
    assert [f"http://{ip}:{port}" for ip, port in listening] == [url]
    assert url.startswith("http://127.0.0.1:")


def test_tail_shows_the_last_lines_of_this_run_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open_log(log) as out:
        out.write(b"old\n")
    start = log.stat().st_size
    with open_log(log) as out:
        out.write(b"one\n\ntwo\nthree\n")
    assert tail(log, lines=2, start=start) == "  two\n  three"
    assert tail(log, lines=9, start=start) == "  one\n  two\n  three"
    assert tail(tmp_path / "none") == "  (no log)"
