"""Linux process trees: end them with their parent, find them by session, mark or folder, and kill what is left.

As a program it runs a module or another program so that it ends with its parent (`tied_command`, `tied_program`):
`… PARENT-PID module MODULE ARGUMENTS…`, and `… PARENT-PID program SIGNAL UID:GID PROGRAM ARGUMENTS…`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import runpy
import signal
import sys
import threading
import time
import warnings
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


# Airflow imports hundreds of thousands of objects that stay: looking through them every 700 allocations costs seconds.
_COLLECT_EVERY = 20_000

PRELOAD = "SLIPWAY_PRELOAD"
"""Environment variable: names of modules to import first, separated by commas."""

AFTER = "SLIPWAY_AFTER"
"""Environment variable: a file that is waited for after these imports. Airflow's database is migrated meanwhile."""
_TICK = 0.05


_LAUNCHER = "slipway_cli.embedded.processes"
_SAME_USER = "-"
"""In place of UID:GID: the user stays the same."""


def tied_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `python -m module` so that it ends when this process does.

    The processes that it forks end with it in the same way. It first imports what they need (`PRELOAD`), and then waits
    for what must be there before the module runs (`AFTER`).
    """
    return [sys.executable, "-P", "-m", _LAUNCHER, str(os.getpid()), "module", module, *arguments]


def tied_program(number: int, user: tuple[int, int] | None, program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program so that it gets signal `number` when this process dies.

    Parameters
    ----------
    user : user id and group id to run it as (only root may), without any further group; None: as the caller.
    """
    ids = _SAME_USER if user is None else f"{user[0]}:{user[1]}"
    launcher = [sys.executable, "-P", "-m", _LAUNCHER, str(os.getpid()), "program"]
    return [*launcher, str(number), ids, program, *arguments]


def _run_module(parent: int, module: str, *arguments: str) -> None:
    if not die_with_parent(parent, signal.SIGKILL):
        sys.exit("the parent is gone")
    tie_forks(signal.SIGKILL)
    gc.set_threshold(_COLLECT_EVERY)
    # Starlette warns in each of Airflow's processes about a test client that nobody here uses.
    warnings.filterwarnings("ignore", message=".*starlette.testclient.*")
    # Once, so that the processes forked from this one need not import them each. What cannot be imported is left out:
    # the process that needs it then fails with the reason, and this one lives on.
    for name in filter(None, os.environ.pop(PRELOAD, "").split(",")):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    after = os.environ.pop(AFTER, "")
    while after and not Path(after).exists():
        time.sleep(_TICK)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _become_program(parent: int, number: str, ids: str, program: str, *arguments: str) -> None:
    if ids != _SAME_USER:
        uid, gid = (int(part) for part in ids.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After the change of the user, which resets it.
    if not die_with_parent(parent, int(number)):
        sys.exit("the parent is gone")
    os.execv(program, [program, *arguments])  # noqa: S606 - no shell is meant


def main() -> None:
    """Run what the arguments name; end at once if the parent is gone already."""
    parent, what, *arguments = sys.argv[1:]
    (_run_module if what == "module" else _become_program)(int(parent), *arguments)


if __name__ == "__main__":
    main()
