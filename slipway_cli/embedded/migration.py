"""Brings both databases up to date: Airflow's when its version has changed, the store's always (it is quick)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from site_store.sql.address import URL_FILE
from slipway_cli.embedded.component import SetupStep
from slipway_cli.embedded.credentials import write_private
from slipway_cli.embedded.launcher import tied_command
from slipway_cli.embedded.postgres_cluster import STORE, PostgresCluster
from slipway_cli.embedded.settings import EmbeddedSettings


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


BACKUP = "slipway.db.before-postgresql"


class StoreMove:
    """What is to be done about the store at a start; if that is killed meanwhile, the next one does it."""

    def __init__(self, settings: EmbeddedSettings, cluster: PostgresCluster, environment: Mapping[str, str]) -> None:
        self.file = settings.home / "slipway.db"
        self._settings = settings
        self._cluster = cluster
        self._environment = environment

    def is_due(self) -> bool:
        """Whether there is a file to move; where the user names a database, theirs is left alone."""
        return self._settings.database_url is None and self.file.exists()

    def begin(self) -> SetupStep:
        """Begin the copy, or bring the store up to date where there is nothing to copy."""
        what, command = "preparing Slipway's store", ["upgrade"]
        if self.is_due():
            what, command = f"copying the store from {self.file}", ["copy", str(self.file)]
        settings = self._settings
        return SetupStep(
            f"{what} (python -m site_store {command[0]})",
            tied_command("site_store", *command),
            self._environment,
            settings.logs / "store.log",
            settings.home,
        )

    def finish(self) -> list[str]:
        """Keep the file that was copied as a backup, and say where the store is.

        Returns
        -------
        What was done, in sentences.
        """
        url_file = self._settings.home / URL_FILE
        if self._settings.database_url is not None:
            url_file.unlink(missing_ok=True)
            return []
        write_private(url_file, self._cluster.url(STORE))
        if not self.is_due():
            return []
        backup = self._backup_name()
        self.file.rename(backup)
        for ending in ("-wal", "-shm"):
            rest = self.file.with_name(self.file.name + ending)
            if rest.exists():
                rest.rename(backup.with_name(backup.name + ending))
        return [
            f"the store is in PostgreSQL now; {backup.name} is a backup of what it was, and is not used any more",
            "what was in Airflow's own database is not copied: enter its connections again (Admin, Connections)",
        ]

    def _backup_name(self) -> Path:
        backup, number = self.file.with_name(BACKUP), 1
        while backup.exists():
            number += 1
            backup = self.file.with_name(f"{BACKUP}-{number}")
        return backup
