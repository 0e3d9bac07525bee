"""A real Ironic as `slipway up` runs it, without the rest of it: with a PostgreSQL of its own, in a test's folder."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import requests

from provisioner_client.ironic_server.program import IRONIC_SCRIPTS, write_machines
from provisioner_client.private_files import write_private
from provisioner_client.simulator.scripts import parse_script
from slipway_cli.embedded.component import end_process, spawn
from slipway_cli.embedded.processes import members, tied_command
from slipway_cli.embedded.settings import LOOPBACK
from tests.support.postgres import running_server

ENVIRONMENTS = Path(sys.prefix) / "ironic"
"""Where the tests have Ironic: it is installed once, beside the packages of the tests."""
SPEED = 2000.0
_PATIENCE = 240.0
_VERSION = {"X-OpenStack-Ironic-API-Version": "1.78"}


class EmbeddedIronic:
    """One Ironic. Start it from the main thread: it ends with that thread."""

    def __init__(self, home: Path, sockets: Path, environments: Path = ENVIRONMENTS) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        home : where its files and its log are.
        sockets : folder of the socket of a PostgreSQL that runs.
        """
        with socket.create_server((LOOPBACK, 0)) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.password = secrets.token_urlsafe(16)
        self.folder, self.log = home / "ironic", home / "ironic.log"
        self._machines = self.folder / "machines.json"
        self._command = ["--port", str(self.port), "--environments", str(environments), "--folder", str(self.folder)]
        self._command += ["--sockets", str(sockets), "--database", "ironic"]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        """The command that becomes it, and ends with this process."""
        write_private(self.folder / "password", self.password)
        return tied_command("provisioner_client.ironic_server", *self._command, "--speed", f"{SPEED:g}")

    def start(self, *fail: str) -> EmbeddedIronic:
        """Start it without waiting for anything.

        Parameters
        ----------
        fail : `PHASE:NODE[:KIND]`.
        """
        more = [part for text in fail for part in ("--fail", text)]
        self.process = spawn([*self.command, *more], os.environ, self.log)
        return self

    def wait_ready(self) -> EmbeddedIronic:
        """Wait until its conductor has taken up its work."""
        end = time.monotonic() + _PATIENCE
        while not self.is_ready():
            assert self.process is None or self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < end, self.log.read_text()[-3000:]
            time.sleep(0.1)
        return self

    def is_ready(self) -> bool:
        with contextlib.suppress(requests.RequestException):
            answer = self.session().get(f"{self.url}/v1/drivers", timeout=10)
            return answer.ok and bool(answer.json()["drivers"])
        return False

    def session(self) -> requests.Session:
        """Return a session with the password and a version of the API."""
        session = requests.Session()
        session.auth, session.trust_env = ("slipway", self.password), False
        session.headers.update(_VERSION)
        return session

    def play(self, *scripts: dict[str, Any], speed: float = SPEED) -> None:
        """Say what shall become of which node from now on, in place of what was said before."""
        write_machines(self._machines, speed, [parse_script(script, IRONIC_SCRIPTS) for script in scripts])

    @property
    def pid(self) -> int:
        """Its main process, and the session of all."""
        assert self.process is not None, "it is started first"
        return self.process.pid

    def processes(self) -> Sequence[int]:
        """The ids of its processes that live."""
        return members({self.pid})

    def is_listening(self) -> bool:
        """Whether its port is somebody's."""
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self.port), 1.0):
            return True
        return False

    def stop(self) -> None:
        if self.process is not None:
            end_process(self.process, 10.0)


@contextlib.contextmanager
def running_ironic(home: Path, *fail: str) -> Iterator[EmbeddedIronic]:
    """Run an Ironic for the time of the context, without any machine."""
    with running_server(home) as (cluster, _):
        ironic = EmbeddedIronic(home, cluster.sockets)
        try:
            yield ironic.start(*fail).wait_ready()
        finally:
            ironic.stop()
