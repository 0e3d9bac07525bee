"""`slipway up`: Slipway with its embedded Airflow in the foreground, until Ctrl-C."""

from __future__ import annotations

import time
from pathlib import Path

import click

from slipway_cli.embedded.credentials import Credentials
from slipway_cli.embedded.errors import EmbeddedError
from slipway_cli.embedded.runtime import Runtime
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Airflow's port; 0 takes any free one.  [env SLIPWAY_PORT, 8080]"
)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for databases, logs and passwords.  [env SLIPWAY_HOME, .slipway]",
)
def up(port: int | None, home: Path | None) -> None:
    """Run Slipway in the foreground until Ctrl-C.

    Starts Airflow's API server, scheduler, DAG processor and triggerer on this machine, reachable from this machine
    only, and prints where they are and how to log in. Passwords are taken from SLIPWAY_ADMIN_PASSWORD and
    SLIPWAY_VIEWER_PASSWORD, or made up and kept in passwords.json in the home.
    """
    began = time.monotonic()

    def on_ready(runtime: Runtime, credentials: Credentials) -> None:
        click.echo(welcome(runtime, credentials, time.monotonic() - began))

    try:
        Supervisor(EmbeddedSettings.from_environment(home, port), click.echo).run(on_ready)
    except EmbeddedError as error:
        raise click.ClickException(str(error)) from error
    click.echo("stopped")


def welcome(runtime: Runtime, credentials: Credentials, seconds: float) -> str:
    """What a person needs to know once Airflow is ready. Passwords that came from the environment are not shown."""
    lines = [f"Slipway is ready after {seconds:.1f} s: {runtime.url}"]
    for user, password in credentials.passwords.items():
        shown = (
            f"password from SLIPWAY_{user.upper()}_PASSWORD" if user in credentials.given else f"password {password}"
        )
        lines.append(f"  user {user}, {shown}")
    lines += [f"  passwords are kept in {runtime.passwords_file}", "  stop with Ctrl-C"]
    return "\n".join(lines)
