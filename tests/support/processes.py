"""Processes of tests that end with the test process, however it ends."""

from __future__ import annotations

import os
import shutil
import signal

from slipway_cli.embedded.launcher import tied_program


def tied(command: str, *arguments: str) -> list[str]:
    """Return how to run a command so that it is killed when this process dies, be it by kill -9.

    Start it from the main thread: to the system a thread that ends is a parent that dies.
    """
    program = command if os.sep in command else shutil.which(command)
    assert program is not None, f"there is no program {command}"
    return tied_program(signal.SIGKILL, None, program, *arguments)
