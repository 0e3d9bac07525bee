"""A provisioner's process beside an embedded Airflow, on a port that it keeps; started again when it dies."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

from slipway_cli.demo.provisioner_connection import noun
from slipway_cli.embedded.component import end_process, failed_with_log, spawn
from slipway_cli.embedded.settings import LOOPBACK, EmbeddedSettings, claim_port
from strategy_lib.settings import SLIPWAY_SIMULATOR_PORT

DEFAULT_SPEED = 400.0
"""How much faster than real machines the simulated ones are."""
_PAUSE = 2.0
"""Seconds between two starts."""
_TICK = 0.05
_GRACE = 5.0
"""Seconds it has to end by itself."""


class ProvisionerProcess(ABC):
    """A provisioner that Slipway runs for a demo or `slipway up`. Start it from the main thread."""

    patience = 30.0
    """Seconds until it must answer."""

    def __init__(self, settings: EmbeddedSettings, kind: str) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        kind : one of `PROVISIONERS`.

        Raises
        ------
        SlipwayCliError : its port is in use.
        """
        self.kind = kind
        self.port = claim_port(SLIPWAY_SIMULATOR_PORT.read(os.environ), f"the {self.noun}", SLIPWAY_SIMULATOR_PORT.name)
        self.log = settings.logs / "simulator.log"
        self.address = f"http://{LOOPBACK}:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._born = 0.0
        self._answers = self._has_answered = False

    @property
    def noun(self) -> str:
        """What messages call it: `simulated Drydock`."""
        return noun(self.kind)

    @property
    @abstractmethod
    def connection(self) -> dict[str, Any]:
        """The fields of a connection that leads to it."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command that it is started with this time; it ends with this process."""

    def start(self, say: Callable[[str], None] = lambda _: None) -> Self:
        """Start it without waiting for its answer.

        Parameters
        ----------
        say : takes a line for the person who watches, where that takes a while.

        Raises
        ------
        SlipwayCliError : what it needs is not there, and cannot be installed.
        """
        del say
        self._start()
        return self

    def node_variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what has Airflow and the controller ask its machines; nothing where it has no agents.

        Parameters
        ----------
        environ : the caller's environment.
        """
        del environ
        return {}

    def _start(self) -> None:
        self._answers = False
        self._born = time.monotonic()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = spawn(self.command(), environment, self.log)

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is started first"
        return self._process.pid

    def check_ready(self) -> bool:
        """Whether it has answered since its latest start.

        Raises `SlipwayCliError`: it has ended before that, or does not answer in time; the message has the end of its
        log.
        """
        if self._answers:
            return True
        running = self.is_running()
        if running:
            with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self.port), 1.0):
                self._answers = self._has_answered = True
                return True
        if not running or time.monotonic() > self._born + self.patience:
            raise failed_with_log(f"the {self.noun} cannot be started", self.log, self._log_start)
        return False

    def wait_ready(self) -> str:
        """Return its base URL, once it answers. Raises as `check_ready`."""
        while not self.check_ready():
            time.sleep(_TICK)
        return self.address

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def look_after(self, say: Callable[[str], None]) -> None:
        """Start it again when it is dead, if it has ever answered; its machines are as they were."""
        if self._has_answered and not self.is_running() and time.monotonic() - self._born > _PAUSE:
            say(f"the {self.noun} ended; starting it again (its log: {self.log})")
            self.stop()
            self._start()

    def stop(self) -> None:
        if self._process is not None:
            end_process(self._process, _GRACE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
