"""The simulator as a process of its own, which a test can start, kill and ask, and its admin API."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests

from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from tests.support.deviations import holding_variables
from tests.support.processes import tied, wait_until


class SimulatorProcess:
    """One simulator. `start` after `kill` takes the same port again, so that clients need not notice.

    Parameters
    ----------
    *options : str
        Of its command line, `--port` excepted.
    """

    api = "/api/v1.0"

    def __init__(self, *options: str) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._port = "0"
        self.was_ended = False
        self.url = ""

    def start(self, *more: str) -> None:
        """Start it and wait for its line; `more` options go before those given at first."""
        arguments = ("--port", self._port, *more, *self._options)
        command = tied(sys.executable, "-m", "provisioner_client.simulator", *arguments)
        environment = os.environ | self.variables()
        self._process = subprocess.Popen(self.command(command), env=environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            assert ready.select(timeout=60), "the simulator says nothing"
        line = self._process.stdout.readline()
        assert line.startswith("listening on http://"), line
        self.url = line.removeprefix("listening on ").strip()
        self._port = self.url.rsplit(":", 1)[1]

    def variables(self) -> dict[str, str]:
        """Return further environment variables of its process."""
        return {}

    def command(self, words: Sequence[str]) -> list[str]:
        """Return how its process is started."""
        return list(words)

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end("kill")

    def stop(self) -> None:
        """End it as an operator does, if it runs."""
        self._end("terminate")

    def _end(self, how: str) -> None:
        if self._process is None:
            return
        self.was_ended = True
        getattr(self._process, how)()
        self._process.wait(timeout=20)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def get(self, where: str, /, **params: str) -> Any:
        """Ask the admin API."""
        answer = requests.get(f"{self.url}/_sim/{where}", params=params, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, data: Any = None) -> Any:
        """Tell the admin API."""
        answer = requests.post(f"{self.url}/_sim/{path}", json={} if data is None else data, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def script(self, node: str, phase: str, behaviour: str, **more: Any) -> None:
        """Say what shall become of a node."""
        self.post("scripts", {"node": node, "phase": phase, "behaviour": behaviour, **more})

    def release_stuck(self) -> None:
        """Let stuck nodes go on; a task that has not come to its stuck node yet is waited for."""
        wait_until(lambda: self.post("release")["released"], "something is stuck")

    def fault(self, method: str, path: str, kind: str, **more: Any) -> None:
        """Say what shall become of a request, by its path below the API."""
        self.post("faults", {"method": method, "path": f"{self.api}/{path}", "kind": kind, **more})

    def posts_of_tasks(self) -> int:
        """Return how many submissions were seen, whether or not they took effect."""
        return len([one for one in self.get("journal", method="POST") if one["path"] == "/api/v1.0/tasks"])

    def looks(self) -> int:
        """Return how often the list of all tasks was asked for."""
        return len([one for one in self.get("journal", method="GET") if one["path"] == "/api/v1.0/tasks"])

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


class Simulator(SimulatorProcess):
    """A simulator that runs, and keeps its state in a directory."""

    def __init__(self, directory: Path, *options: str, speed: float = 2000) -> None:
        self.state = directory / "simulator.db"
        super().__init__("--state", str(self.state), "--speed", str(speed), *options)
        self.start()

    def read(self, design: str, *deployed: str) -> None:
        """Read a design, as a validation has it do, and have nodes of it deployed."""
        # It keeps what it has read by its address.
        file = self.state.with_name(f"{hash(design)}.yaml")
        file.write_text(design)
        url = f"{self.url}{self.api}/validatedesign"
        requests.post(url, json={"href": file.as_uri()}, timeout=30).raise_for_status()
        for name in deployed:
            self.post(f"nodes/{name}", {"status": "Deployed"})


class MaasProcess(SimulatorProcess):
    """A simulated MAAS; its key is `key`, unless the options say otherwise. In tests it is held."""

    api = "/MAAS/api/2.0"
    key = DEFAULT_KEY

    def __init__(self, *options: str) -> None:
        super().__init__("--provisioner", "maas", *options)

    def variables(self) -> dict[str, str]:
        """Return what has it held against the reference."""
        return holding_variables()


class MaasSimulator(MaasProcess):
    """A simulated MAAS that runs, and keeps its state in a directory."""

    def __init__(self, directory: Path, *options: str, speed: float = 2000) -> None:
        self.state = directory / "maas.db"
        super().__init__("--state", str(self.state), "--speed", str(speed), *options)
        self.start()
