"""Processes of tests that end with the test process, or that are to be killed, and waiting for what they do."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from slipway_cli.embedded.processes import tied_program


def tied(command: str, *arguments: str) -> list[str]:
    """Return how to run a command so that it is killed when this process dies, be it by kill -9.

    Start it from the main thread: to the system a thread that ends is a parent that dies.
    """
    program = command if os.sep in command else shutil.which(command)
    assert program is not None, f"there is no program {command}"
    return tied_program(signal.SIGKILL, None, program, *arguments)


def free_port() -> int:
    """Return a port on loopback that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


PATIENCE = 120.0


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = PATIENCE) -> float:
    """Wait for something that has to come; return after how many seconds it did."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, f"not in {seconds:g} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


_GUARD = "import os, signal, sys; sys.stdin.read(); os.killpg(int(sys.argv[1]), signal.SIGKILL)"


@contextmanager
def guarded(group: int) -> Iterator[None]:
    """Have a process group killed when this process dies: for a command such as `make`, which starts others."""
    # The guard's input ends with this process.
    with subprocess.Popen([sys.executable, "-c", _GUARD, str(group)], stdin=subprocess.PIPE) as guard:
        try:
            yield
        finally:
            guard.kill()


def signal_another_thread(process: int, number: int) -> None:
    """Send a signal to a thread of a process that is not its main one: to a process's signal the system may do so.

    The oldest of them: one that serves a request may be over before it is reached.
    """
    thread = min(other for task in Path(f"/proc/{process}/task").iterdir() if (other := int(task.name)) != process)
    assert ctypes.CDLL(None).tgkill(process, thread, number) == 0


def die(*_arguments: object, **_more: object) -> NoReturn:
    """End this process as kill -9 does, in place of any function."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def do_and_be_killed(work: Callable[[], object]) -> None:
    """Do something in a process of its own, which has to be killed within it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it came past that moment: {os.waitstatus_to_exitcode(status)}"
    assert os.WTERMSIG(status) == signal.SIGKILL
