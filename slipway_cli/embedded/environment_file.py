"""`slipway environment`: the file of variables that every process of a site in production is started with.

Its settings of Airflow are those that `slipway up` sets for its own, and those that count with Celery; its secrets are
made in the same way. `deploy/slipway.env` is what it prints without secrets.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from slipway_cli.embedded.environment import as_variables, new_secrets
from slipway_cli.embedded.settings import default_dags_folder
from slipway_cli.options import examples
from strategy_lib.airflow_settings import CELERY, values_to_use
from strategy_lib.settings import SLIPWAY_DATABASE_URL, SLIPWAY_URL

LEFT_OUT: Final = "…"
"""Stands for a secret that is not told."""
AIRFLOW_HOME: Final = "/var/lib/slipway"
"""Where Airflow's processes keep their own files, such as logs of tasks, on each machine."""
_DAGS: Final = "/opt/slipway/lib/python3.11/site-packages/slipway_dags"
_SLOTS: Final = "8"
_FAB: Final = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the parts of a site in production are.

    Attributes
    ----------
    database : host of PostgreSQL, with a port where it is not 5432.
    broker : host of Redis, with a port where it is not 6379.
    url : internal address of the API servers.
    public_url : the address that people use.
    """

    database: str
    broker: str
    url: str
    public_url: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """What nobody else may know: the keys of Airflow, and the passwords of the databases' owners and of Redis."""

    jwt_secret: str = LEFT_OUT
    api_secret_key: str = LEFT_OUT
    fernet_key: str = LEFT_OUT
    airflow: str = LEFT_OUT
    slipway: str = LEFT_OUT
    redis: str = LEFT_OUT

    @classmethod
    def new(cls) -> Secrets:
        """Make all of them. None has a character that would have to be written otherwise in an address."""
        return cls(**new_secrets(), **{name: secrets.token_urlsafe(24) for name in ("airflow", "slipway", "redis")})


def environment_lines(at: Addresses, known: Secrets, dags: str) -> Iterator[str]:
    """Yield the lines of the file, for systemd and for a shell alike; `dags`: the folder of the DAGs."""
    yield "# Slipway in production: what each of its processes is told, on every machine. See docs/production.md."
    yield "# `slipway environment` makes it once, with secrets; every machine gets a copy."
    yield ""
    yield "# Where things are. SLIPWAY_URL: the internal address of the API servers. BASE_URL: that of people."
    database = f"{known.airflow}@{at.database}/airflow"
    yield from _assigned(
        {
            "AIRFLOW_HOME": AIRFLOW_HOME,
            SLIPWAY_URL.name: at.url,
            SLIPWAY_DATABASE_URL.name: f"postgresql://slipway:{known.slipway}@{at.database}/slipway",
        }
        | as_variables(
            {
                "DATABASE": {"SQL_ALCHEMY_CONN": f"postgresql+psycopg2://airflow:{database}"},
                "CELERY": {
                    "BROKER_URL": f"redis://:{known.redis}@{at.broker}/0",
                    "RESULT_BACKEND": f"db+postgresql://airflow:{database}",
                },
                "API": {"BASE_URL": at.public_url},
                "CORE": {"EXECUTION_API_SERVER_URL": f"{at.url}/execution/", "DAGS_FOLDER": dags},
            }
        )
    )
    yield ""
    yield "# Keys of Airflow: the same on every machine, and kept with the backups."
    yield from _assigned(
        as_variables(
            {
                "CORE": {"FERNET_KEY": known.fernet_key},
                "API": {"SECRET_KEY": known.api_secret_key},
                "API_AUTH": {"JWT_SECRET": known.jwt_secret},
            }
        )
    )
    yield ""
    yield "# Tasks at once on a machine of workers: each takes up to 100 MB of its memory."
    yield from _assigned(as_variables({"CELERY": {"WORKER_CONCURRENCY": _SLOTS}}))
    yield ""
    yield "# What Slipway needs of Airflow, and does not get by Airflow's defaults. The reasons: docs/production.md."
    yield from _assigned(as_variables({"CORE": {"EXECUTOR": CELERY, "AUTH_MANAGER": _FAB}}))
    yield from _assigned(as_variables(values_to_use(celery=True)))


def _assigned(variables: dict[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        yield f"{name}={value if LEFT_OUT in value else shlex.quote(value)}"


@click.command(
    "environment",
    epilog=examples("slipway environment --database db.example --broker redis.example > slipway.env"),
)
@click.option("--database", default="db.example", show_default=True, help="PostgreSQL: HOST or HOST:PORT.")
@click.option("--broker", default="redis.example", show_default=True, help="Redis: HOST or HOST:PORT.")
@click.option(
    "--url", default="http://airflow.internal:8080", show_default=True, help="Internal address of the API servers."
)
@click.option("--public-url", default="https://airflow.example", show_default=True, help="The address people use.")
@click.option(
    "--without-secrets", is_flag=True, help="Print the form alone: what is secret, and this machine, left out."
)
def environment(without_secrets: bool, **addresses: str) -> None:
    """Print the file of variables for all processes of a site in production, with new secrets.

    Make it once, and copy it to every machine: /etc/slipway/slipway.env, which the units of systemd in deploy/ read.
    Where databases and Redis exist already, put their passwords into it. Nothing is changed by this command.
    """
    known, dags = (Secrets(), _DAGS) if without_secrets else (Secrets.new(), str(default_dags_folder()))
    for line in environment_lines(Addresses(**addresses), known, dags):
        click.echo(line)
