"""Bringing both databases up to date: Airflow's when its version has changed, the store's always (it is quick)."""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Mapping
from pathlib import Path

from slipway_cli.embedded.component import tied_command
from slipway_cli.embedded.errors import StepFailed
from slipway_cli.embedded.logfiles import open_log, tail


class Migration:
    """A migration that runs as a process of its own."""

    def __init__(self, what: str, command: list[str], environment: Mapping[str, str], log: Path, home: Path) -> None:
        self._what = what
        self._log = log
        self._start = log.stat().st_size if log.exists() else 0
        with open_log(log) as out:
            self._process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=home,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process (and session) of the migration."""
        return self._process.pid

    def is_over(self) -> bool:
        """Whether it has succeeded.

        Raises
        ------
        StepFailed
            It has failed; the message has the end of its log.
        """
        status = self._process.poll()
        if status:
            raise StepFailed(self._what, self._log, tail(self._log, start=self._start))
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
    stamp.write_text(_version(), encoding="utf-8")


def _version() -> str:
    return importlib.metadata.version("apache-airflow-core")


def migrate_airflow(environment: Mapping[str, str], logs: Path, home: Path) -> Migration:
    """Begin `airflow db migrate`, which also creates the database."""
    command = tied_command("airflow", "db", "migrate")
    return Migration(
        "preparing Airflow's database (airflow db migrate)", command, environment, logs / "migrate.log", home
    )


def copy_store(file: Path, environment: Mapping[str, str], logs: Path, home: Path) -> Migration:
    """Begin copying a store from its SQLite file, which stays as it is, into the one that is used from now on."""
    command = tied_command("site_store", "copy", str(file))
    return Migration(
        f"copying the store from {file} (python -m site_store copy)", command, environment, logs / "store.log", home
    )


def migrate_store(environment: Mapping[str, str], logs: Path, home: Path) -> Migration:
    """Begin bringing Slipway's own store up to date."""
    command = tied_command("site_store", "upgrade")
    return Migration(
        "preparing Slipway's store (python -m site_store upgrade)", command, environment, logs / "store.log", home
    )
