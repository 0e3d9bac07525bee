"""The options that all online commands share, and the forms in which they show what the server answered."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, TypeVar

import click
import requests
import yaml
from rich.syntax import Syntax

from slipway_cli.online.client import Client, Failed
from slipway_cli.online.installation import installation
from slipway_cli.online.profiles import ProfileError
from slipway_cli.output import OutputFormat, console

Command = TypeVar("Command", bound=Callable[..., object])

# Shipyard's words for the forms of a result.
_SHIPYARD_FORMATS = {"cli": OutputFormat.TABLE.value, "raw": "raw", "format": "format"}


def online(command: Command) -> Command:
    """Give a command `--profile`, `--site`, `-v`, `-o` and `--output-format`; it is called with `client` and `output`.

    `output` is table, json, yaml, raw (the answer as it came) or format (the same, for people).
    """

    @functools.wraps(command)
    def run(
        profile: str | None, site: str | None, verbosity: int, output: str, output_format: str | None, **rest: Any
    ) -> object:
        try:
            client = Client(installation(profile, site), verbosity)
            chosen = _SHIPYARD_FORMATS[output_format] if output_format else output
            return command(client=client, output=chosen, **rest)
        except ProfileError as error:
            raise Failed(str(error)) from error

    for option in (
        click.option("--output-format", type=click.Choice([*_SHIPYARD_FORMATS]), help="The same in Shipyard's words."),
        click.option(
            "-o",
            "--output",
            type=click.Choice([form.value for form in OutputFormat]),
            default=OutputFormat.TABLE.value,
            show_default=True,
            help="Form of the result.",
        ),
        click.option(
            "-v",
            "--verbosity",
            type=click.IntRange(0, 5),
            default=1,
            show_default=True,
            help="How much the notes tell: 0 none, 1 a summary, 3 results, 5 every node.",
        ),
        click.option("--site", metavar="NAME", help="The site.  [env SLIPWAY_SITE, the profile's, default]"),
        click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]"),
    ):
        run = option(run)
    return run  # type: ignore[return-value]


def shown(answer: requests.Response, output: str, show_table: Callable[[Any], None]) -> None:
    """Print an answer in the form that was asked for; `show_table` prints its JSON for people."""
    if output == "raw":
        click.echo(answer.content, nl=False)
        return
    if "json" not in answer.headers.get("Content-Type", ""):
        click.echo(answer.text, nl=not answer.text.endswith("\n"))
        return
    data = answer.json()
    if output == OutputFormat.TABLE:
        show_table(data)
    else:
        echo_data(data, OutputFormat.JSON if output == "format" else OutputFormat(output))


def echo_data(data: Any, output: OutputFormat) -> None:
    """Print data as JSON or YAML."""
    if output is OutputFormat.JSON:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        text = yaml.dump(data, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=120)
        click.echo(text, nl=False)


def echo_documents(text: str) -> None:
    """Print YAML documents, coloured on a terminal."""
    target = console()
    if target.is_terminal and not target.no_color:
        target.print(Syntax(text, "yaml", background_color="default"))
    else:
        click.echo(text, nl=not text.endswith("\n"))
