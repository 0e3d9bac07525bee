"""The provisioners that the suite runs against, as processes of its own: what is the same of them under one name."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import requests

from provisioner_client.maas.api_key import ApiKey, PlaintextAuth
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY, DEFAULT_USER
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.simulators import MaasProcess, SimulatorProcess


def listening_address(designs: str, listen: str = "") -> tuple[str, int]:
    """Return where designs are served that a provisioner finds at the address `designs`: there, and nowhere else.

    `listen` is the address of this machine where that one is not: behind a forwarding, for example.
    """
    parts = urlsplit(designs)
    return listen or parts.hostname or "127.0.0.1", parts.port or 80


class ContractDrydock(SimulatorProcess):
    """A simulated Drydock."""

    submissions_path = "tasks"
    submissions_method = "POST"
    nodes_path = "nodes"
    repeats_submissions = False
    """Whether what begins a task may be sent again while a lost one may take effect: it is made once."""
    broken = "Broken"
    """Its word for a machine that a person has set aside."""
    resumes = True
    """Whether a killed server goes on, in the end, with each node that it was at."""

    @property
    def address(self) -> str:
        """Where a client finds it."""
        return self.url

    def in_use(self) -> dict[str, str]:
        """Return the environment variables by which the suite finds it as a server in use."""
        return {}

    def tasks(self) -> list[tuple[str, str | None]]:
        """Return id and reference of each task."""
        return [(task["task_id"], task["reference"]) for task in self.get("tasks")]

    def reading_paths(self, task_id: str) -> list[tuple[str, str]]:
        """Return what is asked for to read tasks and nodes, and to select nodes."""
        paths = [("POST", "validatedesign"), ("POST", "nodefilter"), ("GET", "tasks"), ("GET", "nodes")]
        return [*paths, ("GET", f"tasks/{task_id}")]

    def posts(self) -> int:
        """Return how many submissions were seen, whether or not they took effect."""
        seen = self.get("journal", method="POST")
        return sum(one["path"] == f"{self.api}/{self.submissions_path}" for one in seen)


class ContractMaas(MaasProcess, ContractDrydock):
    """A simulated MAAS. Its tasks are tags."""

    submissions_path = "tags/"
    nodes_path = "machines/"
    repeats_submissions = True
    users = (f"{DEFAULT_USER}={DEFAULT_KEY}", "bob=b:b:b")
    """Administrators by their keys: ours, and somebody else."""

    def __init__(self, *options: str) -> None:
        super().__init__(*options, *(f"--api-key={user}" for user in self.users))
        self._callers: dict[str, MaasCaller] = {}

    def caller(self, key: str) -> MaasCaller:
        """Return somebody who asks that MAAS without Slipway; `key` as in `users`."""
        key = key.rpartition("=")[2]
        if key not in self._callers:
            self._callers[key] = MaasCaller(over_http(self.url), key)
        return self._callers[key]

    def start(self, *more: str) -> None:
        """Start it. Its machines go on where they would be by now: it has no other way to begin again."""
        super().start(*(one for one in more if one not in ("--restart-mode", "resume")))

    @property
    def address(self) -> str:
        """Where a client finds it."""
        return f"{self.url}/MAAS"

    def in_use(self) -> dict[str, str]:
        return {"CONTRACT_KEY": self.key, "CONTRACT_POOL": "default"}

    def tasks(self) -> list[tuple[str, str | None]]:
        """Return the tags that are tasks."""
        auth = PlaintextAuth(ApiKey.parse(self.key))
        answer = requests.get(f"{self.url}{self.api}/tags/", auth=auth, timeout=10)
        tags: list[dict[str, Any]] = answer.json()
        return [(one["name"], one["name"]) for one in tags if one["name"].startswith("slipway-")]

    def reading_paths(self, task_id: str) -> list[tuple[str, str]]:
        """Return what is asked for to read tasks and nodes, and to select nodes."""
        return [("GET", "machines/"), ("GET", f"tags/{task_id}/"), ("GET", "events/op-query")]
