"""What simulators found wrong while a test ran, in a file that all processes of the test write to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILE = "TEST_DEVIATIONS"
"""Environment variable: the file. Processes inherit it; without it nothing is written."""


def note(text: str) -> None:
    """Write down that something deviates."""
    path = os.environ.get(FILE)
    if path is not None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)


def take() -> list[str]:
    """Return what was written since the last time, each once."""
    path = Path(os.environ[FILE])
    try:
        found = path.read_text()
    except FileNotFoundError:
        return []
    path.unlink()
    return list(dict.fromkeys(found.splitlines()))


def holding_variables() -> dict[str, str]:
    """Return the environment variables that have a simulated MAAS held against the reference in its own process.

    Without a test that runs, as in a benchmark, there are none.
    """
    if FILE not in os.environ:
        return {}
    here = Path(__file__).parent
    paths = [str(here / "in_processes"), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {FILE: os.environ[FILE], "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@contextmanager
def failing() -> Iterator[None]:
    """Fail the test that runs in it if anything deviates; one that fails anyway says it as well."""
    try:
        yield
    except BaseException as error:
        for one in take():
            error.add_note(one)
        raise
    if found := take():
        pytest.fail("a simulator deviates from the reference:\n" + "\n".join(found[:20]), pytrace=False)
