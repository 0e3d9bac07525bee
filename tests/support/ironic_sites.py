"""Sites of a real Ironic for tests: nodes by name, clients of Slipway's, and what Ironic itself has noted of a node."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import requests

from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignSource
from provisioner_client.ironic.connection import ironic_api
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.ironic.tasks.work import TaskSettings
from provisioner_client.protocol import ProvisionerTask, TaskRef, TaskState
from provisioner_client.redacting import nothing_is_secret
from tests.support.embedded_ironic import EmbeddedIronic

DRIVER = "slipway"
IMAGE = "https://images.invalid/noble.qcow2"
CHECKSUM = f"sha256:{'0' * 64}"
_PATIENCE = 60.0
_BUSY = (409, 503)


class IronicTestSite:
    """Nodes of one resource class, and who acts on them.

    Parameters
    ----------
    ironic : that runs.
    name : the resource class; names of nodes are given by the tests.
    """

    def __init__(self, ironic: EmbeddedIronic, name: str = "") -> None:
        self.ironic, self.name = ironic, name or f"site-{secrets.token_hex(3)}"
        self._session = ironic.session()

    def call(self, method: str, path: str, body: object = None) -> requests.Response:
        """Ask Ironic without Slipway; what is locked is asked again."""
        end = time.monotonic() + _PATIENCE
        while True:
            answer = self._session.request(method, f"{self.ironic.url}/v1/{path}", json=body, timeout=30)
            if answer.status_code not in _BUSY or "is locked" not in answer.text or time.monotonic() > end:
                return answer
            time.sleep(0.1)

    def node(self, name: str) -> dict[str, Any]:
        """Return a node as Ironic has it."""
        found: dict[str, Any] = self.call("GET", f"nodes/{name}").json()
        return found

    def enroll(self, names: Iterable[str]) -> None:
        """Make nodes known to Ironic."""
        for name in names:
            answer = self.call("POST", "nodes", {"name": name, "driver": DRIVER, "resource_class": self.name})
            assert answer.status_code == 201, answer.text

    def make_available(self, names: Collection[str]) -> None:
        """Have nodes prepared, without Slipway."""
        self.enroll(names)
        for target, state in (("manage", "manageable"), ("provide", "available")):
            for name in names:
                self.change(name, target)
            self.wait(names, state)

    def change(self, name: str, target: str) -> requests.Response:
        """Ask for a change of state."""
        return self.call("PUT", f"nodes/{name}/states/provision", {"target": target})

    def patch(self, name: str, **values: object) -> requests.Response:
        """Set fields of a node."""
        operations = [{"op": "add", "path": f"/{path}", "value": value} for path, value in values.items()]
        return self.call("PATCH", f"nodes/{name}", operations)

    def wait(self, names: Iterable[str], *states: str) -> None:
        """Wait until nodes have one of these states, and are not locked."""
        for name in names:
            self.wait_for(lambda name=name: self._is_at_rest(name, states))  # type: ignore[misc]

    def _is_at_rest(self, name: str, states: Collection[str]) -> bool:
        node = self.node(name)
        return node["provision_state"] in states and not node["reservation"]

    @staticmethod
    def wait_for(holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < end, "it does not come to that"
            time.sleep(0.05)

    def events(self, name: str) -> Counter[str]:
        """Return how often what has happened to a node, by Ironic's own history."""
        history = self.call("GET", f"nodes/{name}/history?detail=true").json()["history"]
        return Counter(str(event["event_type"]) for event in history)

    def design(
        self, names: Iterable[str], image: str = IMAGE, *, enroll: bool = False, **defaults: object
    ) -> DesignSource:
        """Return a design with these nodes; `enroll`: Ironic is to enrol those that it does not know."""
        said = json.dumps({"image": image, "checksum": CHECKSUM, "bmc_driver": DRIVER, **defaults})
        documents = [
            _document("Site", "site", f"{{provisioner: ironic, enroll: {str(enroll).lower()}, defaults: {said}}}"),
            *(_document("Node", name, "{}") for name in names),
        ]
        text = "---\n".join(documents)
        return DesignSource(f"nowhere:{secrets.token_hex(8)}", lambda: text)

    def client(self, url: str = "", *, settle: float = 1.0, **settings: Any) -> IronicProvisioner:
        """Return a client of Slipway's, as each process has its own; `url`: where it finds Ironic."""
        values = ConnectionValues(
            "ironic",
            "test",
            url or self.ironic.url,
            login="slipway",
            password=self.ironic.password,
            extra={"resource_class": self.name, "read_timeout": 5},
        )
        tasks = TaskSettings(settle=settle, first_look=0.05, **settings)
        return IronicProvisioner(ironic_api(values, nothing_is_secret), tasks)


def finish(client: IronicProvisioner, reference: str, design: DesignSource | None = None) -> ProvisionerTask:
    """Look at a task until it is over, as the engine does."""
    end = time.monotonic() + _PATIENCE
    while True:
        task = client.task(TaskRef(reference, design=design))
        if task.state is TaskState.COMPLETE:
            return task
        assert time.monotonic() < end, task
        time.sleep(0.1)


def _document(kind: str, name: str, data: str) -> str:
    return f"schema: slipway/{kind}/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}}}\ndata: {data}\n"
