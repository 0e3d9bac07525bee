"""BMCs that speak Redfish: the emulator of sushy-tools, with machines that are only pretended."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import uuid
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import requests

from provisioner_client.ironic_server.installation import environment_variables, installed
from provisioner_client.private_files import write_private
from slipway_cli.embedded.component import end_process, spawn
from slipway_cli.embedded.settings import LOOPBACK
from tests.support.embedded_ironic import ENVIRONMENTS
from tests.support.processes import tied, wait_until

USER, PASSWORD = "operator", "bmc-secret-4711"
_USERS = f"{USER}:$2b$04$hoFpoHTZT.N8DTeMlXDareDSohILdDpSGIaPTY6RtoX.cwxl4taSO\n"
_SYSTEMS = "/redfish/v1/Systems"
_SLOWEST = 30.0
"""Seconds within which a machine has changed its power; the emulator takes 1 to 11."""


class RedfishBmcs:
    """One emulator, which is the BMC of each of its machines. Start it from the main thread."""

    def __init__(self, folder: Path, machines: Collection[str]) -> None:
        """Nothing is started yet; all machines are off."""
        with socket.create_server((LOOPBACK, 0)) as free:
            self._port = int(free.getsockname()[1])
        self.address = f"http://{LOOPBACK}:{self._port}"
        self._folder = folder
        self._ids = {name: str(uuid.uuid5(uuid.NAMESPACE_DNS, name)) for name in machines}
        self._session = requests.Session()
        self._session.auth, self._session.trust_env = (USER, PASSWORD), False
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RedfishBmcs:
        """Start it, and wait until it answers."""
        systems = [
            {"uuid": ident, "name": name, "power_state": "Off", "external_notifier": False, "nics": []}
            for name, ident in self._ids.items()
        ]
        write_private(self._folder / "users", _USERS)
        settings = {
            "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
            "SUSHY_EMULATOR_AUTH_FILE": str(self._folder / "users"),
            "SUSHY_EMULATOR_STATE_DIR": str(self._folder),
        }
        lines = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
        write_private(self._folder / "emulator.conf", lines)
        program = installed(ENVIRONMENTS, print).with_name("sushy-emulator")
        listening = ("--interface", LOOPBACK, "--port", str(self._port))
        command = tied(str(program), "--fake", *listening, "--config", str(self._folder / "emulator.conf"))
        self._process = spawn(command, environment_variables(os.environ), self._folder / "emulator.log")
        wait_until(self._answers, "the emulator answers", 60)
        return self

    def stop(self) -> None:
        """End it: its BMCs do not answer any more."""
        if self._process is not None:
            end_process(self._process, 5.0)

    def path(self, name: str) -> str:
        """Return where a machine is at its BMC: Ironic's `redfish_system_id`."""
        return f"{_SYSTEMS}/{self._ids[name]}"

    def power(self, name: str) -> str:
        """Return `On` or `Off`."""
        return str(self._machine(name)["PowerState"])

    def switch_off(self, name: str) -> None:
        """Switch a machine off as somebody does who has nothing to do with Ironic; wait until it is off."""
        address = f"{self.address}{self.path(name)}/Actions/ComputerSystem.Reset"
        assert self._session.post(address, json={"ResetType": "ForceOff"}, timeout=10).ok
        end = time.monotonic() + _SLOWEST
        while self.power(name) != "Off":
            assert time.monotonic() < end, f"{name} is still on"
            time.sleep(0.2)

    def _machine(self, name: str) -> dict[str, Any]:
        answer = self._session.get(f"{self.address}{self.path(name)}", timeout=10)
        assert answer.ok, answer.text
        found: dict[str, Any] = json.loads(answer.text)
        return found

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "emulator.log").read_text()
        with contextlib.suppress(requests.RequestException):
            return self._session.get(f"{self.address}/redfish/v1/", timeout=5).ok
        return False


@contextlib.contextmanager
def running_bmcs(folder: Path, machines: Collection[str]) -> Iterator[RedfishBmcs]:
    """Run the BMCs of some machines for the time of the context."""
    folder.mkdir(parents=True, exist_ok=True)
    bmcs = RedfishBmcs(folder, machines)
    try:
        yield bmcs.start()
    finally:
        bmcs.stop()
