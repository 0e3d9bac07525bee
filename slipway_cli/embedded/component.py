"""One process with its log: a component that is started again when it ends, or a step of the set-up that ends.

The steps bring both databases up to date: Airflow's when its version has changed, the store's always (it is quick).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from provisioner_client.private_files import PRIVATE_UMASK, open_private, write_private
from site_store.sql.address import URL_FILE
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.processes import AFTER, PRELOAD, kill_sessions, tied_command
from slipway_cli.embedded.settings import EmbeddedSettings

_TURN_OVER = 20 * 1024 * 1024


def open_log(path: Path) -> BinaryIO:
    """Open for appending; a log of more than 20 MiB becomes `<name>.1` first."""
    if path.exists() and path.stat().st_size > _TURN_OVER:
        path.replace(path.with_name(path.name + ".1"))
    return open_private(path)


def tail(path: Path, lines: int = 15, start: int = 0) -> str:
    """Return the last lines of what was written from offset `start` on, indented by two blanks."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(start if start <= size else 0, size - 64 * 1024))
            text = log.read().decode(errors="replace")
    except OSError:
        return "  (no log)"
    last = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("  " + line for line in last) or "  (nothing was logged)"


def failed_with_log(said: str, log: Path, start: int = 0) -> SlipwayCliError:
    """Return the error of a process that failed, with the end of its log from an offset on."""
    return SlipwayCliError(f"{said}; its log {log} ends:\n{tail(log, start=start)}")


def spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; what it prints is appended to the log. What it makes is private."""
    with open_log(log) as out:
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )


def end_process(process: subprocess.Popen[bytes], grace: float) -> None:
    """Ask a process to end, and kill it after so many seconds."""
    process.terminate()
    try:
        process.wait(timeout=grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


COMPONENTS: Mapping[str, tuple[str, ...]] = {
    # In the order of starting: the slowest first.
    "api-server": ("api-server",),
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}

CONTROLLER = "controller"
"""The component that is Slipway's own."""

_TASK = "airflow.sdk.execution_time.supervisor,airflow.sdk.execution_time.task_runner,slipway_airflow.site_dag"
PRELOADED: Mapping[str, str] = {
    "api-server": "airflow.api_fastapi.app",
    "scheduler": _TASK,
    "dag-processor": _TASK,
}
"""Modules that a component imports first: the API server while the database is migrated, the others before they fork (a
process for each task, or for each look at a file of DAGs)."""

STEADY_AFTER = 60.0
"""Seconds after which earlier deaths of a component no longer count."""
MOST_DEATHS = 5
"""After this many deaths in a row a component is given up."""
MOST_DEATHS_AT_START = 3
"""The same while it has never been healthy: most likely it cannot start at all."""


def back_off(deaths: int) -> float:
    """Return the seconds to wait before the start after the n-th death in a row: 0.2, 1, 2, 4, 8."""
    return 0.2 if deaths <= 1 else min(8.0, 2.0 ** min(deaths - 2, 3))


def airflow_component(name: str, environment: Mapping[str, str], log: Path, home: Path, after: Path) -> Component:
    """Return one of Airflow's components; it waits until the file `after` exists."""
    environment = dict(environment) | {PRELOAD: PRELOADED.get(name, ""), AFTER: str(after)}
    return Component(name, tied_command("airflow", *COMPONENTS[name]), environment, log, home, f"Airflow's {name}")


