"""What an earlier start of a home has left running: only where the supervisor and its guard were killed together.

Airflow's processes are known by a mark in their environment, which all that they start inherits. PostgreSQL's have
none any more: they are known by their current folder, which is that of the home's data.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from slipway_cli.embedded.sessions import kill_found

MARK = "SLIPWAY_SUPERVISED_HOME"
"""The variable of the environment with the home in it. Only the supervisor sets it."""
_PROC = Path("/proc")


def marked(home: Path) -> list[int]:
    """Ids of the living processes that bear the home's mark."""
    mark = b"\0" + os.fsencode(f"{MARK}={home}") + b"\0"
    return _processes(lambda process: mark in b"\0" + (process / "environ").read_bytes())


def servers_of(data: Path) -> list[int]:
    """Ids of PostgreSQL's processes that work in this data folder."""

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
    """End what an earlier start has left; the caller holds the home's lock, so none of it is anybody's.

    Returns
    -------
    What was ended, each with its process id.
    """
    named = {pid: _name(pid) for pid in [*marked(home), *servers_of(data)]}
    if named:
        kill_found(lambda: [*marked(home), *servers_of(data)])
    return [f"{name} (process {pid})" for pid, name in sorted(named.items())]


def _name(pid: int) -> str:
    """A process's command in a few words."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
    except OSError:
        words = []
    names = [Path(word).name for word in words if not word.startswith("-")]
    # The module that a launcher runs stands behind the launcher's own name and the process that it is tied to.
    start = next((place for place, name in enumerate(names) if name == "airflow"), 0)
    return " ".join(names[start : start + 2]) or "a process"
