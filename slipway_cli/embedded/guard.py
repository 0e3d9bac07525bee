"""A process that kills all that the supervisor has started, if the supervisor is killed.

It reads lines `+session` and `-session` from a pipe, whose end is the end of the supervisor. It holds the lock of the
home together with the supervisor, so that nothing starts again before all is gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

from slipway_cli.embedded.processes import kill_sessions


class Guard:
    """The guard as seen by the supervisor."""

    def __init__(self, lock_fd: int) -> None:
        self._lock_fd = lock_fd
        self._sessions: set[int] = set()
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "slipway_cli.embedded.guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[self._lock_fd],
            start_new_session=True,
            cwd=Path(sys.prefix),
        )

    @property
    def pid(self) -> int:
        """The guard's process; another one after `revive`."""
        return self._process.pid

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def watch(self, session: int) -> None:
        """Kill this session if the supervisor dies, from now on."""
        self._sessions.add(session)
        with contextlib.suppress(BrokenPipeError):  # revive() tells a new guard
            self._tell(f"+{session}")

    def forget(self, session: int) -> None:
        """Stop watching a session that is over."""
        self._sessions.discard(session)
        with contextlib.suppress(BrokenPipeError):
            self._tell(f"-{session}")

    def revive(self) -> None:
        """Start another guard if somebody killed this one."""
        if self._process.poll() is not None:
            self._close()
            self._start()
            for session in self._sessions:
                self._tell(f"+{session}")

    def _close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def dismiss(self) -> None:
        """End the guard; it kills what it still watches."""
        self._close()
        self._process.wait(timeout=10)


def stand_by(lines: BinaryIO) -> None:
    """Read until the end, then kill what is still watched."""
    sessions: set[int] = set()
    for line in lines:
        (sessions.add if line[:1] == b"+" else sessions.discard)(int(line[1:]))
    if sessions:
        kill_sessions(sessions)


def main() -> None:
    """Stand by with the pipe as standard input; ignore the signals that end the supervisor."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(0, "rb") as lines:
        stand_by(lines)


if __name__ == "__main__":
    main()
