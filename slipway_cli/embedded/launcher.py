"""Runs a module as `python -m` does, in a process that ends when its parent does: `… PARENT-PID MODULE ARGUMENTS…`.

What it forks ends with it in the same way.
"""

from __future__ import annotations

import runpy
import signal
import sys
import warnings

from slipway_cli.embedded.lifeline import die_with_parent, tie_forks


def main() -> None:
    """Run the module named by the arguments as `__main__`; ends at once if the parent is gone already."""
    parent, module, *arguments = sys.argv[1:]
    if not die_with_parent(int(parent), signal.SIGKILL):
        sys.exit("the parent is gone")
    tie_forks(signal.SIGKILL)
    # Starlette warns in each of Airflow's processes about a test client that nobody here uses.
    warnings.filterwarnings("ignore", message=".*starlette.testclient.*")
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
