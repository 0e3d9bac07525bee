"""`slipway dags`: where Slipway's DAGs are, for an Airflow that somebody else runs."""

from __future__ import annotations

import click

from slipway_cli.embedded.settings import default_dags_folder
from slipway_cli.errors import SlipwayCliError
from slipway_cli.examples import examples


@click.group("dags")
def dags() -> None:
    """Find the DAGs that come with Slipway."""


@dags.command("path", epilog=examples('export AIRFLOW__CORE__DAGS_FOLDER="$(slipway dags path)"'))
def dags_path() -> None:
    """Print the folder of the DAGs that are installed with Slipway.

    Point Airflow's dags_folder at it, or the path of a DAG bundle, on every machine that runs a part of Airflow.
    """
    try:
        click.echo(default_dags_folder())
    except SlipwayCliError as error:
        raise click.ClickException(str(error)) from error
