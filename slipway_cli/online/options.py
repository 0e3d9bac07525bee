"""What all online commands share: options, the client, and the forms in which they show what the server answered."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, TypeVar

import click
import requests
import yaml
from rich.syntax import Syntax

from api_client.session import ApiError
from slipway_cli.errors import SlipwayCliError
from slipway_cli.online.client import Client, Failed
from slipway_cli.online.server_config import installation
from slipway_cli.output import OutputFormat, console
from slipway_cli.shared_options import shared_options

Command = TypeVar("Command", bound=Callable[..., object])

RAW, FORMAT = "raw", "format"
_OF_SHIPYARD = {"cli": OutputFormat.TABLE.value, RAW: RAW, FORMAT: FORMAT}


def online(command: Command) -> Command:
    """Give a command the shared options and `-o`; it is called with `client` and `output`.

    `output` is table, json, yaml, raw (the answer as it came) or format (the same, for people). What the server
    refuses goes to standard output as well, unless the output is for people.
    """

    @functools.wraps(command)
    def run(output: str | None, **rest: Any) -> object:
        shared = {name: _given(name, rest.pop(name)) for name in _SHARED}
        chosen = output or _OF_SHIPYARD.get(shared["output_format"] or "", OutputFormat.TABLE.value)
        try:
            where = installation(shared["profile"], shared["site"])
            verbosity = 1 if shared["verbosity"] is None else shared["verbosity"]
            client = Client(where, verbosity, shared["context_marker"], _trace if shared["debug"] else None)
            return command(client=client, output=chosen, **rest)
        except Failed as error:
            if chosen != OutputFormat.TABLE and error.body is not None:
                echo_data(error.body, chosen)
                raise Failed(error.message) from error
            raise
        except (SlipwayCliError, ApiError) as error:
            raise Failed(str(error)) from error

    option = click.option(
        "-o", "--output", type=click.Choice([form.value for form in OutputFormat]), help="Form of the result.  [table]"
    )
    return shared_options(option(run))  # type: ignore[return-value]


_SHARED = ("profile", "site", "output_format", "verbosity", "context_marker", "debug")


def _given(name: str, value: Any) -> Any:
    """What was given after the command, else what was given before it."""
    return value if value is not None else click.get_current_context().find_root().params.get(name)


def _trace(line: str) -> None:
    click.echo(line, err=True)


def shown(answer: requests.Response, output: str, show_table: Callable[[Any], None]) -> None:
    """Print an answer in the form that was asked for; `show_table` prints its JSON for people."""
    if output == RAW:
        click.echo(answer.content, nl=False)
        return
    if "json" not in answer.headers.get("Content-Type", "").partition(";")[0]:
        if answer.text:
            click.echo(answer.text, nl=not answer.text.endswith("\n"))
        return
    data = answer.json()
    if output == OutputFormat.TABLE:
        show_table(data)
    else:
        echo_data(data, output)


def echo_data(data: Any, output: str) -> None:
    """Print data as YAML if that is asked for, else as JSON."""
    if output == OutputFormat.YAML:
        text = yaml.dump(data, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=120)
        click.echo(text, nl=False)
    else:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def echo_documents(text: str, output: str) -> None:
    """Print YAML documents: as they are, coloured on a terminal; as JSON they are a list."""
    target = console()
    if output == OutputFormat.JSON:
        click.echo(json.dumps(list(yaml.safe_load_all(text)), indent=2, ensure_ascii=False, default=str))
    elif output in (OutputFormat.TABLE, FORMAT) and target.is_terminal and not target.no_color:
        target.print(Syntax(text, "yaml", background_color="default"))
    else:
        click.echo(text, nl=not text.endswith("\n"))
