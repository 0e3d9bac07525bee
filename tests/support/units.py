"""Units of systemd, as `deploy/` has them, and what carries them out as systemd does: starts them, again and again."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from slipway_cli.embedded.processes import MARK, kill_found, kill_sessions, marked, tied_program

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
_AT_ONCE: Final = 1.0
"""Seconds for a process to be gone after SIGKILL."""
_TICK: Final = 0.05
_LEFT_TO_SYSTEMD: Final = {
    # Whose the processes are, and what they see of the machine: all of it is the tests' own here.
    *("User", "StateDirectory", "InaccessiblePaths", "NoNewPrivileges", "PrivateTmp", "ProtectHome", "ProtectSystem"),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A service, as its unit has it.

    Attributes
    ----------
    name : without `.service`.
    command : with its arguments.
    environment : name to value.
    files : with more variables, which win.
    unset : variables that are taken away in the end.
    credentials : name to the file that it is read from.
    folder : where it works; None: anywhere.
    again_after : seconds after which it is started again.
    stop_within : seconds after SIGTERM until it is killed.
    user : user id and group id to run it as; None: as the tests.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    unset: tuple[str, ...] = ()
    credentials: Mapping[str, Path] = field(default_factory=dict)
    folder: Path | None = None
    again_after: float = 5.0
    stop_within: float = 30.0
    user: tuple[int, int] | None = None


def read_unit(name: str, place: Callable[[str], str], credentials: Path) -> Unit:
    """Read a unit of `deploy/systemd`; what is not understood here fails the test.

    Parameters
    ----------
    place : returns where something is, for a text with the paths of the unit.
    credentials : the folder that a unit calls `%d`.
    """
    said: dict[str, list[str]] = {}
    section = ""
    for line in (DEPLOY / "systemd" / f"{name}.service").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line and not line.startswith("#"):
            key, _, value = line.partition("=")
            said.setdefault(key, []).append(place(value.replace("%d", str(credentials))))
    for key in _LEFT_TO_SYSTEMD:
        said.pop(key, None)
    assert (said.pop("Restart"), said.pop("KillMode")) == (["always"], ["mixed"]), name
    loaded = (one.split(":", 1) for one in said.pop("LoadCredential", []))
    environment = (one.partition("=") for line in said.pop("Environment", []) for one in shlex.split(line))
    unit = Unit(
        name,
        tuple(shlex.split(said.pop("ExecStart")[0])),
        {key: value for key, _, value in environment},
        tuple(map(Path, said.pop("EnvironmentFile", []))),
        tuple(one for line in said.pop("UnsetEnvironment", []) for one in line.split()),
        {key: Path(value) for key, value in loaded},
        Path(said.pop("WorkingDirectory")[0]),
        float(said.pop("RestartSec")[0]),
        float(said.pop("TimeoutStopSec")[0]),
    )
    assert said == {}, f"{name}: nobody here knows what these mean"
    return unit


def variables_of(file: Path) -> dict[str, str]:
    """Return the variables of a file as systemd reads it."""
    lines = (line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    parts = (line.partition("=") for line in lines)
    return {name: "".join(shlex.split(value)) for name, _, value in parts}


class Service:
    """A unit that runs on a host. What it is told it does in the thread of `Init`."""

    def __init__(self, unit: Unit, own: Path, inside: Callable[[Sequence[str]], list[str]] = list) -> None:
        """Nothing is started.

        Parameters
        ----------
        own : folder for its log and its credentials.
        inside : returns how to run a command on its host.
        """
        self.unit, self.log = unit, own / f"{unit.name}.log"
        self.credentials, self._inside = own / "credentials" / unit.name, inside
        self.process: subprocess.Popen[bytes] | None = None
        self.wanted, self.again_at, self.starts = False, 0.0, 0
        self.more: dict[str, str] = {}
        """Variables beside those of the unit, from its next start on."""

    def __repr__(self) -> str:
        return f"{self.log.parent.name}/{self.unit.name}"

    @property
    def pid(self) -> int | None:
        """Its main process; None while it has none."""
        process = self.process
        return process.pid if process is not None and process.poll() is None else None

    def environment(self, mark: Path) -> dict[str, str]:
        """Return its variables: nothing of them leads to the tests' own."""
        found = {"HOME": str(self.unit.folder or "/"), "LANG": "C.UTF-8", **self.unit.environment}
        for file in self.unit.files:
            found |= variables_of(file)
        found |= {MARK: str(mark), "PYTHONUNBUFFERED": "1"} | self.more
        return {name: value for name, value in found.items() if name not in self.unit.unset}

    def spawn(self, mark: Path) -> None:
        """Start it."""
        self.credentials.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, file in self.unit.credentials.items():
            (self.credentials / name).unlink(missing_ok=True)
            (self.credentials / name).write_bytes(file.read_bytes())
            (self.credentials / name).chmod(0o400)
        if self.unit.folder is not None:
            self.unit.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._inside(tied_program(signal.SIGKILL, self.unit.user, *self.unit.command)),
                cwd=self.unit.folder,
                env=self.environment(mark),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.starts += 1


