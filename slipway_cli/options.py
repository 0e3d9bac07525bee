"""Options and arguments that several commands share, and the examples at the end of their help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from strategy_lib.did_you_mean import did_you_mean

# Also functions that will be commands.
Command = TypeVar("Command", bound=Callable[..., object])


def examples(*lines: str) -> str:
    """Return the epilog of a command, which click is not to fold."""
    return "\b\nExample:\n  " + lines[0] if len(lines) == 1 else "\b\nExamples:\n  " + "\n  ".join(lines)


def option_alias(other: str, shown: str) -> dict[str, Any]:
    """Return a command's `context_settings` that take the option `--<other>` for `--<shown>`, which help shows."""
    return {"token_normalize_func": lambda name: shown if name == other else name}


def key_values(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return what the values KEY=VALUE of an option say. Raises `click.UsageError`: one is malformed, or said twice."""
    found: dict[str, str] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{option} {text}: write KEY=VALUE")
        if key in found:
            raise click.UsageError(f"{option} {key} is given twice")
        found[key] = value
    return found


Value = TypeVar("Value")


class Written(click.ParamType[Value]):
    """A word of a certain form."""

    def __init__(self, name: str, read: Callable[[str], Value], words: Collection[str] = ()) -> None:
        """`read` returns what a word means, and raises `ValueError` with what is right; `words` are often meant."""
        self.name = name
        self._read = read
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:
        """Return what is meant. A word of another form is a usage error."""
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._words if name.startswith(incomplete)]


def _site_state(text: str) -> dict[str, int]:
    epoch, _, number = text.partition(".")
    if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (epoch, number)):
        raise ValueError(f"{text!r} is no version: write EPOCH.VERSION, as `slipway get site-state` shows it")
    return {"epoch": int(epoch), "version": int(number)}


VERSIONS = ("buffer", "committed", "last_site_action", "successful_site_action")
_DIGITS = 12
"""More than any revision's number has."""


def _version(text: str) -> str:
    if text not in VERSIONS and not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{text!r} is neither a version ({', '.join(VERSIONS)}) nor the number of a revision")
    return text


def _revision(text: str) -> int:
    if not (text.isdecimal() and len(text) <= _DIGITS and int(text) > 0):
        raise ValueError(f"{text!r} is not the number of a revision: `slipway get revisions` lists them")
    return int(text)


VERSION = Written("version", _version, VERSIONS)
REVISION = Written("revision", _revision)

site_state_option = click.option(
    "--site-state",
    type=Written("version", _site_state),
    metavar="EPOCH.VERSION",
    help="Only if no newer version of the states of nodes is published.",
)


class KnownType(click.Choice[str]):
    """One of some words; of a mistyped one it says which is most like it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"{value!r} is not known; {did_you_mean(str(value), self.choices)}", param, ctx)
        return str(value)


output_file_option = click.option(
    "-f",
    "--output-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)


def embedded_options(command: Command) -> Command:
    """Add `--port` and `--home`, of an embedded Airflow."""
    port = click.IntRange(0, 65535)
    folder = click.Path(file_okay=False, path_type=Path)
    at_home = "Folder for databases, logs and passwords.  [env SLIPWAY_HOME, .slipway]"
    command = click.option("--home", type=folder, help=at_home)(command)
    return click.option("--port", type=port, help="Airflow's port; 0 takes any free one.  [env SLIPWAY_PORT, 8080]")(
        command
    )


def matching(pattern: str, names: Collection[str]) -> list[str]:
    """Return the nodes that are meant: the one of this very name, or else all that the pattern fits."""
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
