"""Linux process trees: end them with their parent, find them by session, mark or folder, and kill what is left."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")
MARK = "SLIPWAY_SUPERVISED_HOME"
"""The environment variable with the home in it. Only the supervisor sets it."""


def _prctl(option: int, value: int) -> None:
    # A system without prctl does without this: the guard process kills as well.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent(parent: int, number: int) -> bool:
    """Have signal `number` sent to this process when its parent dies.

    Returns
    -------
    False when `parent` is not the parent (any more): it died before we could ask.
    """
    _prctl(_PR_SET_PDEATHSIG, number)
    return os.getppid() == parent


def tie_forks(number: int) -> None:
    """Have signal `number` sent to every process that this one forks, and that those fork, when its parent dies.

    Airflow's scheduler forks its workers, they fork tasks, and none of them notices the end of its parent. Forks of
    other threads than the main one are left out: for the kernel a thread that ends is a parent that dies.
    """
    forking: dict[str, int] = {}

    def before() -> None:
        forking.clear()
        if threading.current_thread() is threading.main_thread():
            forking["parent"] = os.getpid()

    def after() -> None:
        if "parent" in forking and not die_with_parent(forking["parent"], number):
            os._exit(1)

    os.register_at_fork(before=before, after_in_child=after)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants that lose theirs, so that it can reap them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def reap_orphans(own: Collection[int]) -> None:
    """Reap exited child processes, except those in `own`, which their own callers wait for."""
    with contextlib.suppress(ChildProcessError):
        while True:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if dead is None or dead.si_pid in own:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)


def members(sessions: Collection[int]) -> list[int]:
    """Return the ids of the living processes (zombies are not) of these sessions."""

    def is_member(process: Path) -> bool:
        stat = (process / "stat").read_text(encoding="utf-8", errors="replace")
        # The name in the second field may hold blanks and brackets; the other fields follow the last bracket.
        state, _parent, _group, session = stat.rpartition(")")[2].split()[:4]
        return state not in "ZX" and int(session) in sessions

    return _processes(is_member)


def kill_sessions(sessions: Collection[int], patience: float = 5.0) -> list[int]:
    """Kill every process of these sessions, also those forked meanwhile.

    Returns
    -------
    The ids of processes that were still there after `patience` seconds; normally none.
    """
    return kill_found(lambda: members(sessions), patience)


def kill_found(find: Callable[[], Collection[int]], patience: float = 5.0) -> list[int]:
    """Kill every process that a search finds, and search again until it finds none.

    Returns
    -------
    The ids of processes that were still there after `patience` seconds; normally none.
    """
    end = time.monotonic() + patience
    while alive := find():
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            return list(alive)
        time.sleep(0.02)
    return []


def marked(home: Path) -> list[int]:
    """Return the ids of the living processes that have the home in their environment."""
    mark = b"\0" + os.fsencode(f"{MARK}={home}") + b"\0"
    return _processes(lambda process: mark in b"\0" + (process / "environ").read_bytes())


def servers_of(data: Path) -> list[int]:
    """Return the ids of PostgreSQL's processes that work in this data folder."""

    def works_there(process: Path) -> bool:
        return (process / "cwd").readlink() == data and b"postgres" in (process / "comm").read_bytes()

    return _processes(works_there)


def _processes(condition: Callable[[Path], bool]) -> list[int]:
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if condition(entry):
                    found.append(int(entry.name))
            except OSError:  # it ended while we were looking, or belongs to somebody else
                continue
    return found


def end_leftovers(home: Path, data: Path) -> list[str]:
    """Kill the processes that an earlier start has left; the caller holds the home's lock, so nobody uses them.

    Returns
    -------
    The commands that were killed, each with its process id.
    """
    named = {pid: _name(pid) for pid in [*marked(home), *servers_of(data)]}
    if named:
        kill_found(lambda: [*marked(home), *servers_of(data)])
    return [f"{name} (process {pid})" for pid, name in sorted(named.items())]


def _name(pid: int) -> str:
    """Return a process's command in a few words."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
    except OSError:
        words = []
    names = [Path(word).name for word in words if not word.startswith("-")]
    # The module that a launcher runs stands behind the launcher's own name and the process that it is tied to.
    start = next((place for place, name in enumerate(names) if name == "airflow"), 0)
    return " ".join(names[start : start + 2]) or "a process"
