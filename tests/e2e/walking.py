"""A person at two terminals, who does what the README says."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slipway_cli.embedded.home import Runtime, read_runtime
from tests.e2e.running import HANGS, leftovers, wait_until
from tests.support.processes import guarded

ROOT = Path(__file__).parents[2]
HEADING = "## From `make up` to a deployed site"
SLIPWAY = ".venv/bin/slipway"
"""How the README's reader calls it."""


def walk() -> tuple[str, list[str]]:
    """What the README has one type: the command that goes on running, and those typed beside it."""
    section = (ROOT / "README.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    first, second = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    commands = [line.partition(" #")[0].strip() for line in second.splitlines()]
    return first.strip(), [command for command in commands if command]


@dataclass
class Walker:
    """A person at two terminals. Only folders, port and address differ from what the README's reader has."""

    environ: dict[str, str]
    runtime: Runtime
    folder: Path
    slipway: str

    def types(self, command: str, answer: str = "") -> str:
        """Run a command of the README, and return what it prints; `answer` is typed into it."""
        done = subprocess.run(
            [self.slipway if word == SLIPWAY else word for word in shlex.split(command)],
            cwd=self.folder,
            env=self.environ,
            input=answer,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def walks(self, commands: Sequence[str]) -> dict[str, str]:
        """Type the README's commands one after the other; return what each has printed."""
        password = self.runtime.password("admin")
        return {command: self.types(command, f"{password}\n" if " login" in command else "") for command in commands}


def own_environment(home: Path, config: Path) -> dict[str, str]:
    """Return a new user's environment, without the test run's settings, terminal width and make variables."""
    others = ("SLIPWAY_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS", "COLUMNS", "LINES")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return environ | {"SLIPWAY_HOME": str(home), "SLIPWAY_PORT": "0", "XDG_CONFIG_HOME": str(config)}


def beside(runtime: Runtime, home: Path, folder: Path, site: str) -> Walker:
    """Return a new user of a running Slipway, who is logged in as admin and speaks of this site."""
    environ = own_environment(home, folder / "config") | {"SLIPWAY_URL": runtime.url, "SLIPWAY_SITE": site}
    walker = Walker(environ, runtime, folder, str(ROOT / SLIPWAY))
    walker.types(f"{SLIPWAY} login --user admin", runtime.password("admin") + "\n")
    return walker


@contextmanager
def two_terminals(
    work: Path,
    first: Sequence[str],
    folder: Path = ROOT,
    slipway: str = SLIPWAY,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Walker]:
    """Start the first command of the walk in `folder`; at the end it is stopped with Ctrl-C and leaves nothing behind.

    Parameters
    ----------
    work
        Where its home and its log are.
    slipway
        What is run where the README says `.venv/bin/slipway`.
    variables
        Further environment variables.
    """
    home, log = work / "home", work / "up.log"
    environ = own_environment(home, work / "config") | dict(variables or {})
    with log.open("w") as out:
        up = subprocess.Popen(first, cwd=folder, env=environ, stdout=out, stderr=out, start_new_session=True)
    with guarded(up.pid):
        try:

            def ready() -> bool:
                assert up.poll() is None, log.read_text()
                runtime = read_runtime(home)
                return runtime is not None and runtime.state == "ready"

            wait_until(ready, "ready")
            runtime = read_runtime(home)
            assert runtime is not None
            wait_until(lambda: "stop with Ctrl-C" in log.read_text(), "the welcome")
            yield Walker(environ | {"SLIPWAY_URL": runtime.url}, runtime, folder, slipway)
            os.killpg(up.pid, signal.SIGINT)
            assert up.wait(HANGS) in (-signal.SIGINT, 0, 2, 130), log.read_text()
            assert "\nstopped\n" in log.read_text()
            assert leftovers(home, ()) == []
        finally:
            for pid in leftovers(home, ()):
                os.kill(pid, signal.SIGKILL)
