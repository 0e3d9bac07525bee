"""Brings both databases up to date: Airflow's when its version has changed, the store's always (it is quick)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from provisioner_client.private_files import write_private
from site_store.sql.address import URL_FILE
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import SetupStep
from slipway_cli.embedded.postgres import STORE, PostgresCluster
from slipway_cli.embedded.processes import tied_command
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
    return SetupStep(
        "preparing Slipway's store (python -m site_store upgrade)",
        tied_command("site_store", "upgrade"),
        environment,
        settings.logs / "store.log",
        settings.home,
    )


def note_store(settings: EmbeddedSettings, cluster: PostgresCluster) -> None:
    """Write down in the home where its store is, for the commands that are given the home alone."""
    url_file = settings.home / URL_FILE
    if settings.database_url is not None:
        url_file.unlink(missing_ok=True)
    else:
        write_private(url_file, cluster.url(STORE))
