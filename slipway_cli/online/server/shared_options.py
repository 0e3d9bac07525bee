"""The options that every command has which talks to a server; they stand before or after its name."""

from __future__ import annotations

import uuid

import click
from click.shell_completion import CompletionItem

from slipway_cli.options import Command

FORMATS = ("cli", "raw", "format")
"""Shipyard's words for the forms of a result."""


def _uuid(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    try:
        return str(uuid.UUID(value)) if value else None
    except ValueError:
        raise click.BadParameter(f"{value!r} is no UUID") from None


def _complete_site(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    # Imported only where somebody presses the tab key: it needs a server.
    from slipway_cli.online.server.completion import SITE

    return SITE.shell_complete(context, parameter, incomplete)


def shared_options(command: Command) -> Command:
    """Add `--profile`, `--site`, `--output-format`, `-v`, `--context-marker` and `--debug`; None where not given."""
    for option in (
        click.option("--debug/--no-debug", default=None, help="Tell each request on standard error."),
        click.option(
            "--context-marker", metavar="UUID", callback=_uuid, help="Ties what services log about this command."
        ),
        click.option(
            "-v",
            "--verbosity",
            type=click.IntRange(0, 5),
            help="How much notes tell: 0 nothing, 1 a summary, 3 results, 5 every node.  [1]",
        ),
        click.option("--output-format", type=click.Choice(FORMATS), help="Form of the result, in Shipyard's words."),
        click.option(
            "--site",
            metavar="NAME",
            shell_complete=_complete_site,
            help="The site.  [env SLIPWAY_SITE, the profile's, default]",
        ),
        click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]"),
    ):
        command = option(command)
    return command
