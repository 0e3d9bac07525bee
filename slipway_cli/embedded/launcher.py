"""Starts a module or a program in a process that ends when its parent does.

`tied_command` and `tied_program` make its command lines: `… PARENT-PID module MODULE ARGUMENTS…`, and
`… PARENT-PID program SIGNAL UID:GID PROGRAM ARGUMENTS…`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import runpy
import signal
import sys
import time
import warnings
from pathlib import Path

from slipway_cli.embedded.processes import die_with_parent, tie_forks

# Airflow imports hundreds of thousands of objects that stay: looking through them every 700 allocations costs seconds.
_COLLECT_EVERY = 20_000

PRELOAD = "SLIPWAY_PRELOAD"
"""Environment variable: names of modules to import first, separated by commas."""

AFTER = "SLIPWAY_AFTER"
"""Environment variable: a file that is waited for after these imports. Airflow's database is migrated meanwhile."""
_TICK = 0.05


_LAUNCHER = "slipway_cli.embedded.launcher"
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


def preload(names: str) -> None:
    """Import modules once, so that the processes forked from this one need not import them each.

    Parameters
    ----------
    names : separated by commas. A module that cannot be imported is left out: the process that needs it then fails
        with the reason, and this one lives on.
    """
    for name in filter(None, names.split(",")):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _run_module(parent: int, module: str, *arguments: str) -> None:
    if not die_with_parent(parent, signal.SIGKILL):
        sys.exit("the parent is gone")
    tie_forks(signal.SIGKILL)
    gc.set_threshold(_COLLECT_EVERY)
    # Starlette warns in each of Airflow's processes about a test client that nobody here uses.
    warnings.filterwarnings("ignore", message=".*starlette.testclient.*")
    preload(os.environ.pop(PRELOAD, ""))
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
