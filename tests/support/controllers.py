"""Controllers as processes of their own, which a test kills, freezes and cuts off, and what one can see of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import httpx

from tests.support.faulty_way import FaultyWay
from tests.support.processes import tied


class ControllerProcess:
    """One controller, with a way of its own to the database; `start` again after `kill`."""

    def __init__(self, url: str, password: str, store_url: str, lease: float, way: FaultyWay | None = None) -> None:
        self._command = ("-m", "slipway_cli", "controller", "--url", url, "--lease", f"{lease:g}")
        self._account = {"SLIPWAY_SERVICE_USER": "user", "SLIPWAY_SERVICE_PASSWORD": password}
        self._store_url = store_url
        self._process: subprocess.Popen[str] | None = None
        self._reading: threading.Thread | None = None
        self.way = way
        self.lines: list[str] = []
        self.log: list[str] = []
        self.pids: list[int] = []

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it has looked who leads."""
        return any(" leads" in line for line in self.lines)

    def start(self) -> None:
        """Start it; it takes seconds until it is ready."""
        self.lines = lines = []
        self._process = subprocess.Popen(
            tied(sys.executable, *self._command),
            env=os.environ | self._account | {"SLIPWAY_DATABASE_URL": self._store_url},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pids.append(self._process.pid)
        errors = self._process.stderr
        assert errors is not None

        def read() -> None:
            for line in errors:
                lines.append(line)
                self.log.append(line)

        self._reading = threading.Thread(target=read, daemon=True)
        self._reading.start()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            assert self._process.stderr is not None
            if self._reading is not None:
                self._reading.join(60)
            self._process.stderr.close()
            self._process = None


class LingeringReader:
    """Takes every version of a site's view as it is published, and brings its own copy up to date with it."""

    def __init__(self, url: str, headers: dict[str, str], site: str) -> None:
        self._client = httpx.Client(base_url=f"{url}/slipway/api/v1.0", headers=headers, timeout=90)
        self._path = f"/sites/{site}/state"
        self._over = False
        self._thread = threading.Thread(target=self._read)
        self.versions: list[tuple[int, int]] = []
        self.nodes: dict[str, Any] = {}
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more, once what was asked is answered."""
        self._over = True
        self._thread.join(60)
        self._client.close()

    def _read(self) -> None:
        try:
            while not self._over:
                self._ask()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.failure = error

    def _ask(self) -> None:
        known: dict[str, str | float] = {}
        if self.versions:
            known = {"since": "{}.{}".format(*self.versions[-1]), "wait": 5}
        answer = self._client.get(self._path, params=known)
        if answer.status_code == 204:
            return
        if answer.status_code == 503 or (answer.status_code == 404 and not self.versions):
            # Nobody has published yet, or the store is not to be had at the moment: ask again.
            time.sleep(0.1)
            return
        body = answer.raise_for_status().json()
        if "since" not in body:
            self.nodes = {}
        self.versions.append((body["epoch"], body["version"]))
        for name, node in body["nodes"].items():
            self.nodes[name] = node
            if node is None:
                del self.nodes[name]


class Overrides:
    """Sets states of nodes, one after the other, as administrators do all the time; knows what was acknowledged."""

    def __init__(self, url: str, headers: dict[str, str], site: str, nodes: list[str]) -> None:
        self._client = httpx.Client(base_url=f"{url}/slipway/api/v1.0/sites/{site}", headers=headers, timeout=90)
        self._nodes = nodes
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._set)
        self.acknowledged: dict[str, str] = {}
        self.count = 0
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin to set."""
        self._thread.start()

    def stop(self) -> None:
        """Set no more."""
        self._over.set()
        self._thread.join(60)
        self._client.close()

    def _set(self) -> None:
        words = ("retired", "maintenance", "down", "up")
        try:
            while not self._over.wait(0.3):
                name, word = self._nodes[self.count % len(self._nodes)], words[(self.count * 7 // 5) % len(words)]
                body = {"user": {"state": word, "reason": f"{self.count}"}, "condition": "force", "wait": False}
                answer = self._client.put(f"/nodes/{name}/state", json=body)
                if answer.status_code == 503:
                    # Nothing was written: it says to try again.
                    continue
                assert answer.status_code in (200, 202), answer.text
                assert answer.json()["modified"], answer.text
                self.acknowledged[name] = word
                self.count += 1
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.failure = error
