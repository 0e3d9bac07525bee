"""Starts Airflow for the demo and the tests, in the background, or uses one that is running."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Self

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import end_process, spawn, tail
from slipway_cli.embedded.home import READY, STOPPING, Runtime, find_running, read_runtime
from slipway_cli.embedded.postgres_account import require_installed
from slipway_cli.embedded.settings import START_TIMEOUT, STOP_GRACE, EmbeddedSettings


class BackgroundAirflow:
    """A supervisor in the background that dies with this process. Start it from the main thread."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        self.settings = settings
        self.log = settings.logs / "supervisor.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def start(self) -> Self:
        """Start it without waiting for anything."""
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        command = [sys.executable, "-P", "-m", "slipway_cli.embedded", str(os.getpid())]
        self._process = spawn(command, dict(os.environ) | self.settings.to_environment(), self.log)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def wait_ready(self) -> Runtime:
        """Wait until all components are healthy.

        Raises `SlipwayCliError`: it could not be started; the message is the supervisor's own.
        """
        assert self._process is not None
        while self._process.poll() is None:
            runtime = read_runtime(self.settings.home)
            if runtime is not None and runtime.pid == self._process.pid and runtime.state == READY:
                return runtime
            time.sleep(0.1)
        raise SlipwayCliError(self.last_words())

    def last_words(self) -> str:
        """The supervisor's error message, or the end of its log."""
        said = tail(self.log, lines=40, start=self._log_start)
        _, found, message = said.rpartition("  error: ")
        return message if found else f"Airflow's supervisor ended; its log {self.log} ends:\n{said}"

    def is_running(self) -> bool:
        """Whether the supervisor lives; that Airflow is ready is another matter."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is not None:
            # Where it has to be killed, its guard clears up.
            end_process(self._process, STOP_GRACE + 20)


def wait_for_running(runtime: Runtime, settings: EmbeddedSettings) -> Runtime:
    """Wait until an Airflow that somebody else started is ready.

    Raises `SlipwayCliError`: it is stopping, or does not get ready in time.
    """
    end = time.monotonic() + START_TIMEOUT
    current: Runtime | None = runtime
    while current is not None and current.state != STOPPING:
        if current.state == READY:
            return current
        if time.monotonic() > end:
            raise SlipwayCliError(
                f"the Airflow in {settings.home} is not ready after {START_TIMEOUT:g} s; see {settings.logs}"
            )
        time.sleep(0.2)
        current = find_running(settings.home)
    raise SlipwayCliError(f"the Airflow in {settings.home} is just stopping; try again")


@contextlib.contextmanager
def reuse_or_start(
    settings: EmbeddedSettings, say: Callable[[str], None]
) -> Iterator[tuple[Runtime, BackgroundAirflow | None]]:
    """Use the Airflow that runs in this home, or start one for the duration of the context.

    Yields
    ------
    Where it is, and the one that was started here (None if it was reused).

    Raises
    ------
    SlipwayCliError : PostgreSQL is not installed, or it could not be started.
    """
    found = find_running(settings.home)
    if found is not None and found.state != STOPPING:
        say(f"using the Airflow that is running at {found.url}")
        yield wait_for_running(found, settings), None
        return
    require_installed()
    say(f"starting Airflow (home {settings.home})")
    airflow = BackgroundAirflow(settings).start()
    try:
        yield airflow.wait_ready(), airflow
    finally:
        airflow.stop()
