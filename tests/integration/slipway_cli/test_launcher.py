"""A process that the launcher starts ends with its parent, and imports what it was told to."""

import os
import select
import subprocess
import sys
from pathlib import Path

from slipway_cli.embedded.processes import AFTER, PRELOAD, kill_sessions, members, tied_command
from tests.integration.slipway_cli.conftest import wait_until


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


def test_a_tied_process_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    with parent_of("sleeper", tmp_path) as process:
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
    with parent_of("forking", tmp_path) as process:
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