_GUARD = """
import sys
from pathlib import Path
sys.stdin.read()
from slipway_cli.embedded.processes import kill_found, marked
kill_found(lambda: marked(Path(sys.argv[1])))
"""


class Init:
    """Carries services out, each as its unit says. Its thread is the parent of all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._services = folder, list[Service]()
        self._ended, self._lock = threading.Event(), threading.RLock()
        self._thread = threading.Thread(target=self._run, name="init", daemon=True)

    @contextmanager
    def running(self) -> Iterator[Init]:
        """End all services with the context, also when this process dies in it."""
        # The guard's input ends with this process.
        command = [sys.executable, "-c", _GUARD, str(self._folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=DEPLOY.parent, start_new_session=True) as guard:
            self._thread.start()
            try:
                yield self
            finally:
                self.end(self._services)
                self._ended.set()
                self._thread.join()
                guard.kill()

    def start(self, *services: Service) -> None:
        """Have services run from now on; returns once each has got a process."""
        with self._lock:
            due = {service: service.starts + (service.pid is None) for service in services}
            for service in services:
                service.wanted, service.again_at = True, 0.0
                if service not in self._services:
                    self._services.append(service)
        while any(service.starts < number for service, number in due.items()):
            assert self._thread.is_alive(), "nothing is started any more"
            time.sleep(_TICK)

    def stop(self, *services: Service) -> None:
        """Stop services as `systemctl stop` does: what is left of one after its time is killed."""
        with self._lock:
            for service in services:
                service.wanted = False
                if service.process is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(service.process.pid, signal.SIGTERM)
        for service in services:
            end = time.monotonic() + service.unit.stop_within
            while service.pid and time.monotonic() < end:
                time.sleep(_TICK)
        self.end(services)

    def end(self, services: Sequence[Service]) -> None:
        """Kill services with all that they have started; they stay away."""
        with self._lock:
            for service in services:
                service.wanted = False
                self._bury(service)
        if services is self._services:
            assert kill_found(lambda: marked(self._folder)) == []

    def ended_by_itself(self) -> list[str]:
        """Return which services were started more than once."""
        return [f"{one} ({one.starts})" for one in self._services if one.starts > 1]

    def _bury(self, service: Service) -> None:
        """Kill what is left of a service."""
        if service.process is not None:
            kill_sessions([service.process.pid], _AT_ONCE)
            service.process.wait()
            service.process = None

    def _run(self) -> None:
        while not self._ended.wait(_TICK):
            with self._lock:
                for service in self._services:
                    if service.process is not None and service.process.poll() is not None:
                        self._bury(service)
                        service.again_at = time.monotonic() + service.unit.again_after
                    if service.wanted and service.process is None and time.monotonic() >= service.again_at:
                        service.spawn(self._folder)
