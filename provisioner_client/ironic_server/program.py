"""The command that becomes a real Ironic: it installs it, writes its files, makes its database, and runs it.

It keeps its process id: as a command that ends with its parent it does so as Ironic, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from provisioner_client.finite_range import FiniteRange
from provisioner_client.ironic_server.configuration import configuration
from provisioner_client.ironic_server.database import IronicDatabase
from provisioner_client.ironic_server.installation import (
    IronicServerError,
    environment_variables,
    installed,
    with_hardware,
)
from provisioner_client.private_files import write_private
from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.scripts import Behaviour, Script, ScriptForm, parse_fail_option
from provisioner_client.simulator.settings import FASTEST

_PATIENCE = 300.0
"""Seconds until PostgreSQL must answer: Airflow is started beside it."""
_ANSWER = 10.0
"""The same where PostgreSQL runs already."""
_ALWAYS = frozenset({Behaviour.OK, Behaviour.FAIL, Behaviour.SLOW, Behaviour.STUCK})
IRONIC_SCRIPTS: Final = ScriptForm(
    {Work.PREPARE: ("inspect", "clean"), Work.DEPLOY: ("deploy",), Work.DESTROY: ("tear_down", "clean")},
    {Work.PREPARE: _ALWAYS, Work.DEPLOY: _ALWAYS, Work.DESTROY: _ALWAYS},
)
"""The stages and behaviours that the hardware type `slipway` knows."""


@click.command("ironic")
@click.option("--port", type=click.IntRange(1, 65535), required=True, help="On loopback.")
@click.option("--environments", type=click.Path(path_type=Path), required=True, help="Folder to install Ironic into.")
@click.option("--folder", type=click.Path(path_type=Path), required=True, help="Its configuration and password.")
@click.option("--sockets", type=click.Path(path_type=Path), required=True, help="Folder of PostgreSQL's socket.")
@click.option("--database", required=True, help="Name of its database there.")
@click.option("--anew", is_flag=True, help="Without the machines of an earlier start.")
@click.option("--remove", is_flag=True, help="Start nothing: remove its database and its folder.")
@click.option("--speed", type=FiniteRange(0, FASTEST, min_open=True), default=1.0, help="Simulated seconds per second.")
@click.option("--fail", "fails", multiple=True, metavar="PHASE:NODE[:KIND]", help="A machine's fault (repeatable).")
def main(
    port: int,
    environments: Path,
    folder: Path,
    sockets: Path,
    database: str,
    anew: bool,
    remove: bool,
    speed: float,
    fails: Sequence[str],
) -> None:
    """Become a real Ironic on loopback. The password of its user `slipway` is in the file `password` of its folder."""
    try:
        scripts = [parse_fail_option(text, IRONIC_SCRIPTS) for text in fails]
    except BadAdminRequest as error:
        raise click.UsageError(str(error)) from error
    try:
        if remove:
            IronicDatabase(sockets, database).remove(_ANSWER)
            shutil.rmtree(folder, ignore_errors=True)
            return
        run(port, environments, folder, IronicDatabase(sockets, database), anew, speed, scripts)
    except IronicServerError as error:
        raise click.ClickException(str(error)) from error


def write_machines(file: Path, speed: float, scripts: Sequence[Script]) -> None:
    """Write what the hardware type reads at each step.

    Parameters
    ----------
    speed : simulated seconds per second.
    """
    write_private(file, json.dumps({"speed": speed, "scripts": [script.to_data() for script in scripts]}, indent=1))


def run(
    port: int,
    environments: Path,
    folder: Path,
    database: IronicDatabase,
    anew: bool,
    speed: float,
    scripts: Sequence[Script],
) -> None:
    """Become Ironic; does not return.

    Raises `IronicServerError`: it cannot be installed, or its database cannot be made.
    """
    folder = folder.resolve()
    (folder / "locks").mkdir(mode=0o700, parents=True, exist_ok=True)
    write_machines(folder / "machines.json", speed, scripts)
    python = installed(environments.resolve(), partial(click.echo, err=True))
    settings = folder / "ironic.conf"
    write_private(settings, configuration(folder, port, database.url))
    environment = environment_variables(os.environ) | {
        "PYTHONPATH": with_hardware(folder / "hardware"),
        "IRONIC_MACHINES": str(folder / "machines.json"),
        # Where stevedore notes the entry points that it has found.
        "XDG_CACHE_HOME": str(folder / "cache"),
    }

    def make(is_there: bool) -> None:
        for command in ("upgrade", "online_data_migrations") if is_there else ("create_schema",):
            program = [str(python.with_name("ironic-dbsync")), "--config-file", str(settings), command]
            if subprocess.run(program, env=environment, check=False).returncode != 0:
                raise IronicServerError(f"ironic-dbsync {command} failed; what it said stands above")

    database.prepare(python.parents[1].name, anew, make, _PATIENCE)
    os.execve(python, [str(python), "-m", "slipway_ironic", str(folder)], environment)  # noqa: S606
