"""A unit test opens no socket, starts no process and connects to no database: what does is an integration test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

# What CPython itself announces (PEP 578) when something outside of the process is about to be used.
FORBIDDEN = {
    "os.exec": "starts a process",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.system": "starts a process",
    "socket.bind": "opens a socket",
    "socket.connect": "opens a socket",
    "socket.getaddrinfo": "opens a socket",
    "sqlite3.connect": "connects to a database",
    "subprocess.Popen": "starts a process",
}

_used: list[str] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what is forbidden; Python calls this for every event from here to the end of the process."""
    if event in FORBIDDEN:
        _used.append(f"{FORBIDDEN[event]}: {event} {arguments!r:.200}")


sys.addaudithook(_note)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Begin with nothing used; the fixtures of a test belong to it."""
    _used.clear()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test that used what it may not; what ends after it may be a fixture of the whole run, and not its own."""
    used = list(_used)
    result = yield
    if used:
        pytest.fail(f"a unit test {used[0]}; move it to tests/integration", pytrace=False)
    return result
