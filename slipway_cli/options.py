"""Options and arguments that several commands share, and the examples at the end of their help."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem


def examples(*lines: str) -> str:
    """Return the epilog of a command, which click is not to fold."""
    return "\b\nExample:\n  " + lines[0] if len(lines) == 1 else "\b\nExamples:\n  " + "\n  ".join(lines)


def option_alias(other: str, shown: str) -> dict[str, Any]:
    """Return a command's `context_settings` that take the option `--<other>` for `--<shown>`, which help shows."""
    return {"token_normalize_func": lambda name: shown if name == other else name}


# Also functions that will be commands.
Command = TypeVar("Command", bound=Callable[..., object])

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


class SiteStateType(click.ParamType[dict[str, int]]):
    """A version of the states of nodes, `<epoch>.<version>`, as a request names it."""

    name = "version"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> dict[str, int]:
        """Return epoch and version. Text that is not a version is a usage error."""
        if isinstance(value, dict):
            return value
        epoch, _, number = str(value).partition(".")
        if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (epoch, number)):
            self.fail(f"{value!r} is no version: write EPOCH.VERSION, as `slipway get site-state` shows it")
        return {"epoch": int(epoch), "version": int(number)}


site_state_option = click.option(
    "--site-state",
    type=SiteStateType(),
    metavar="EPOCH.VERSION",
    help="Only if no newer version of the states of nodes is published.",
)

_DIGITS = 12
"""More than any revision's number has."""
VERSIONS = ("buffer", "committed", "last_site_action", "successful_site_action")


class VersionType(click.ParamType[str]):
    """The name of a version, or the number of a revision."""

    name = "version"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in VERSIONS and not (value.isdecimal() and int(value) > 0):
            self.fail(
                f"{value!r} is neither a version ({', '.join(VERSIONS)}) nor the number of a revision", param, ctx
            )
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in VERSIONS if name.startswith(incomplete)]


class RevisionType(click.ParamType[int]):
    """The number of a revision."""

    name = "revision"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not (value.isdecimal() and len(value) <= _DIGITS and int(value) > 0):
            self.fail(f"{value!r} is not the number of a revision: `slipway get revisions` lists them", param, ctx)
        return int(value)


VERSION = VersionType()
REVISION = RevisionType()


def matching(pattern: str, names: Collection[str]) -> list[str]:
    """Return the nodes that are meant: the one of this very name, or else all that the pattern fits."""
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
