"""Options and arguments that several commands share, and the examples at the end of their help."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from strategy_lib.did_you_mean import did_you_mean

Command = TypeVar("Command", bound=Callable[..., object])


def examples(*lines: str) -> str:
    """Return the epilog of a command, which click is not to fold."""
    return "\b\nExample:\n  " + lines[0] if len(lines) == 1 else "\b\nExamples:\n  " + "\n  ".join(lines)


def option_alias(other: str, shown: str) -> dict[str, Any]:
    """Return a command's `context_settings` that take the option `--<other>` for `--<shown>`, which help shows."""
    return {"token_normalize_func": lambda name: shown if name == other else name}


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


class KnownType(click.Choice[str]):
    """One of some words; of a mistyped one it says which is most like it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"{value!r} is not known; {did_you_mean(str(value), self.choices)}", param, ctx)
        return str(value)


def embedded_options(command: Command) -> Command:
    """Add `--port` and `--home`, of an embedded Airflow."""
    port = click.IntRange(0, 65535)
    folder = click.Path(file_okay=False, path_type=Path)
    at_home = "Folder for databases, logs and passwords.  [env SLIPWAY_HOME, .slipway]"
    command = click.option("--home", type=folder, help=at_home)(command)
    return click.option("--port", type=port, help="Airflow's port; 0 takes any free one.  [env SLIPWAY_PORT, 8080]")(
        command
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
