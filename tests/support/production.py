"""Slipway in production as docs/production.md and `deploy/` have it: what is typed, and machines to do it on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from uv import find_uv_bin

from slipway_cli.embedded.environment_file import AIRFLOW_HOME
from tests.support.units import Init, Service, Unit, read_unit

_DOCUMENT = Path(__file__).parents[2] / "docs" / "production.md"
_LEFT_OUT = "…"
_COMMENT = re.compile(r"\s+# .*$")
_OPT, ETC = "/opt/slipway", "/etc/slipway"


def _section(heading: str) -> str:
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)^##+ ", _DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, f"docs/production.md has no section {heading!r}"
    return found[1]


def lines_of(heading: str, number: int) -> list[str]:
    """Return the lines of a block of code of a section."""
    blocks: list[str] = re.findall(r"^```\n(.*?)^```", _section(heading), re.M | re.S)
    return blocks[number].splitlines()


def typed(heading: str, number: int) -> list[str]:
    """Return the commands of a block of code of a section."""
    return [_COMMENT.sub("", line) for line in lines_of(heading, number)]


SETTINGS, _PREPARED, DATABASES, START = 0, 1, 2, 3
"""The blocks of "The first start"."""


def statements(passwords: Sequence[str]) -> list[str]:
    """Return the statements that make the databases, with the passwords of their owners."""
    left, lines = iter(passwords), lines_of("The first start", DATABASES)
    return [line.replace(_LEFT_OUT, next(left)) if _LEFT_OUT in line else line for line in lines]


class Machine:
    """A folder with an environment, variables and units of its own: what is below / on a machine is below it."""

    def __init__(
        self,
        folder: Path,
        init: Init,
        environment: Path | None = None,
        inside: Callable[[Sequence[str]], list[str]] = list,
    ) -> None:
        """Make the folder.

        Parameters
        ----------
        init : what carries its units out.
        environment : one that is there already; else it gets a new one.
        inside : returns how to run a command on this machine.
        """
        self.folder, self._init, self._inside = folder, init, inside
        self.environment = environment or folder / "environment"
        self.bin = self.environment / "bin"
        self.services: dict[str, Service] = {}
        (folder / "etc").mkdir(parents=True)
        if environment is None:
            _uv("venv", "--quiet", "--seed", "--python", sys.executable, str(self.environment))

    def install_as_pip(self) -> str:
        """Return what has a shell take uv for pip, and its cache for the index: that needs a tenth of the time."""
        uv = f"{find_uv_bin()} pip --quiet --cache-dir {_uv('cache', 'dir')}"
        return f'pip() {{ {uv} "$@" --offline || {uv} "$@"; }}'

    def place(self, text: str) -> str:
        """Return a text with the paths that things have here."""
        for documented, here in ((_OPT, self.environment), (ETC, self.folder / "etc"), (AIRFLOW_HOME, self.state)):
            text = text.replace(documented, str(here))
        return text

    @property
    def state(self) -> Path:
        """Airflow's home."""
        return self.folder / "state"

    def configure(self, variables: str, more: Mapping[str, str]) -> None:
        """Write the file of variables, as another machine made it, with some more in the end."""
        text = self.place(variables) + "".join(f"{name}={value}\n" for name, value in more.items())
        (self.folder / "etc" / "slipway.env").write_text(text, encoding="utf-8")

    def run(self, command: str, *answers: str, status: int = 0) -> str:
        """Type a command, and lines that it asks for; return what it prints, and where it fails, what is wrong."""
        settings = self.folder / "etc" / "slipway.env"
        told = f"{self.place(typed('The first start', START)[0])}\n" if settings.exists() else ""
        self.state.mkdir(exist_ok=True)
        done = subprocess.run(
            self._inside(["bash", "-c", told + command]),
            cwd=self.folder,
            env={
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "VIRTUAL_ENV": str(self.environment),
                "HOME": str(self.folder),
            },
            input="".join(f"{line}\n" for line in answers),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            # Without a terminal a password is read from the input.
            start_new_session=True,
        )
        assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    def service(self, name: str) -> Service:
        """Return a unit of `deploy/systemd` on this machine, by its name."""
        if name not in self.services:
            credentials = self.folder / "credentials" / name
            self.services[name] = Service(read_unit(name, self.place, credentials), self.folder, self._inside)
        return self.services[name]

    def start(self, name: str) -> Service:
        """Start a unit as `systemctl start` does."""
        self._init.start(service := self.service(name))
        return service

    def all_run(self) -> bool:
        """Return True; a service that has ended fails the test, with the end of its log."""
        for name, service in self.services.items():
            assert service.starts == 1, f"{name} was started again:\n{service.log.read_text()[-3000:]}"
        return True

    def kill(self) -> None:
        """End all services, with what they have started."""
        self._init.end(list(self.services.values()))
        self.services.clear()


@contextmanager
def machines(folder: Path, *names: str) -> Iterator[tuple[Init, list[Machine]]]:
    """Make machines; what runs on them ends with the context."""
    with Init(folder).running() as init:
        yield init, [Machine(folder / name, init) for name in names]


def redis_unit(folder: Path, password: str, host: str, port: int) -> Unit:
    """Return what runs a Redis that keeps nothing."""
    options = ["--bind", host, "--port", str(port), "--requirepass", password, "--save", "", "--dir", str(folder)]
    program = shutil.which("redis-server")
    assert program is not None
    return Unit("redis", (program, *options))


def _uv(*arguments: str) -> str:
    done = subprocess.run([find_uv_bin(), *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
