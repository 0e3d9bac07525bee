"""The Drydock simulator as a process of its own that dies with this one: for the demo and the tests."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from slipway_cli.embedded.component import tied_command
from slipway_cli.embedded.errors import SimulatorFailed
from slipway_cli.embedded.logfiles import open_log, tail

_GREETING = b"listening on "


class SimulatorProcess:
    """A simulator on loopback. Start it from the main thread."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        """Start it; `url` then waits for it to answer.

        Parameters
        ----------
        arguments : of `slipway simulator`, for example ["--speed", "100"].
        """
        self.log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        self._url: str | None = None
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with open_log(log) as errors:
            self._process = subprocess.Popen(
                tied_command("provisioner_client.simulator", *arguments),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The simulator's process."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def url(self, timeout: float = 30.0) -> str:
        """Base URL, once it answers.

        Raises
        ------
        SimulatorFailed
            It has ended, or does not answer in `timeout` seconds; the message has the end of its log.
        """
        if self._url is None:
            assert self._process.stdout is not None
            line = _first_line(self._process.stdout, timeout)
            if not line.startswith(_GREETING):
                raise SimulatorFailed(self.log, tail(self.log, start=self._log_start))
            self._url = line.removeprefix(_GREETING).decode().strip()
        return self._url

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop it and wait for that."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _first_line(stream: IO[bytes], timeout: float) -> bytes:
    """The first line, or what there is of it at the end of the stream or of the time."""
    end = time.monotonic() + timeout
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not line.endswith(b"\n") and selector.select(max(0.0, end - time.monotonic())):
            part = os.read(stream.fileno(), 4096)
            if not part:
                break
            line += part
    return line
