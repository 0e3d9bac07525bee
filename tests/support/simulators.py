"""A real simulator process, and its admin API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import requests


class Simulator:
    """One simulator: a process that can be killed and started again on the same store and port."""

    def __init__(self, directory: Path, *options: str, speed: float = 2000) -> None:
        self.state = directory / "simulator.db"
        self.options = ("--speed", str(speed), *options)
        self.port = 0
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start, on the same port as before if there was one."""
        command = [sys.executable, "-m", "provisioner_client.simulator", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--state", str(self.state), *self.options], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line.startswith("listening on "), line
        self.url = line.removeprefix("listening on ")
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        """Kill -9."""
        assert self._process is not None
        self._process.kill()
        self._reap()

    def stop(self) -> None:
        """End it properly, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._reap()

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def get(self, path: str) -> Any:
        """Ask the admin API."""
        answer = requests.get(f"{self.url}/_sim/{path}", timeout=10)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, data: Any = None) -> Any:
        """Tell the admin API."""
        answer = requests.post(f"{self.url}/_sim/{path}", json={} if data is None else data, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def script(self, node: str, phase: str, behaviour: str, **more: Any) -> None:
        """Say how a node behaves."""
        self.post("scripts", {"node": node, "phase": phase, "behaviour": behaviour, **more})

    def submissions(self) -> list[tuple[str, list[str]]]:
        """Return (action, sorted nodes) of every task that is about named nodes, in order."""
        return [
            (task["action"], sorted(task["nodes"])) for task in self.get("tasks") if task["action"].endswith("_nodes")
        ]

    def double(self) -> dict[str, list[Any]]:
        """Return what the detector found, without what is right for a cleared group."""
        found: dict[str, list[Any]] = self.get("double-submissions")
        found.pop("repeated")
        return {kind: entries for kind, entries in found.items() if entries}
