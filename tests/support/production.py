"""Slipway in production as docs/running.md has it: what the document says to set and type, and machines to do it on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from uv import find_uv_bin

from slipway_cli.embedded.processes import kill_sessions
from tests.support.processes import free_port, guarded, tied

_DOCUMENT = Path(__file__).parents[2] / "docs" / "running.md"
_LEFT_OUT = "…"
_COMMENT = re.compile(r"\s+# .*$")


def _section(heading: str) -> str:
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)^##+ ", _DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, f"docs/running.md has no section {heading!r}"
    return found[1]


def lines_of(heading: str, number: int) -> list[str]:
    """Return the lines of a block of code of a section."""
    blocks: list[str] = re.findall(r"^```\n(.*?)^```", _section(heading), re.M | re.S)
    return blocks[number].splitlines()


def typed(heading: str, number: int) -> list[str]:
    """Return the commands of a block of code of a section."""
    return [_COMMENT.sub("", line) for line in lines_of(heading, number)]


def statements(passwords: Sequence[str]) -> list[str]:
    """Return the statements that make the databases, with the passwords of their owners."""
    left = iter(passwords)
    return [
        line.replace(_LEFT_OUT, next(left)) if _LEFT_OUT in line else line for line in lines_of("The first start", 1)
    ]


def variables(made: Callable[[str], str], own: Mapping[str, str], hosts: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a first start, by name.

    Parameters
    ----------
    made : returns what a command prints.
    own : what stands for `…` where no command is given, by the variable's name.
    hosts : addresses, each in place of one of the document.
    """
    rows = [line.split("`")[1] for line in _section("Airflow's settings").splitlines() if line.startswith("| `AIRFLOW")]
    found: dict[str, str] = {}
    command = ""
    for line in (*rows, *lines_of("The first start", 0)):
        if line.startswith("#"):
            command = line.partition("# $ ")[2]
            continue
        name, value = line.split("=", 1)
        if _LEFT_OUT in value:
            value = value.replace(_LEFT_OUT, made(command).strip() if command else own[name])
        for documented, address in hosts.items():
            value = value.replace(documented, address)
        found[name], command = value, ""
    return found


class Machine:
    """A folder with an environment of its own, its variables, and services that run there until they are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "environment" / "bin"
        self.variables: dict[str, str] = {}
        self._stack = ExitStack()
        self._services: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir()
        _uv("venv", "--quiet", "--seed", "--python", sys.executable, str(self.bin.parent))

    def install_as_pip(self) -> str:
        """Return what has a shell take uv for pip, and its cache for the index: that needs a tenth of the time."""
        uv = f"{find_uv_bin()} pip --quiet --cache-dir {_uv('cache', 'dir')}"
        return f'pip() {{ {uv} "$@" --offline || {uv} "$@"; }}'

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes: nothing of them leads to the tests' own."""
        own = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.bin.parent),
            "HOME": str(self.folder),
        }
        return own | {"AIRFLOW_HOME": str(self.folder / "airflow")} | self.variables

    def run(self, command: str, *answers: str, status: int = 0) -> str:
        """Type a command, and lines that it asks for; return what it prints, and where it fails, what is wrong."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
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

    def start(self, command: str, **more: str) -> None:
        """Start a service, with more variables."""
        program, *arguments = command.split()
        with self._log(command).open("wb") as log:
            process = subprocess.Popen(
                tied(str(self.bin / program), *arguments),
                cwd=self.folder,
                env=self.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._services[command] = process
        self._stack.enter_context(guarded(process.pid))

    def _log(self, command: str) -> Path:
        return self.folder / f"{command.replace(' ', '-')}.log"

    def all_run(self) -> bool:
        """Return True; a service that has ended fails the test, with the end of its log."""
        for command, process in self._services.items():
            assert process.poll() is None, f"{command}: {process.returncode}\n{self._log(command).read_text()[-3000:]}"
        return True

    def kill(self) -> None:
        """End all services, with what they have started."""
        left = kill_sessions([process.pid for process in self._services.values()])
        for process in self._services.values():
            process.wait(timeout=20)
        self._services.clear()
        self._stack.close()
        assert left == []


@contextmanager
def machines(folder: Path, *names: str) -> Iterator[list[Machine]]:
    """Make machines, whose services end with the context."""
    with ExitStack() as stack:
        made = [Machine(folder / name) for name in names]
        for machine in made:
            stack.callback(machine.kill)
        yield made


@contextmanager
def redis_server(folder: Path, password: str) -> Iterator[str]:
    """Run a Redis that keeps nothing; yield its host and port."""
    port = free_port()
    options = [
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--requirepass",
        password,
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(tied("redis-server", *options), stdout=log, stderr=log)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(timeout=20)


def _uv(*arguments: str) -> str:
    done = subprocess.run([find_uv_bin(), *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
