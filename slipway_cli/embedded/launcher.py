"""Runs a module as `python -m` does, in a process that ends when its parent does: `… PARENT-PID MODULE ARGUMENTS…`.

The processes that it forks end with it in the same way. It first imports what they need (`SLIPWAY_PRELOAD`), and then
waits for what must be there before the module runs (`SLIPWAY_AFTER`).
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

from slipway_cli.embedded.lifeline import die_with_parent, tie_forks

# Airflow imports hundreds of thousands of objects that stay: looking through them every 700 allocations costs seconds.
_COLLECT_EVERY = 20_000

PRELOAD = "SLIPWAY_PRELOAD"
"""Environment variable: names of modules to import first, separated by commas."""

AFTER = "SLIPWAY_AFTER"
"""Environment variable: a file that is waited for after these imports. Airflow's database is migrated meanwhile."""
_TICK = 0.05


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


def main() -> None:
    """Run the module named by the arguments as `__main__`; ends at once if the parent is gone already."""
    parent, module, *arguments = sys.argv[1:]
    if not die_with_parent(int(parent), signal.SIGKILL):
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


if __name__ == "__main__":
    main()
