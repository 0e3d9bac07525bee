"""Linux's ways to tie the life of processes together: a signal when the parent dies, and the adoption of orphans."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Collection

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    # A system without prctl goes without this second safety net; the guard process is the first.
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

    Airflow's scheduler forks its workers, they fork tasks, and none of them would notice by itself. Forks of other
    threads than the main one are left alone: to the system a thread that ends is a parent that dies.
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
