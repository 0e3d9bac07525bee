"""What an embedded Airflow is to be like: its home, port, folders and time limits; and the ports of this machine."""

from __future__ import annotations

import errno
import importlib.util
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slipway_cli import SlipwayCliError
from strategy_lib.settings import (
    SLIPWAY_DAGS_FOLDER,
    SLIPWAY_DATABASE_URL,
    SLIPWAY_HOME,
    SLIPWAY_PLUGINS_FOLDER,
    SLIPWAY_PORT,
)

OVERRIDE_PREFIX = "SLIPWAY_AIRFLOW__"
START_TIMEOUT = 300.0
"""Seconds until all four components must be healthy."""
STOP_GRACE = 4.0
"""Seconds a component gets to stop by itself."""
LOOPBACK = "127.0.0.1"
"""Where all that is embedded listens, and nowhere else."""


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def default_dags_folder() -> Path:
    """The folder of the installed package `slipway_dags`. Raises `SlipwayCliError`: the package is not installed."""
    folder = _package_folder("slipway_dags")
    if folder is None:
        raise SlipwayCliError("the package slipway_dags is not installed; install Slipway anew, from its wheel")
    return folder


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """All that makes one embedded Airflow differ from another.

    Attributes
    ----------
    home : absolute folder (SLIPWAY_HOME) that holds everything: databases, logs, passwords, lock.
    port : port of Airflow's API server on loopback (SLIPWAY_PORT); 0 means any free one.
    dags_folder : SLIPWAY_DAGS_FOLDER, by default the installed package's own.
    plugins_folder : SLIPWAY_PLUGINS_FOLDER, for plugins besides Slipway's own, which comes by its entry point.
    database_url : Slipway's own store (SLIPWAY_DATABASE_URL); None: a database of the embedded PostgreSQL.
    overrides : further Airflow settings, `AIRFLOW__SECTION__KEY` -> value (environment: SLIPWAY_AIRFLOW__SECTION__KEY).
    """

    home: Path
    port: int
    dags_folder: Path
    plugins_folder: Path | None
    database_url: str | None
    overrides: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(
        cls, home: Path | None = None, port: int | None = None, environ: Mapping[str, str] | None = None
    ) -> EmbeddedSettings:
        """Read the settings from SLIPWAY_* variables; arguments win over them.

        Raises `SettingError`: a variable has an impossible value.
        """
        env = os.environ if environ is None else environ
        plugins = SLIPWAY_PLUGINS_FOLDER.read(env)
        return cls(
            home=(home or SLIPWAY_HOME.read(env)).expanduser().resolve(),
            port=SLIPWAY_PORT.read(env) if port is None else port,
            dags_folder=(SLIPWAY_DAGS_FOLDER.read(env) or default_dags_folder()).resolve(),
            plugins_folder=plugins and plugins.resolve(),
            database_url=SLIPWAY_DATABASE_URL.read(env) or None,
            overrides={
                "AIRFLOW__" + name.removeprefix(OVERRIDE_PREFIX): value
                for name, value in env.items()
                if name.startswith(OVERRIDE_PREFIX)
            },
        )

    def to_environment(self) -> dict[str, str]:
        """The SLIPWAY_* variables from which `from_environment` makes equal settings."""
        result = {
            SLIPWAY_HOME.name: str(self.home),
            SLIPWAY_PORT.name: str(self.port),
            SLIPWAY_DAGS_FOLDER.name: str(self.dags_folder),
        }
        if self.database_url is not None:
            result[SLIPWAY_DATABASE_URL.name] = self.database_url
        if self.plugins_folder is not None:
            result[SLIPWAY_PLUGINS_FOLDER.name] = str(self.plugins_folder)
        for name, value in self.overrides.items():
            result["SLIPWAY_" + name] = value
        return result

    @property
    def airflow_home(self) -> Path:
        return self.home / "airflow"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def passwords_file(self) -> Path:
        """Passwords of the users, readable by the owner only."""
        return self.home / "passwords.json"


def claim_port(port: int, purpose: str, variable: str) -> int:
    """Make sure that the port is free; 0 finds a free one.

    Raises `SlipwayCliError`: something listens there, or the port is not for ordinary users.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise SlipwayCliError(
                    f"port {port} ({purpose}, {variable}) is in use; stop what listens there or set {variable}"
                ) from None
            raise
        return int(probe.getsockname()[1])


def loopback() -> str:
    """Return the host name of every component, for Airflow's `[core] hostname_callable`: all of them run here."""
    return "localhost"
