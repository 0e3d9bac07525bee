"""Plain Drydock requests to a simulator process, as a client that knows nothing of Slipway would send them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import requests

from tests.support.simulators import Simulator
from tests.support.sites import node, site

API = "/api/v1.0"


def write_design(directory: Path, names: Sequence[str] = ("n1", "n2", "n3"), region: str = "alpha") -> str:
    """Write a design and return its reference; its nodes are in turn in rack r1, tagged odd, and in r2, tagged even."""
    nodes = [
        node(name, rack="r1" if i % 2 == 0 else "r2", tags=["odd" if i % 2 == 0 else "even"])
        for i, name in enumerate(names)
    ]
    file = directory / f"{region}.yaml"
    file.write_text(site(nodes, [], region=region))
    return f"file://{file}"


def names_filter(names: Sequence[str], reference: str | None = None) -> dict[str, Any]:
    """Return a plain filter by names, with a client's reference."""
    found: dict[str, Any] = {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": list(names)}],
    }
    return found if reference is None else {**found, "x_client_ref": reference}


class Drydock:
    """A client of one simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.session = requests.Session()

    def get(self, path: str) -> requests.Response:
        """GET below the API's base."""
        return self.session.get(f"{self.simulator.url}{API}/{path}", timeout=10)

    def post(self, path: str, body: object, **headers: str) -> requests.Response:
        """POST JSON below the API's base."""
        headers = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        return self.session.post(f"{self.simulator.url}{API}/{path}", json.dumps(body), headers=headers, timeout=10)

    def submit(self, action: str, design_ref: str, node_filter: object = None) -> str:
        """Start a task and return its id."""
        answer = self.post("tasks", {"action": action, "design_ref": design_ref, "node_filter": node_filter})
        assert answer.status_code == 201, answer.text
        task_id: str = answer.json()["task_id"]
        return task_id

    def task(self, task_id: str, query: str = "") -> dict[str, Any]:
        """Return a task."""
        answer = self.get(f"tasks/{task_id}{query}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def finish(self, task_id: str) -> dict[str, Any]:
        """Wait until a task is complete and return it."""
        task: dict[str, Any] = self.wait_for(lambda: self.task(task_id), lambda seen: seen["status"] == "complete")
        return task

    def run(self, action: str, design_ref: str, names: Sequence[str], reference: str | None = None) -> dict[str, Any]:
        """Start a task for some nodes and wait for its end."""
        return self.finish(self.submit(action, design_ref, names_filter(names, reference)))

    def statuses(self) -> dict[str, str]:
        """Return MAAS's status of every node."""
        return {entry["hostname"]: entry["status_name"] for entry in self.get("nodes").json()}

    def wait_for(self, look: Callable[[], Any], good: Callable[[Any], bool], seconds: float = 10.0) -> Any:
        """Look until what is seen is good."""
        end = time.monotonic() + seconds
        while True:
            seen = look()
            if good(seen):
                return seen
            assert time.monotonic() < end, seen
            time.sleep(0.01)