class Component:
    """A component's process, in a session of its own. Start it from the main thread: it ends with that thread."""

    stop_signal = signal.SIGTERM
    """What asks it to stop."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path, title: str
    ) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        command : ends when this process does, see `tied_command`.
        folder : its current folder.
        title : the component in words, to begin a sentence with.
        """
        self.name = name
        self.title = title
        self.log = log
        self.deaths = 0
        self._command = list(command)
        self._environment = environment
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._born = 0.0
        self.start_at: float | None = None
        """When to start it again (monotonic seconds), if it is dead."""
        self.log_start = log.stat().st_size if log.exists() else 0

    @property
    def pid(self) -> int | None:
        """The process (and session) of the latest start."""
        return None if self._process is None else self._process.pid

    def start(self) -> int:
        self.start_at = None
        self._process = spawn(self._command, self._environment, self.log, self._folder)
        self._born = time.monotonic()
        return self._process.pid

    def died(self) -> int | None:
        """Return the exit status, once, if the process has ended since the last call; a restart is then due."""
        if self._process is None or self.start_at is not None:
            return None
        status = self._process.poll()
        if status is None:
            return None
        now = time.monotonic()
        self.deaths = 1 if now - self._born > STEADY_AFTER else self.deaths + 1
        self.start_at = now + back_off(self.deaths)
        return status

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask_to_stop(self) -> None:
        """Send the stop signal to the main process alone: a scheduler whose whole process group gets it never ends."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self.stop_signal)

    def kill_rest(self) -> list[int]:
        """Kill all that it has started and that is still there.

        Returns
        -------
        The ids of processes that cannot be killed; normally none.
        """
        left = [] if self.pid is None else kill_sessions({self.pid})
        self.reap()
        return left

    def reap(self) -> None:
        """Wait for the end of a process that was killed."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)


class SetupStep:
    """A process that ends by itself: a migration, or the making of the database."""

    def __init__(self, what: str, command: list[str], environment: Mapping[str, str], log: Path, home: Path) -> None:
        self._what = what
        self._log = log
        self._start = log.stat().st_size if log.exists() else 0
        self._process = spawn(command, environment, log, home)

    @property
    def pid(self) -> int:
        """The process (and session)."""
        return self._process.pid

    def is_over(self) -> bool:
        """Whether it has succeeded. Raises `SlipwayCliError`: it has failed; the message has the end of its log."""
        status = self._process.poll()
        if status:
            raise failed_with_log(f"{self._what} failed", self._log, self._start)
        return status == 0


def airflow_is_current(stamp: Path) -> bool:
    """Whether Airflow's database was made by this very version (asking Airflow itself takes seconds).

    Parameters
    ----------
    stamp : a file beside the database, so that it goes with it.
    """
    try:
        return stamp.read_text(encoding="utf-8") == _version()
    except OSError:
        return False


def stamp_airflow(stamp: Path) -> None:
    """Note that Airflow's database is now of this version."""
    write_private(stamp, _version())


def _version() -> str:
    return importlib.metadata.version("apache-airflow-core")


def migrate_airflow(environment: Mapping[str, str], logs: Path, home: Path) -> SetupStep:
    """Begin `airflow db migrate`, which also creates the database."""
    command = tied_command("airflow", "db", "migrate")
    return SetupStep(
        "preparing Airflow's database (airflow db migrate)", command, environment, logs / "migrate.log", home
    )


_FORMER_STORE = "slipway.db"


def refuse_former_home(settings: EmbeddedSettings) -> None:
    """Refuse (`SlipwayCliError`) a home whose store is a file of SQLite, as builds before the first release made it."""
    file = settings.home / _FORMER_STORE
    if settings.database_url is None and file.exists():
        raise SlipwayCliError(
            f"{file} is the store of a build before Slipway's first release, which this version cannot read: "
            "start with another SLIPWAY_HOME, commit the documents of your sites there, and `slipway adopt` the nodes "
            "that are deployed; without the file, this home begins anew"
        )


def upgrade_store(settings: EmbeddedSettings, environment: Mapping[str, str]) -> SetupStep:
    """Begin to bring the store up to date."""
    # Nothing of this home runs by now; a controller that was killed a moment ago seems to, and actions go on.
    what = "preparing Slipway's store (python -m site_store upgrade)"
    command = tied_command("site_store", "upgrade", "--while-running")
    return SetupStep(what, command, environment, settings.logs / "store.log", settings.home)


def note_store(settings: EmbeddedSettings, url: str) -> None:
    """Write down in the home where its store is, for the commands that are given the home alone.

    Parameters
    ----------
    url : of the store in the home's own PostgreSQL.
    """
    url_file = settings.home / URL_FILE
    if settings.database_url is not None:
        url_file.unlink(missing_ok=True)
    else:
        write_private(url_file, url)
