"""Finding and ending whole process trees: every component has a session of its own, and all it starts stays in it.

(Process groups would not do: Airflow gives each task a group of its own.) Linux only, by way of /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

_PROC = Path("/proc")


def members(sessions: Collection[int]) -> list[int]:
    """Ids of the living processes (zombies are not) of these sessions."""
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it ended while we were looking
            continue
        # The name in the second field may hold blanks and brackets; what counts follows the last bracket.
        state, _parent, _group, session = stat.rpartition(")")[2].split()[:4]
        if state not in "ZX" and int(session) in sessions:
            found.append(int(entry.name))
    return found


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
