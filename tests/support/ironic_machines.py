"""Machines of a real Ironic, asked for as a person with curl would, without anything of Slipway's backend."""

from __future__ import annotations

import time
from typing import Any

import requests

from tests.support.embedded_ironic import EmbeddedIronic
from tests.support.processes import wait_until

IMAGE = {
    "image_source": "http://images.example/ubuntu.img",
    "image_os_hash_algo": "sha256",
    "image_os_hash_value": "0" * 64,
}


class Machines:
    """Machines of an Ironic that is asked as a person with curl would."""

    def __init__(self, ironic: EmbeddedIronic) -> None:
        self._session = ironic.session()
        self._nodes = f"{ironic.url}/v1/nodes"

    def ask(self, method: str, path: str, body: Any) -> requests.Response:
        """Send a request below `/v1/nodes`; again while Ironic has the machine locked."""
        while (
            answer := self._session.request(method, f"{self._nodes}{path}", json=body, timeout=60)
        ).status_code == 409:
            time.sleep(0.1)
        return answer

    def state(self, name: str) -> dict[str, Any]:
        """Return a machine as Ironic has it."""
        found: dict[str, Any] = self._session.get(f"{self._nodes}/{name}", timeout=60).json()
        return found

    def go(self, name: str, target: str, *ends: str) -> dict[str, Any]:
        """Ask for a change of a machine's state, and wait until it has come to one of its ends."""
        answer = self.ask("PUT", f"/{name}/states/provision", {"target": target})
        assert answer.status_code == 202, answer.text
        wait_until(lambda: self.state(name)["provision_state"] in ends, f"{name}: {target}")
        return self.state(name)

    def enroll(self, name: str) -> None:
        """Have Ironic know a machine; nothing is looked at yet."""
        made = self.ask("POST", "", {"name": name, "driver": "slipway", "instance_info": IMAGE})
        assert made.status_code == 201, made.text

    def managed(self, name: str) -> dict[str, Any]:
        """Have a machine managed that is off, and return it."""
        found = self.go(name, "manage", "manageable")
        assert found["power_state"] == "power off"
        return found
